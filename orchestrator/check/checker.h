// Checker: one check of a store: what all its parts share, and the parts themselves, a file each.
// For this folder only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/codec.h"
#include "base/event.h"
#include "base/json.h"
#include "orchestrator/check/number_set.h"
#include "orchestrator/check/store_check.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

/// The bytes of a key or a header as a person can read them.
std::string printable(std::string_view text);

class Checker {
 public:
  Checker(const View& view, const StoreCheckOptions& options) : view_(view), options_(options) {}

  Result<StoreReport> run();

 private:
  /// Where something was found.
  struct Place {
    Table table{};
    std::string_view key;
  };

  // Reporting (checker.cc).

  /// Once a read has failed it is the last finding: what seems to be missing then may be there.
  void add(StoreFault fault, const Place& place, std::string found);
  /// Whether a read of the view has failed; the first time that is the finding `store.damaged`.
  bool note_failed_read(Table table);
  void report(StoreFault fault, const Place& place, std::string found);
  std::string name_of(NamespaceNumber space) const;
  /// The key as a person can read it, and whose it is.
  void describe(const Place& place, StoreFinding& finding) const;

  // Reading rows (checker.cc).

  using Row = std::function<void(std::string_view key, std::string_view value)>;
  void each_row(Table table, const Row& row);
  /// Whether the check is to end early: it was stopped, or a page cannot be read.
  bool is_over() const { return stopped_ || failed_; }

  bool has_row(Table table) const;

  /// The bytes of a row that may be sealed, opened; nullopt: they cannot be read, which is noted.
  std::optional<std::string> open(const Place& place, std::string_view value);

  /// A row's value decoded; nullopt: it cannot be, which is noted.
  template <class T>
  std::optional<T> decode(const Place& place, std::string_view value,
                          Result<T> (*decode_bytes)(std::string_view)) {
    Result<T> record = decode_bytes(value);
    if (record) return std::move(*record);
    add(StoreFault::kRowRecord, place, record.error().message);
    return std::nullopt;
  }
  /// The same for a row that may be sealed.
  template <class T>
  std::optional<T> open_and_decode(const Place& place, std::string_view value,
                                   Result<T> (*decode_bytes)(std::string_view)) {
    if (!Seal::is_sealed(value)) return decode(place, value, decode_bytes);
    const auto opened = open(place, value);
    return opened ? decode(place, *opened, decode_bytes) : std::nullopt;
  }
  /// The number that a key of eight bytes is.
  std::optional<uint64_t> number_key(const Place& place);

  // What is checked of many kinds of rows (checker.cc).

  /// Notes a number that was given from that counter.
  void note_given(Counter counter, uint64_t number, const Place& place);
  void check_time(TimePoint time, const Place& place, std::string_view what);
  bool check_json(std::string_view text, const Place& place, std::string_view what);
  void check_utf8(std::string_view text, const Place& place, std::string_view what);
  std::optional<Event> check_event(std::string_view text, const Place& place);
  /// Whether it exists; if not, that is noted, unless it is being erased.
  bool check_namespace(NamespaceNumber space, const Place& place);

  /// The workflow of a revision; null: it is missing or does not load (has_definition).
  std::shared_ptr<const Workflow> definition(Revision revision);
  bool has_definition(Revision revision) const;
  /// The newest revision of a workflow that exists; null as above.
  std::shared_ptr<const Workflow> newest(WorkflowNumber workflow);

  /// What there is of an instance in `live` or `ended`.
  struct Known {
    bool exists = false;
    std::optional<Instance> head;  ///< none: it does not exist, or cannot be read
  };
  Known find(Table table, NamespaceNumber space, const InstanceId& id) const;
  /// The living one; the last that was asked for is kept.
  const Known& find_living(NamespaceNumber space, const InstanceId& id);
  bool exists(NamespaceNumber space, const InstanceId& id) const;

  // Meta (check_meta.cc).

  void check_meta();
  void check_meta_row(const Place& place, std::string_view value);
  void check_purge(const Place& place, std::string_view value);
  void check_group_purges();
  void check_retired(const Place& place, std::string_view value);
  void check_retired_workflows();

  // The catalog (check_catalog.cc).

  void check_namespaces();
  void check_workflows();
  void check_definitions();
  void check_schedules();

  // Groups (check_groups.cc).

  void check_groups();
  void check_group_counts(const Place& place, std::string_view value);
  void check_group_event(const Place& place, std::string_view value);
  void check_group_number(const Place& place, std::string_view value);
  bool must_expire(WorkflowNumber number);
  /// Whether a purge closes the groups of the workflow up to that event, so that what belongs to
  /// them may be partly gone, and be of an earlier start.
  bool is_closed(WorkflowNumber workflow, uint64_t event) const;

  // Instances (check_instances.cc).

  struct Walked;  ///< an instance as its rows come by
  void check_instances(Table table);
  void check_row(Walked& one, Part part, std::string_view key, std::string_view value,
                 std::optional<uint32_t> index);
  bool check_call(Walked& one, const Place& place, const Call& call, uint32_t index);
  void finish(Walked& one);
  void check_place(const Walked& one);
  void check_status(const Walked& one);
  void check_place_in_workflow(const Walked& one, const Workflow& workflow);
  void check_relations(const Walked& one);

