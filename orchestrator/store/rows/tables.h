// Tables: the rows of the store as values. The keys are made here and nowhere else (docs/FORMATS.md
// has their grammar); records.h has the bytes behind them. Reading takes any View, writing the
// Transaction. A row that is damaged is an error that names it (damage.h); walks that are given
// `damaged` pass over such rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/event.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/records.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

// Meta: single values and counters.

Result<Cursor> read_cursor(const View& view);
void write_cursor(Transaction& tx, const Cursor& cursor);

/// The time of the last committed batch; engine time never falls behind it.
Result<TimePoint> read_engine_time(const View& view);
Error damaged_engine_time(std::string_view what);
void write_engine_time(Transaction& tx, TimePoint time);

/// Numbers that are given once and never again, each from 1.
// On disk: never renumber.
enum class Counter : char {
  kNamespace = 'a',
  kWorkflow = 'b',
  kHistory = 'c',
  kOutbox = 'd',
  kDelayed = 'e',
  kGrouped = 'f',
  kRecent = 'g',
  kInbox = 'h',
  kHook = 'i',
};
/// Error: a damaged row, where it is above kMostNumber.
Result<uint64_t> read_counter(const View& view, Counter counter);
/// The one behind the last; of namespaces and workflows, which have 32 bits, too.
Result<uint64_t> next_number(const View& view, Counter counter);
/// Whether every counter is at or above all numbers that rows have. What is wrong is the error of a
/// damaged row: from such a counter numbers would be given twice.
Status check_counters(const View& view);
/// The event of a row that holds one, under whatever key of that table.
Result<Event> event_of(Table table, std::string_view key, const std::string& json);
Result<Event> event_of(uint64_t number, const DelayedRecord& record);
Result<Event> event_of(uint64_t number, const HookRecord& record);
void write_counter(Transaction& tx, Counter counter, uint64_t last);

/// The format that this program writes (docs/FORMATS.md). Older ones are migrated at open.
inline constexpr uint64_t kStoreFormat = 5;

/// Brings an empty store, or one of an older format, to this one's, with a row by which the key of
/// its seal is known; refuses a newer one (`store.version`), and another key (`store.key`).
Status check_format(Transaction& tx);

// Namespaces, workflows and their revisions.

Status each_namespace(
    const View& view,
    const std::function<void(std::string_view name, const NamespaceRecord&)>& see);
Result<std::optional<NamespaceRecord>> read_namespace(const View& view, std::string_view name);
void write_namespace(Transaction& tx, std::string_view name, const NamespaceRecord& record);
void erase_namespace(Transaction& tx, std::string_view name);

Status each_workflow(const View& view,
                     const std::function<void(NamespaceNumber space, std::string_view id,
                                              const WorkflowRecord&)>& see);
/// Those of one namespace.
Status each_workflow(const View& view, NamespaceNumber space,
                     const std::function<void(std::string_view id, const WorkflowRecord&)>& see);
Result<std::optional<WorkflowRecord>> read_workflow(const View& view, NamespaceNumber space,
                                                    std::string_view id);
void write_workflow(Transaction& tx, NamespaceNumber space, std::string_view id,
                    const WorkflowRecord& record);
void erase_workflow(Transaction& tx, NamespaceNumber space, std::string_view id);

Result<std::optional<DefinitionRecord>> read_definition(const View& view, Revision revision);
/// The revisions of a workflow, the newest first.
Status each_definition(const View& view, WorkflowNumber workflow,
                       const std::function<void(uint32_t revision, const DefinitionRecord&)>& see,
                       const OnDamage& damaged);
void write_definition(Transaction& tx, Revision revision, const DefinitionRecord& record);

/// The error of a damaged definition, or of the row of a workflow.
Error damaged_definition(Revision revision, std::string_view what);
Error damaged_workflow(NamespaceNumber space, std::string_view id, std::string_view what);

// Instances. The living stand in one table and the ended in another, under the same keys.

