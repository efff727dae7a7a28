// Checker: one run of the store check. checker.cc has the helpers that all checks share; each group
// of checks has its own file. Only for orchestrator/check.
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
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/codec.h"
#include "base/event.h"
#include "base/json.h"
#include "matchers/event_filter.h"
#include "matchers/pattern.h"
#include "orchestrator/check/found_batch.h"
#include "orchestrator/check/number_set.h"
#include "orchestrator/check/opened_state.h"
#include "orchestrator/check/store_check.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/counted_rows.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/value_piece_rows.h"

namespace millrace {

/// The bytes of a key or a header as readable text.
std::string printable(std::string_view text);

/// The name of a part of an instance (Part) in findings.
std::string part_name(uint8_t part);

struct CallSlotSums;

class Checker {
 public:
  Checker(const View& view, const StoreCheckOptions& options) : view_(view), options_(options) {}

  Result<StoreReport> run();

 private:
  /// The beginnings of the keys of purges, and of deleted workflows whose definitions stay.
  static constexpr std::string_view kPurgeKey = "purge/";
  static constexpr std::string_view kRetiredKey = "retired/";

  /// The place of a finding.
  struct Place {
    Table table{};
    std::string_view key;
  };

  // Reporting (checker.cc).

  /// Adds a finding, unless a read has failed. A failed read is the last finding, because rows that
  /// seem to be missing after the failed read may exist.
  void add(StoreFault fault, const Place& place, std::string found);
  /// Whether a read of the view has failed. For the first failed read it adds the finding
  /// `store.damaged`.
  bool note_failed_read(Table table);
  void report(StoreFault fault, const Place& place, std::string found);
  void report_unknown_trees();
  std::string name_of(NamespaceNumber ns) const;
  /// Sets the finding's readable key, and the namespace and instance that the key belongs to.
  void describe(const Place& place, StoreFinding& finding) const;

  // Reading rows (checker.cc).

  using Row = std::function<void(std::string_view key, std::string_view value)>;
  void each_row(Table table, const Row& row);
  /// Whether the check must end early: the caller stopped the check, or a page cannot be read.
  bool is_over() const { return stopped_ || failed_; }

  bool has_row(Table table) const;

  /// The bytes of a row, decrypted if the row is sealed. nullopt: the row cannot be decrypted;
  /// open() adds a finding if the view has the store's key, else it counts the row as unreadable.
  std::optional<std::string> open(const Place& place, std::string_view value);

  /// A row's decoded value; nullopt: the value does not decode, and decode() has added a finding.
  template <class T>
  std::optional<T> decode(const Place& place, std::string_view value,
                          Result<T> (*decode_bytes)(std::string_view)) {
    Result<T> record = decode_bytes(value);
    if (record) return std::move(*record);
    add(StoreFault::kRowRecord, place, record.error().message);
    return std::nullopt;
  }
  /// The decoded value of a row that may be sealed; nullopt: the row cannot be decrypted (see
  /// open()) or does not decode (see decode()).
  template <class T>
  std::optional<T> open_and_decode(const Place& place, std::string_view value,
                                   Result<T> (*decode_bytes)(std::string_view)) {
    if (!Seal::is_sealed(value)) return decode(place, value, decode_bytes);
    const auto opened = open(place, value);
    return opened ? decode(place, *opened, decode_bytes) : std::nullopt;
  }
  /// The number of a key of eight bytes; nullopt: the key is not a row number, and number_key() has
  /// added a finding.
  std::optional<uint64_t> number_key(const Place& place);

  // Checks for many kinds of rows (checker.cc).

  /// Checks a number that was assigned from a counter: adds a finding if the counter is lower.
  void note_given(Counter counter, uint64_t number, const Place& place);
  void check_time(TimePoint time, const Place& place, std::string_view what);
  bool check_json(std::string_view text, const Place& place, std::string_view what);
  void check_utf8(std::string_view text, const Place& place, std::string_view what);
  std::optional<Event> check_event(std::string_view text, const Place& place);
  void check_hops(uint32_t hops, const Place& place);
  void check_hops_of(const Event& generated, const Place& place);
  std::optional<TimePoint> check_time_of(const Event& generated, const Place& place);
  /// Whether the namespace exists. For a missing namespace that no purge erases it adds a finding.
  bool check_namespace(NamespaceNumber ns, const Place& place);

