// Index rows: instances by workflow and status, and how many instances and bytes there are. Table
// `by_status`: a row for each instance; `counts`: the number of instances for each revision, state
// and status; `usage`: instances and bytes for each namespace, and how far the starts of its
// instances are from the times in their ids. All of it can be computed from the heads and the
// counted rows (index_build.h, counted_rows.h). IndexChanges keeps the rows true in each batch.
// Functions that read take any View. A damaged row gives an error that names it (damage.h).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_range.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/start_bounds.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// A group of instances that are counted together.
struct CountPlace {
  NamespaceNumber ns{};
  Revision revision;
  uint32_t state = 0;
  InstanceStatus status{};

  auto operator<=>(const CountPlace&) const = default;
};

/// The values of one instance that the index has.
struct IndexedInstance {
  InstanceId id;
  CountPlace place;
  uint64_t row_bytes = 0;      ///< of all its rows, without the history, not sealed
  uint64_t history_bytes = 0;  ///< of its history rows, not sealed
  StartBounds starts{};        ///< that hold for this instance
};
IndexedInstance indexed(const Instance& head);

/// The number and the size of the instances of one namespace, the bounds of their starts, and the
/// size of the counted rows of the namespace (counted_rows.h).
struct Usage {
  uint64_t live = 0;
  uint64_t ended = 0;
  uint64_t row_bytes = 0;
  uint64_t history_bytes = 0;
  uint64_t counted_bytes = 0;  ///< of keys and values; the other sizes are those of values
  /// They hold for each instance of the namespace. The deletion of an instance does not narrow
  /// them, unless it is the last one.
  StartBounds starts{};

  /// What counts for the quota `storeBytes`.
  uint64_t all_bytes() const { return row_bytes + history_bytes + counted_bytes; }

  bool operator==(const Usage&) const = default;
};

/// Collects the changes of a batch to the index. A batch calls it for each head that it writes or
/// erases, and once for its counted rows (count_writes() in counted_rows.h).
class IndexChanges {
 public:
  void add(Transaction& tx, const IndexedInstance& after);
  void remove(Transaction& tx, const IndexedInstance& before);
  void change(Transaction& tx, const IndexedInstance& before, const IndexedInstance& after);
  /// Changes the size of the counted rows of a namespace by `by` bytes.
  void add_bytes(NamespaceNumber ns, int64_t by);

  /// Adds the collected changes to the rows `counts` and `usage`. If such a row is damaged, or
  /// would become negative, it reports the damage and requests a build of the index.
  Status write(Transaction& tx, const OnDamage& damaged);
  void clear();

  // The sums after the changes that are collected and not written yet.

  /// The number of instances of the workflow that have one of the statuses. Errors: those of the
  /// store, or a damaged row.
  Result<uint64_t> count(const View& view, NamespaceNumber ns, WorkflowNumber workflow,
                         std::span<const InstanceStatus> statuses) const;
  /// The bytes of all rows of the instances of a namespace, their histories included. Errors as
  /// count().
  Result<uint64_t> bytes(const View& view, NamespaceNumber ns) const;
  /// The bytes that count for the quota `storeBytes` of a namespace: those of its instances and of
  /// its counted rows. Errors as count().
  Result<uint64_t> all_bytes(const View& view, NamespaceNumber ns) const;

 private:
  struct UsageChange {
    int64_t live = 0;
    int64_t ended = 0;
    int64_t row_bytes = 0;
    int64_t history_bytes = 0;
    int64_t counted_bytes = 0;
    StartBounds starts{};
  };

  void add_up(const IndexedInstance& one, int64_t by);

  std::map<CountPlace, int64_t> counts_;
  std::map<NamespaceNumber, UsageChange> usage_;
};

// Reading.

/// Whether `by_status` has the instance in that place.
bool is_indexed(const View& view, const IndexedInstance& one);

/// Visits the instances of a workflow with that status in the order of their ids, from the first id
/// after `behind` on, until `see` returns false.
Status each_by_status(const View& view, NamespaceNumber ns, WorkflowNumber workflow,
                      InstanceStatus status, const std::optional<InstanceId>& behind,
                      const std::function<bool(const InstanceId& id)>& see,
                      const OnDamage& damaged = nullptr);

/// The first instances of a workflow with that status in a range of ids, in the direction; at most
/// `most`. Error: also a damaged row.
Result<std::vector<InstanceId>> some_by_status(const View& view, NamespaceNumber ns,
                                               WorkflowNumber workflow, InstanceStatus status,
                                               const IdRange& range, Direction direction,
                                               size_t most);

/// The first instance of a namespace in `by_status`, in the order of workflow, status and id, that
/// comes after all instances of the workflow with that status; without a status, after those of all
/// earlier workflows. nullopt: there is none. The revision and the state of the place are not
/// known.
Result<std::optional<IndexedInstance>> first_by_status(const View& view, NamespaceNumber ns,
                                                       WorkflowNumber workflow,
                                                       std::optional<InstanceStatus> behind,
                                                       const OnDamage& damaged = nullptr);

/// Visits the counts of a namespace, or of one of its workflows, in the order of their places,
/// until `see` returns false.
Status each_count(const View& view, NamespaceNumber ns,
                  const std::optional<WorkflowNumber>& workflow,
                  const std::function<bool(const CountPlace& place, uint64_t count)>& see);
Result<Usage> read_usage(const View& view, NamespaceNumber ns);

/// The bounds of the starts of the instances of a namespace; nullopt: they are not known, because
/// the index is not complete, or because the row is missing or damaged. Errors: those of the store.
Result<std::optional<StartBounds>> read_start_bounds(const View& view, NamespaceNumber ns);

// The keys and records, for the store check.

/// The key of a row in `by_status`. The revision and the state of the place are not in it.
std::string by_status_key(const CountPlace& place, const InstanceId& id);
/// The namespace, workflow, status and id of a key. Error: a damaged row.
Result<IndexedInstance> decode_by_status_key(std::string_view key);
std::string count_key(const CountPlace& place);
Result<CountPlace> decode_count_key(std::string_view key);
std::string encode_count(uint64_t count);
Result<uint64_t> decode_count(std::string_view bytes);
std::string encode(const Usage& usage);
Result<Usage> decode_usage(std::string_view bytes);

}  // namespace millrace