/// kCall is followed by the call's index.
// On disk: never renumber.
enum class Part : uint8_t {
  kHead = 0,
  kInput = 1,
  kData = 2,
  kSlots = 3,
  kFoundData = 4,
  kCall = 5,
  kFailedData = 6,
};

/// A living instance with its data, but without its input. nullopt: there is none.
Result<std::optional<Instance>> read_living(const View& view, NamespaceNumber space,
                                            const InstanceId& id);

/// The head of an instance, living or ended.
Result<std::optional<Instance>> read_head_anywhere(const View& view, NamespaceNumber space,
                                                   const InstanceId& id);

/// The head of a living instance.
Result<std::optional<Instance>> read_living_head(const View& view, NamespaceNumber space,
                                                 const InstanceId& id);

/// An instance, living or ended, whole.
Result<std::optional<Instance>> read_instance(const View& view, NamespaceNumber space,
                                              const InstanceId& id);

/// What of an instance is to be written beside its head.
struct Changed {
  bool input = false;
  bool data = false;
  bool ends_history = false;  ///< the data is that of the last record which has some
  bool slots = false;
  bool found_data = false;
  bool failed_data = false;
  const std::vector<Call>* calls = nullptr;  ///< as they stand in the rows; null: there are none
};
/// Writes a living instance, or moves one that has ended to the ended ones.
void write_instance(Transaction& tx, const Instance& instance, Changed changed);

/// Takes the rows of one that has ended away, its history left: it is to be written as a living
/// one.
void erase_ended(Transaction& tx, const Instance& instance);

/// Erases every row of an instance, living or ended, whatever the rows hold. Its history and its
/// idempotency key are left. Returns how many rows there were.
Result<size_t> erase_parts(Transaction& tx, NamespaceNumber space, const InstanceId& id);

/// Erases the idempotency key with which it was started, if there was one.
void erase_idempotency(Transaction& tx, const Instance& head);

/// Removes one that has ended, with its idempotency key. Its history is left, for purge_history().
void erase_instance(Transaction& tx, const Instance& instance);

/// All living heads (without JSON), in key order; the walk of start-up.
Status each_living(const View& view, const std::function<void(Instance head)>& see,
                   const OnDamage& damaged = nullptr);
/// Those of a namespace, behind `behind` if it is given, until `see` returns false.
Status each_living(const View& view, NamespaceNumber space, const std::optional<InstanceId>& behind,
                   const std::function<bool(const Instance& head)>& see,
                   const OnDamage& damaged = nullptr);

/// Heads of living and ended instances of a namespace, newest first, those before `before`; until
/// `see` returns false. `damaged` gets the ids of those whose heads are damaged, with what is
/// wrong, in their places among the others, and returns as `see`; none: they end the walk.
Status each_instance_backward(
    const View& view, NamespaceNumber space, const std::optional<InstanceId>& before,
    const std::function<bool(const Instance& head)>& see,
    const std::function<bool(const InstanceId& id, const Error&)>& damaged = nullptr);

/// The error of a living instance that does not fit what belongs to it; it names its head.
Error damaged_instance(NamespaceNumber space, const InstanceId& id, std::string_view what);

// History.

void write_history(Transaction& tx, uint64_t number, const HistoryRow& row);
/// All records of an instance, which is whole, in order.
Result<std::vector<HistoryRecord>> read_history(const View& view, const Instance& instance);

// Outbox.

void write_outbox(Transaction& tx, uint64_t number, const OutboxRecord& record);
void erase_outbox(Transaction& tx, uint64_t number);
Result<std::optional<OutboxRecord>> read_outbox(const View& view, uint64_t number);
/// Messages from `from` on, until `see` returns false; `row` is for decode_outbox.
Status each_outbox(const View& view, uint64_t from,
                   const std::function<Result<bool>(uint64_t number, std::string_view row)>& see,
                   const OnDamage& damaged = nullptr);
Result<OutboxRecord> decode_outbox(const View& view, uint64_t number, std::string_view row);