  /// The workflow of a revision; null: its definition is missing or does not load. has_definition()
  /// distinguishes the two cases.
  std::shared_ptr<const Workflow> definition(Revision revision);
  bool has_definition(Revision revision) const;
  /// The newest revision of an existing workflow; null: the workflow or its definition is missing,
  /// or the definition does not load.
  std::shared_ptr<const Workflow> newest(WorkflowNumber workflow);

  /// An instance of `live` or `ended`, as far as it can be read.
  struct Known {
    bool exists = false;
    std::optional<Instance> head;  ///< nullopt: the head is missing or cannot be read
  };
  Known find(Table table, NamespaceNumber ns, const InstanceId& id) const;
  /// The live instance with that id. The result of the latest call is cached.
  const Known& find_live(NamespaceNumber ns, const InstanceId& id);
  bool exists(NamespaceNumber ns, const InstanceId& id) const;

  // Meta (check_meta.cc).

  void check_meta();
  /// Notes that the store has rows of this kind, which a lower minor number does not allow. The
  /// text must be a literal.
  void note_minor(uint64_t minor, std::string_view rows) { of_minor_[rows] = minor; }
  void check_minor();
  void check_meta_row(const Place& place, std::string_view value);
  void check_purge(const Place& place, std::string_view value);
  void check_archive(const Place& place, std::string_view value);
  void check_archives();
  void check_stream(const Place& place, std::string_view value);
  void check_rate(const Place& place, std::string_view value);
  // Counts of starts (check_start_rates.cc).
  void check_start_rate(const Place& place, std::string_view value);
  void check_start_rate_end(const Place& place, std::string_view value);
  void check_start_rate_count(const Place& place, std::string_view value);
  void compare_start_rates();
  // Pending starts (check_pending_starts.cc).
  void check_pending_starts();
  void check_pending_start(const Place& place, std::string_view value);
  void check_pending_inputs();
  void check_pending_input(const Place& place, std::string_view value);
  void check_listed_start(const Place& place, std::string_view value);
  void check_pending_count(const Place& place, std::string_view value);
  void check_replay(const Place& place, std::string_view value);
  void check_source(const Place& place, std::string_view value);
  void check_origin(const Place& place, std::string_view value);
  void check_left_consumer(const Place& place, std::string_view value);
  void check_answers(const Place& place, std::string_view value);
  void check_crash_row(const Place& place, std::string_view value);
  void check_node(const Place& place, std::string_view value);
  void check_stream_numbers();
  std::optional<std::pair<NamespaceNumber, std::string>> identity_of(WorkflowNumber number);
  void check_purge_of(const Place& place, const PurgeRecord& record,
                      const std::pair<NamespaceNumber, std::string>& workflow);
  void check_group_purges();
  void check_instance_purges();
  void check_purge_of_rows(const Place& place, uint64_t number, const PurgeRecord& record);
  void check_retired(const Place& place, std::string_view value);
  void check_retired_workflows();

  // The catalog (check_catalog.cc).

  void check_namespaces();
  void check_workflows();
  void check_definitions();
  void check_group_revisions();
  void check_first_definitions(const std::map<NamespaceNumber, TimePoint>& first);
  void check_first_starts();
  bool is_always_singular(WorkflowNumber workflow);
  void check_schedules();
  void check_schedule_start(WorkflowNumber number, TimePoint from, const Place& place);

  // Slots and starts that wait for them (check_queues.cc).
  struct SlotSums;
  void check_queues();
  void check_slot_counts(const Place& place, std::string_view value, const QueueRowKey& row,
                         SlotSums& sums);
  void check_slot_place(const Place& place, std::string_view value, const QueueRowKey& row,
                        NamespaceNumber ns, SlotSums& sums);
  // Slots of calls (check_call_slots.cc).
  void check_call_row(const Place& place, std::string_view value, CallSlotSums& sums);
  void check_call_sums(const CallSlotSums& sums);
  void check_call_counts(const Place& place, std::string_view value, const CallRowKey& row,
                         CallSlotSums& sums);
  void check_call_place(const Place& place, std::string_view value, const CallRowKey& row,
                        CallSlotSums& sums);
  void check_task_slot(const StartTask& task, const Place& place);
  // Groups (check_groups.cc).