  // History (check_history.cc).

  /// How far the chain of an instance was followed, from its newest row.
  struct HistoryChain {
    uint64_t records = 0;
    bool was_plain = false;          ///< one of its rows was not sealed
    std::optional<TimePoint> later;  ///< of the record behind the next one
  };
  void check_history(Walked& one, const Workflow* workflow);
  std::optional<HistoryRow> read_chained(const Walked& one, uint64_t number, const Place& by,
                                         std::optional<std::string_view> value);
  void check_chained_seal(Walked& one, const Place& place, bool is_sealed, HistoryChain& chain);
  void check_chained_records(const Walked& one, const Place& place, const HistoryRow& row,
                             uint64_t number, HistoryChain& chain);
  void check_newest_records(const Walked& one, const Place& place, const HistoryRow& row,
                            uint64_t number);
  void check_history_row(Walked& one, const Place& place, const HistoryRow& row,
                         const Workflow* workflow);
  void check_end(const Walked& one, const HistoryRecord& record);
  void check_story(const Walked& one, const Workflow* workflow);
  void check_orphans();

  // Errands and tasks (check_tasks.cc).

  void check_inbox();
  void check_tasks();
  /// The call that `caller` names, if it runs and is waited for; nullopt: there is none, or it
  /// cannot be known (`known` is false then).
  std::optional<Call> waiting_call(NamespaceNumber space, const Caller& caller, bool& known);

  // What instances wait for (check_waits.cc).

  void check_waits(const Walked& one, const Workflow* workflow);
  static bool is_between_attempts(const Instance& head);
  void check_timers(const Walked& one, const Workflow* workflow);
  void check_run_timers(const Walked& one, const Workflow& workflow,
                        const std::function<void(std::string)>& wrong);
  void check_patterns(const Walked& one);
  bool check_opened(const Walked& one, const State& state);
  void check_opened_call(const Walked& one, const State& state, uint32_t index, const Call& opened,
                         const Effect& started, bool is_exact);

  // All else (check_messages.cc).

  void check_delayed();
  void check_outbox();
  void check_message(const Place& place, const NatsMessage& message);
  void check_sent();
  void check_recent();
  void check_fan_outs();
  void check_dedupe();
  void check_hooks();
  void check_idempotency();
  void check_idempotent_input(const Place& place, const IdempotencyRecord& record,
                              const Instance& head);
  void check_variables();
  void check_secrets();
  void check_dead_letters();

  struct WorkflowRow {
    NamespaceNumber space{};
    std::string id;
    uint32_t latest = 0;
    uint32_t groups_from = 0;
  };
  using CallPlace = std::tuple<InstanceId, uint64_t, uint32_t, uint32_t>;
  static CallPlace place_of(const Caller& caller) {
    return {caller.instance, caller.entered, caller.index, caller.attempt};
  }

  /// Where a counter stands in the arrays below.
  static size_t index_of(Counter counter) {
    return static_cast<size_t>(static_cast<char>(counter) - static_cast<char>(Counter::kNamespace));
  }

  const View& view_;
  const StoreCheckOptions& options_;
  StoreReport report_;
  uint64_t rows_ = 0;
  uint64_t about_rows_ = 0;
  bool stopped_ = false;
  bool failed_ = false;

  std::optional<uint64_t> format_;
  std::optional<TimePoint> time_;
  std::optional<Cursor> cursor_;
  bool has_key_ = false;  ///< the store's key is here
  std::array<uint64_t, 9> counters_{};
  std::array<bool, 9> behind_{};  ///< those of which it was told already

  std::map<NamespaceNumber, std::string> spaces_;
  std::map<WorkflowNumber, WorkflowRow> workflows_;
  std::map<WorkflowNumber, NamespaceNumber> homes_;  ///< deleted workflows too, by their instances
  std::map<WorkflowNumber, NamespaceNumber> retired_;  ///< deleted ones whose definitions stay
  std::set<NamespaceNumber> purged_;            ///< deleted ones of which rows are still there,
  std::set<WorkflowNumber> purged_workflows_;   ///< and what they had
  std::map<WorkflowNumber, uint64_t> closing_;  ///< whose groups are closed up to that event
  std::map<WorkflowNumber, PurgeRecord> group_purges_;
  std::map<Revision, std::shared_ptr<const Workflow>> definitions_;  ///< some, to load each seldom

  std::set<InstanceId> starts_;   ///< children that errands are to start,
  std::set<InstanceId> cancels_;  ///< and to cancel,
  std::set<CallPlace> returns_;   ///< and calls to which they bring a result

  size_t looked_elsewhere_ = 0;
  std::set<InstanceId> unsound_;  ///< instances of which not all can be followed
  NumberSet chained_;             ///< history rows in the chain of an instance or of a purge
  NumberSet erased_;              ///< of a purge alone
  NumberSet kept_;                ///< events in `recent`
  std::optional<std::pair<std::pair<NamespaceNumber, InstanceId>, Known>> last_living_;
};

}  // namespace millrace
