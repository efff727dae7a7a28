// Pending start rows: starts that the `debounce` or the `batch` of their workflow has put off. The
// inputs of a batch are rows of their own (pending_input_rows.h). Table `meta`: a row
// `pending-start/` for each key of a workflow, under the fingerprint of the key; a row
// `pending-start-at/` for each of them, in the order of the times at which they are looked at; and
// a row `pending-starts/` with their number for each namespace. Functions that read take any View,
// functions that write the Transaction. A damaged row gives an error that names it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/consumed_events.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such rows.
inline constexpr uint64_t kMinorOfPendingStarts = 10;

inline constexpr std::string_view kPendingStartKey = "pending-start/";
inline constexpr std::string_view kPendingStartAtKey = "pending-start-at/";
inline constexpr std::string_view kPendingStartsKey = "pending-starts/";

/// A key of the `debounce` of a workflow, or a batch for a key.
struct PendingStartPlace {
  NamespaceNumber ns{};
  WorkflowNumber workflow{};
  /// The keyed fingerprint of the JSON text of the key; of a batch, see batch_place() and
  /// closed_place() in orchestrator/batch/pending_starts.h.
  Fingerprint key{};

  auto operator<=>(const PendingStartPlace&) const = default;
};

/// What a batch of starts has beside the members of PendingStart.
struct PendingBatch {
  uint32_t inputs = 0;   ///< how many rows `pending-input/` were written, at least one
  uint64_t bytes = 0;    ///< of the input that its instance would get, about
  bool is_over = false;  ///< the instance has started or was given up; its last rows are erased

  bool operator==(const PendingBatch&) const = default;
};

/// A start that waits; all but the first four members are those of the newest request for it.
struct PendingStart {
  TimePoint first;   ///< the time of the first request
  TimePoint at;      ///< when the instance starts, unless a newer request comes (a batch: is full)
  TimePoint listed;  ///< the time in the key of its row `pending-start-at/`
  InstanceId id;     ///< of the instance that will start
  LazyJson input;    ///< as the request has it
  LazyJson how;      ///< detail of the first history record
  uint32_t hops = 0;
  uint32_t depth = 0;
  std::optional<Caller> caller;
  std::string idempotency_key;
  std::string own_policy;
  std::optional<TimePoint> execution_from;  ///< see Origin (orchestrator/engine/runs.h)
  std::string traceparent;
  std::string correlation;
  LazyJson start_event;  ///< Instance::start_event
  ConsumedEvents consumed;
  std::optional<PendingBatch> batch;  ///< of a batch; then `input` and `consumed` are empty
  Sealing sealed;                     ///< not encoded: whether the row is sealed
};
std::string encode(const PendingStart& start);
/// Decoding fails with `store.corrupt`.
Result<PendingStart> decode_pending_start(std::string_view bytes);

Result<std::optional<PendingStart>> read_pending_start(const View& view,
                                                       const PendingStartPlace& place);
/// Writes a start and its row `pending-start-at/`. `before`: the time at which it is listed so far;
/// nullopt: it is new, and is counted for its namespace. Errors: those of the store.
Status write_pending_start(Transaction& tx, const PendingStartPlace& place,
                           const PendingStart& start, std::optional<TimePoint> before);
/// Erases a start with its row `pending-start-at/`. Errors: those of the store.
Status erase_pending_start(Transaction& tx, const PendingStartPlace& place, TimePoint listed);

/// Visits the pending starts of a workflow, or of all workflows of the namespace if `workflow` is
/// nullopt, in the order of their workflows and fingerprints, beginning behind `behind`, until
/// `see` returns false. `damaged` receives the errors of damaged rows, which are passed over.
/// Errors: those of the store.
Status each_pending_start(
    const View& view, NamespaceNumber ns, std::optional<WorkflowNumber> workflow,
    const std::optional<PendingStartPlace>& behind,
    const std::function<bool(const PendingStartPlace& place, const PendingStart& start)>& see,
    const OnDamage& damaged);

/// The most rows at which a search for a pending start looks, and the most bytes of sealed rows
/// that it opens.
struct PendingSearchBounds {
  size_t rows = 100'000;
  size_t sealed_bytes = size_t{16} << 20;
};
struct PendingSearch {
  std::optional<PendingStartPlace> place;  ///< nullopt: not found
  bool is_complete = true;                 ///< false: the bounds ended the search
};
/// Searches the rows of the namespace, one after the other, for the pending start from which the
/// instance will start. Only the beginning of each row is read. Damaged rows are passed over.
/// Errors: those of the store.
Result<PendingSearch> find_pending_start(const View& view, NamespaceNumber ns, const InstanceId& id,
                                         const PendingSearchBounds& bounds = {});

/// How many rows `pending-start/` the namespace has; a damaged row counts as 0.
Result<uint64_t> pending_starts_of(const View& view, NamespaceNumber ns);
/// How many all namespaces have together, from a row for each of them that has any.
Result<uint64_t> all_pending_starts(const View& view);

/// How many keys of limits are in use in the namespace: its rows `start-rate/` and
/// `pending-start/`, which the quota `startKeys` bounds. A damaged row counts as 0.
Result<uint64_t> start_keys_of(const View& view, NamespaceNumber ns);

/// The time and the place in the key of a row `pending-start-at/`.
struct ListedStart {
  TimePoint listed;
  PendingStartPlace place;
};
/// The start that is listed first; nullopt: there is none. Errors: those of the store.
Result<std::optional<ListedStart>> first_pending_start(const View& view);
/// Visits the listed starts of all namespaces, first to last, until `see` returns false. A row
/// whose key is damaged is passed over. Errors: those of `see` and of the store.
Status each_listed_start(const View& view,
                         const std::function<Result<bool>(const ListedStart& listed)>& see);
/// Erases the row `pending-start-at/` of a start that is not there.
void erase_listed_start(Transaction& tx, const ListedStart& listed);

/// The namespace in the key of a row `pending-start/`, for the counted rows; nullopt: its key has
/// another form.
std::optional<NamespaceNumber> namespace_of_pending_start(std::string_view key);

// For the store check.

/// The place in the key of a row `pending-start/`; nullopt: its key has another form.
std::optional<PendingStartPlace> pending_start_place(std::string_view key);
/// The time and place in the key of a row `pending-start-at/`; nullopt: its key has another form.
std::optional<ListedStart> listed_start(std::string_view key);
std::string listed_start_key(const ListedStart& listed);
/// The namespace in the key of a row `pending-starts/`; nullopt: its key has another form.
std::optional<NamespaceNumber> namespace_of_pending_starts(std::string_view key);
Result<uint64_t> decode_pending_starts(std::string_view bytes);

}  // namespace millrace