  void check_groups();
  void check_group_counts(const Place& place, std::string_view value);
  void check_group_event(const Place& place, std::string_view value);
  bool meets(const Attributes& attributes, const EventFilter& filter);
  void check_group_number(const Place& place, std::string_view value);
  void check_lifespan(const Place& place, WorkflowNumber number,
                      const std::optional<TimePoint>& expires);
  void check_arrival(uint64_t number, std::string_view key, std::string_view value);
  bool was_grouped_at_once(const EventPosition& position, WorkflowNumber workflow) const;
  std::optional<Duration> lifespan_of(WorkflowNumber workflow);
  /// Whether a purge closes the workflow's groups up to the event with the number `event`. If so,
  /// some rows of these groups may already be erased, and the groups may belong to an earlier
  /// revision's start.
  bool is_closed(WorkflowNumber workflow, uint64_t event) const;

  // Instances (check_instances.cc).

  struct Walked;  ///< the rows of one instance (walked.h)
  void check_instances(Table table);
  void check_row(Walked& one, Part part, std::string_view key, std::string_view value,
                 std::optional<uint32_t> index);
  void check_place_of_compensation(const Place& place, NamespaceNumber ns, const InstanceId& id);
  void read_compensations(Walked& one);
  void check_compensation(Walked& one, const Place& place, std::string_view value, uint32_t number);
  void check_compensations(const Walked& one, const Workflow* workflow);
  void check_started_compensation(const Walked& one);
  void check_slot(const Walked& one);       // check_queues.cc
  void check_throttled(const Walked& one);  // check_queues.cc
  bool check_call(Walked& one, const Place& place, const Call& call, uint32_t index);
  void finish(Walked& one);
  void check_singular(const Walked& one);
  void check_place(const Walked& one);
  void check_status(const Walked& one);
  void check_place_in_workflow(const Walked& one, const Workflow& workflow);
  void check_relations(const Walked& one);

  // History (check_history.cc).

  /// The progress of the check along the history rows of an instance, from the newest row to the
  /// first.
  struct HistoryChain {
    uint64_t records = 0;
    bool was_plain = false;          ///< at least one row so far was not sealed
    std::optional<TimePoint> later;  ///< the time of the record that was checked last
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
  void check_orphans();

  // Instances against their history (check_story.cc).

  void note_record(Walked& one, const Place& place, const HistoryRecord& record);
  void note_continued(Walked& one, const Place& place, const HistoryRecord& record);
  static void note_failure_of(Walked& one, const HistoryRecord& record);
  void note_stream(Walked& one, const EventPosition& position);
  void check_story(const Walked& one, const Workflow* workflow);
  void check_steps(const Walked& one, const Workflow& workflow);
  void check_start(const Walked& one, const Workflow* workflow);
  void check_failure(const Walked& one);
  void check_flags(const Walked& one, const Workflow* workflow);
  void check_newest(const Walked& one, const Workflow* workflow);
  void note_pause(Walked& one, const Place& place, HistoryKind kind);
  void check_times(const Walked& one);
  void check_entry(const Walked& one);

  // The index and the effects of events (check_index.cc).

  void note_indexed(const Walked& one);
  void find_owners();
  void note_counted(const Place& place, std::string_view value, bool is_sound);
  void check_index();
  bool fits_sum(uint64_t stored, uint64_t counted) const;
  void check_counts();
  void check_usage();
  void check_effects();
  void check_effects_of(const EffectRow& row, const Place& place);
  void check_started_twice();
  void check_position(const EventPosition& position, const Place& place);
  void check_event_position(const EventPosition& position, const Place& place);

  // Instance messages and tasks (check_tasks.cc).

  void check_inbox();
  void check_depth(const StartChild& start, const Place& place);
  void check_cancel(const CancelChild& cancel, const Place& place);
  void check_return(const ReturnResult& result, const Place& place);
  void check_tasks();
  void check_detached(const StartTask& task, const Place& place);
  /// The running call that `caller` names; nullopt: that call does not run, or is not known.
  /// `known` is false if the rows of the call or its instance cannot be read.
  std::optional<Call> waiting_call(NamespaceNumber ns, const Caller& caller, bool& known);

  // Listeners, timers and slots of instances that wait (check_waits.cc).

  void check_waits(const Walked& one, const Workflow* workflow);
  void check_takes_early(const Walked& one, const State& state);
  static bool is_between_attempts(const Instance& head);
  TimePoint no_later(const std::optional<TimePoint>& recorded) const;
  void check_timers(const Walked& one, const Workflow* workflow);
  void check_run_timers(const Walked& one, const Workflow& workflow,
                        const std::function<void(std::string)>& wrong);
  void check_patterns(const Walked& one);
  bool check_opened(const Walked& one, const State& state);