// Sent: which messages of the outbox the broker has acknowledged, a row for each batch that took
// note of some.

void write_sent(Transaction& tx, uint64_t number, const SentRecord& record);
void erase_sent(Transaction& tx, uint64_t number);
Status each_sent(const View& view,
                 const std::function<void(uint64_t number, SentRecord record)>& see,
                 const OnDamage& damaged = nullptr);

// Delayed events.

void write_delayed(Transaction& tx, uint64_t number, const DelayedRecord& record);
void erase_delayed(Transaction& tx, uint64_t number);
Result<std::optional<DelayedRecord>> read_delayed(const View& view, uint64_t number);
Status each_delayed(const View& view,
                    const std::function<void(uint64_t number, const DelayedRecord&)>& see,
                    const OnDamage& damaged = nullptr);

// Schedules: a row for each workflow that has one.

void write_schedule(Transaction& tx, WorkflowNumber workflow, const ScheduleRecord& record);
void erase_schedule(Transaction& tx, WorkflowNumber workflow);
Result<std::optional<ScheduleRecord>> read_schedule(const View& view, WorkflowNumber workflow);
Error damaged_schedule(WorkflowNumber workflow, std::string_view what);

// Groups of eventsAnd starts: a row of counts for each group, a row for each waiting event, and
// one that finds it by its number.

/// Which group, and which of its queues.
struct GroupQueue {
  WorkflowNumber workflow{};
  Fingerprint group{};  ///< of the correlated values
  uint16_t entry = 0;
};
struct GroupedEvent {
  GroupQueue queue;
  uint64_t number = 0;  ///< in the order of coming
  GroupedRecord record;
};

Result<Event> event_of(const GroupedEvent& event);

/// nullopt: nothing waits in that group.
Result<std::optional<std::vector<uint32_t>>> read_counts(const View& view, WorkflowNumber workflow,
                                                         const Fingerprint& group);
/// Every group of a workflow, by fingerprint, from the one behind `behind` on, with what waits for
/// each entry; until `see` returns false.
Status each_group(const View& view, WorkflowNumber workflow,
                  const std::optional<Fingerprint>& behind,
                  const std::function<Result<bool>(const Fingerprint& group,
                                                   const std::vector<uint32_t>& waiting)>& see);
/// All zero erases the row.
void write_counts(Transaction& tx, WorkflowNumber workflow, const Fingerprint& group,
                  const std::vector<uint32_t>& waiting);
void write_grouped(Transaction& tx, const GroupedEvent& event);
void erase_grouped(Transaction& tx, const GroupQueue& queue, uint64_t number);
/// The event that has waited longest in that queue.
Result<std::optional<GroupedEvent>> read_first_grouped(const View& view, const GroupQueue& queue,
                                                       const OnDamage& damaged = nullptr);
/// The error of a damaged row of counts.
Error damaged_counts(WorkflowNumber workflow, const Fingerprint& group, std::string_view what);
/// How many events wait for each of so many entries, by their own rows.
Result<std::vector<uint32_t>> count_grouped(const View& view, WorkflowNumber workflow,
                                            const Fingerprint& group, size_t entries,
                                            const OnDamage& damaged);
Result<std::optional<GroupedEvent>> read_grouped(const View& view, uint64_t number);
Status each_grouped(const View& view, const std::function<void(const GroupedEvent&)>& see,
                    const OnDamage& damaged = nullptr);
/// Erases grouped events of a workflow up to the number `up_to`, and the counts of their groups, as
/// many as fit into the budget; `see` is shown each first, with the event as it decodes, and
/// returns whether it may go. Returns whether these were all; if not, `at` is where to go on.
Result<bool> close_groups(
    Transaction& tx, WorkflowNumber workflow, uint64_t up_to, std::string& at, PurgeBudget& budget,
    const std::function<Result<bool>(const GroupedEvent&, const Event& event)>& see,
    const OnDamage& damaged);

// Events that are kept for instances which cannot listen yet.