  // Calls of instances that wait (check_calls.cc).

  void note_call(Walked& one, const HistoryRecord& record);
  void note_trail(Walked& one, const Place& place, const HistoryRecord& record);
  void check_call_facts(const Walked& one);
  void check_call_seals(const Walked& one);
  void check_secrets_of(const Walked& one, uint32_t index, const Call& opened);
  void check_call_deadlines(const Walked& one, uint32_t index, const Deadlines& latest);
  void check_call_input(const Walked& one, uint32_t index, const Call& opened,
                        const Effect* started);
  void check_opened_call(const Walked& one, uint32_t index, const Call& opened,
                         const Effect& started, bool is_exact);
  std::optional<StartTask> task_of(const Call& call) const;
  void report_task(const Walked& one, uint32_t index, std::string_view what);
  void check_tasks_of(const Walked& one, const State& state);
  void check_action_of(const Walked& one, uint32_t index, const StartTask* action,
                       const LazyJson& input, bool is_exact);

  // Kept events (check_kept_events.cc).

  void check_kept_events();
  void check_fan_outs();
  void check_late_match(const LateMatchRecord& record, const Place& place);
  /// The instances that listen from one number of a kept event.
  struct ListenFroms {
    /// The earliest newest record of an instance that waits or has ended, and the place of the
    /// instance.
    std::optional<TimePoint> changed;
    Table changed_table{};
    std::string changed_key;
    /// The latest start of an instance that neither a caller nor an event started, and the
    /// instance.
    std::optional<TimePoint> started;
    InstanceId started_id;
  };
  void note_listen_from(const Walked& one);
  void check_listen_from();

  // Messages, events, variables, secrets, idempotency keys (check_messages.cc).

  void check_delayed();
  void check_outbox();
  void check_message(const Place& place, const OutboxRecord& record);
  void check_lifecycle(const Place& place, const Event& event);
  void check_sent();
  void note_event_id(const InstanceId& by, std::string_view id);
  void note_delayed(uint64_t number, std::string_view id);
  void check_published(const HistoryRecord& record);
  static std::optional<uint64_t> step_of_event(std::string_view id, const InstanceId& by);
  void check_unrecorded_events();
  void check_unrecorded(uint64_t number);
  bool has_whole_history(const Instance& head) const;
  std::optional<std::string> event_id_in(const Place& place, std::string_view value) const;
  void check_event_ids();
  void check_dedupe();
  void check_webhooks();
  void check_idempotency();
  void check_idempotent_input(const Place& place, const IdempotencyRecord& record,
                              const Instance& head);
  void check_variables();
  void check_variable_owner(const Place& place, const VariableOwner& owner);
  void check_pieces_of(const Place& place, const PieceValue& value, uint64_t size);
  void check_value_piece(const Place& place, const ValuePiecePlace& piece, uint32_t expected);
  void check_secrets();
  void check_dead_letters();

  struct WorkflowRow {
    NamespaceNumber ns{};
    std::string id;
    uint32_t latest = 0;
    uint32_t groups_from = 0;
  };
  using CallPlace = std::tuple<InstanceId, uint64_t, uint32_t, uint32_t>;
  static CallPlace place_of(const Caller& caller) {
    return {caller.instance, caller.entered, caller.index, caller.attempt};
  }

  /// The index of a counter in the arrays below.
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
  std::optional<uint64_t> minor_ = 0;  ///< 0 without a row; nullopt: the row is not a number
  std::map<std::string_view, uint64_t> of_minor_;  ///< kinds of rows, and what they need
  std::optional<TimePoint> time_;
  std::optional<Cursor> cursor_;
  bool has_key_ = false;  ///< the view has the store's key
  std::array<uint64_t, kCounters> counters_{};
  std::array<bool, kCounters> behind_{};             ///< counters that already have a finding
  std::vector<NamespaceNumber> archives_;            ///< the namespaces of the rows `archive/`
  std::set<uint32_t> streams_;                       ///< the numbers of event streams
  std::map<NamespaceNumber, uint64_t> start_rates_;  ///< how many rows `start-rate/`
  std::map<NamespaceNumber, uint64_t> start_rate_counts_;  ///< the rows `start-rates/`
  std::map<NamespaceNumber, uint64_t> pending_counts_;     ///< the rows `pending-starts/`
  /// By the namespace and the instance that starts with the batch.
  std::map<std::pair<NamespaceNumber, InstanceId>, FoundBatch> start_batches_;
  bool has_all_pending_starts_ = true;  ///< none of the rows `pending-start/` is damaged
  bool has_all_start_rates_ = true;     ///< none of these rows is damaged
  std::set<int64_t> stream_times_;      ///< when the event streams were created
  bool has_index_ = false;              ///< the index is complete
  bool has_counted_rows_ = false;       ///< and has the sizes of the counted rows

  std::map<NamespaceNumber, std::string> spaces_;
  std::map<NamespaceNumber, TimePoint> created_;  ///< when the namespaces were created
  std::map<WorkflowNumber, WorkflowRow> workflows_;
  std::map<WorkflowNumber, NamespaceNumber> homes_;    ///< also of deleted ones with instances
  std::map<WorkflowNumber, NamespaceNumber> retired_;  ///< deleted workflows whose definitions stay
  std::set<NamespaceNumber> purged_;            ///< deleted namespaces whose rows a purge erases
  std::set<WorkflowNumber> purged_workflows_;   ///< workflows of purged namespaces
  std::map<WorkflowNumber, uint64_t> closing_;  ///< the highest number of an event in closed groups
  std::map<WorkflowNumber, PurgeRecord> group_purges_;
  std::map<WorkflowNumber, std::optional<Duration>> lifespans_;  ///< cache of lifespan_of()
  /// Cache of patterns by their text; null: the pattern does not compile.
  std::unordered_map<std::string, std::shared_ptr<const Pattern>> patterns_;
  /// When the latest event so far of a group arrived, and its number.
  std::optional<std::pair<TimePoint, uint64_t>> arrival_;
  std::map<uint64_t, PurgeRecord> instance_purges_;  ///< by the number in the key
  /// The instances with compensations that they have dropped and a purge erases.
  std::set<std::pair<NamespaceNumber, InstanceId>> dropped_;
  std::set<uint64_t> staged_;  ///< the groups of pieces that purges erase
  std::map<Revision, std::shared_ptr<const Workflow>> definitions_;  ///< cache of definitions

  /// Subflows that instance messages start, and the calls that wait for them.
  std::map<InstanceId, std::optional<Caller>> starts_;
  std::set<InstanceId> cancels_;  ///< subflows that instance messages cancel
  std::set<CallPlace> returns_;   ///< calls for which instance messages have a result

  std::map<WorkflowNumber, InstanceId> singular_;   ///< the first live one of a singular workflow
  std::map<WorkflowNumber, bool> always_singular_;  ///< cache of is_always_singular()
  std::map<Revision, TimePoint> first_starts_;      ///< the first start of an instance
  std::map<CountPlace, uint64_t> places_;           ///< the number of instances, as they were read
  std::map<NamespaceNumber, Usage> usage_;          ///< of the instances and counted rows, as read
  uint64_t unknown_ = 0;       ///< instances with findings; the sums do not have them
  uint64_t unknown_rows_ = 0;  ///< counted rows with findings, or of a sealed namespace, likewise
  std::optional<RowOwners> owners_;               ///< of the counted rows
  uint64_t indexed_ = 0;                          ///< instances that `by_status` has
  std::map<uint64_t, ListenFroms> listen_froms_;  ///< by the number of the kept event
  size_t looked_elsewhere_ = 0;
  std::set<InstanceId> unsound_;  ///< instances with rows that cannot be read or followed
  NumberSet chained_;             ///< history rows in the chain of an instance or of a purge
  NumberSet erased_;              ///< history rows in the chain of a purge
  NumberSet kept_;                ///< numbers of the events in `recent`
  /// A part of the fingerprint of each id of a generated event, in `delayed` and `outbox`.
  std::vector<uint64_t> event_ids_;
  /// Of each start in `effects`: a part of the id of the instance, and the position of the event.
  std::vector<std::pair<uint64_t, uint64_t>> starts_of_events_;
  /// The numbers of the rows of `delayed` of which no record was read so far, by a part of the
  /// fingerprint of the id of the event.
  std::unordered_map<uint64_t, uint64_t> delayed_;
  std::optional<std::pair<std::pair<NamespaceNumber, InstanceId>, Known>> last_live_;
};

}  // namespace millrace