/// Those of one type stand together, in the order of their numbers.
struct RecentPlace {
  NamespaceNumber space{};
  Fingerprint type{};  ///< of the event's type
  uint64_t number = 0;
};
Result<Event> event_of(const RecentPlace& place, const RecentRecord& record);
void write_recent(Transaction& tx, const RecentPlace& place, const RecentRecord& record);
void erase_recent(Transaction& tx, const RecentPlace& place);
/// By namespace and type.
Status each_recent(const View& view,
                   const std::function<void(const RecentPlace&, const RecentRecord&)>& see,
                   const OnDamage& damaged = nullptr);
/// Those of that namespace and type from that number on, until `see` returns false.
Status each_recent_of_type(const View& view, const RecentPlace& from,
                           const std::function<bool(uint64_t number, const RecentRecord&)>& see,
                           const OnDamage& damaged = nullptr);

/// The one of that number; nullopt: it is not kept.
Result<std::optional<RecentRecord>> read_recent(const View& view, const RecentPlace& place);

// Fan-outs: kept events that have more targets than one batch wakes, by their numbers in `recent`.

Error damaged_fan_out(uint64_t number, std::string_view what);
void write_fan_out(Transaction& tx, uint64_t number);
void erase_fan_out(Transaction& tx, uint64_t number);
Status each_fan_out(const View& view, const std::function<void(uint64_t number)>& see,
                    const OnDamage& damaged = nullptr);

// Dedupe: the fingerprints of a batch's events that had an effect, under the batch's time.

void write_dedupe(Transaction& tx, TimePoint time, uint64_t sequence,
                  const std::vector<Fingerprint>& events);
/// Empty: there is no such row.
Result<std::vector<Fingerprint>> read_dedupe(const View& view, TimePoint time, uint64_t sequence);
void erase_dedupe(Transaction& tx, TimePoint time, uint64_t sequence);
Status each_dedupe(const View& view,
                   const std::function<void(TimePoint time, uint64_t sequence,
                                            const std::vector<Fingerprint>& events)>& see,
                   const OnDamage& damaged = nullptr);

// Inbox: errands of instances that a batch has left to the next one, in their order.

void write_inbox(Transaction& tx, uint64_t number, const InboxRecord& record);
void erase_inbox(Transaction& tx, uint64_t number);
Status each_inbox(const View& view,
                  const std::function<void(uint64_t number, InboxRecord record)>& see,
                  const OnDamage& damaged = nullptr);

/// The error of an errand that does not fit the instance that it is for.
Error damaged_errand(uint64_t number, std::string_view what);

// Tasks: the work that is done outside and has not ended.

void write_task(Transaction& tx, const StartTask& task);
Result<std::optional<StartTask>> read_task(const View& view, const InstanceId& task);
void erase_task(Transaction& tx, const InstanceId& task);
Status each_task(const View& view, const std::function<void(StartTask task)>& see,
                 const OnDamage& damaged = nullptr);

// Hooks: CloudEvents that are yet to be taken by URLs.

void write_hook(Transaction& tx, uint64_t number, const HookRecord& record);
void erase_hook(Transaction& tx, uint64_t number);
Result<std::optional<HookRecord>> read_hook(const View& view, uint64_t number);
Status each_hook(const View& view,
                 const std::function<void(uint64_t number, const HookRecord& record)>& see,
                 const OnDamage& damaged = nullptr);

// The input of a living instance, which read_living leaves out.

Result<LazyJson> read_input(const View& view, const Instance& instance);

/// When a living instance last did anything, by its history; nullopt: there is none of that id.
Result<std::optional<TimePoint>> read_last_moved(const View& view, NamespaceNumber space,
                                                 const InstanceId& id);

// Starts under an idempotency key.

Result<std::optional<IdempotencyRecord>> read_idempotency(const View& view, WorkflowNumber workflow,
                                                          std::string_view key);
void write_idempotency(Transaction& tx, WorkflowNumber workflow, std::string_view key,
                       const IdempotencyRecord& record);

}  // namespace millrace
