// The store check reports damage to single rows: keys, records, seals and times, and the rows of
// meta.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

/// The key of the first row of that kind.
std::string first_queue_key(const Transaction& tx, QueueRow kind) {
  std::string found;
  tx.scan(Table::kQueues, std::string(1, static_cast<char>(kind)), [&](std::string_view key, auto) {
    found = key;
    return false;
  });
  return found;
}

/// Puts a row of a task that does not exist, and counts of its key unless they are zero.
void put_slot_of_unknown_call(Transaction& tx, const CallSlotCounts& counts) {
  const CallSlotKey key = call_slot_key_of(kDefault, {.name = "s"}, "");
  write_call_place(tx, key, {.kind = QueueRow::kCallHolder, .number = 1},
                   {.task = InstanceId{}, .since = from_millis(1'630'497'600'000)});
  if (!counts.empty()) write_call_counts(tx, key, counts);
}

/// Likewise of a task that waits for its throttle.
void put_wait_of_unknown_call(Transaction& tx, const CallSlotCounts& counts) {
  const CallSlotKey key = call_throttle_key_of(kDefault, {.name = "s"}, "");
  write_call_place(tx, key, {.kind = QueueRow::kCallThrottled, .number = 1},
                   {.task = InstanceId{},
                    .since = from_millis(1'630'497'600'000),
                    .period = Span::parse("PT1M").value()});
  if (!counts.empty()) write_call_counts(tx, key, counts);
}

using std::chrono::hours;

const Plant kRowPlants[] = {
    {"a format of 0",
     {"store.format"},
     [](Transaction& tx) { tx.put(Table::kMeta, "format", rows::key_of(uint64_t{0})); }},
    {"an old format without tasks and webhooks, with rows of both",
     {"row.value"},
     [](Transaction& tx) { tx.put(Table::kMeta, "format", rows::key_of(uint64_t{4})); }},
    {"a key of three bytes",
     {"row.key"},
     [](Transaction& tx) { tx.put(Table::kOutbox, "abc", "x"); }},
    {"an unknown part of an instance",
     {"row.key"},
     [](Transaction& tx) {
       tx.put(Table::kLive, rows::instance_prefix(kDefault, id_of("naps")) + "\x08", "x");
     }},
    {"a row in an unused tree",
     {"row.key"},
     [](Transaction& tx) { tx.put(Table::kDeadLetters, "k", "x"); }},
    {"a byte after a record",
     {"row.record"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kSchedules);
       tx.put(Table::kSchedules, key, value + "x");
     }},
    {"a head with an unknown status",
     {"row.record"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.status = static_cast<InstanceStatus>(50); });
     }},
    {"a truncated dedupe row",
     {"row.record"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kDedupe);
       tx.put(Table::kDedupe, key, value.substr(1));
     }},
    {"a sealed row with another byte",
     {"row.seal"},
     [](Transaction& tx) {
       auto [key, value] = first(tx, Table::kSecrets);
       value.back() = static_cast<char>(value.back() ^ 1);
       tx.put(Table::kSecrets, key, value);
     }},
    {"a secret that is not sealed",
     {"row.plain"},
     [](Transaction& tx) { tx.put(Table::kSecrets, first(tx, Table::kSecrets).first, "4711"); }},
    {"an input that is not JSON",
     {"row.json"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("naps"), Part::kInput), "{"); }},
    {"a delayed event that is not an event",
     {"row.event"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.event = "{}"; });
     }},
    {"an event for a webhook without an attempt",
     {"row.value"},
     [](Transaction& tx) {
       edit<WebhookRecord>(tx, Table::kWebhooks, first(tx, Table::kWebhooks).first, decode_webhook,
                           encode, [](WebhookRecord& record) { record.attempt = 0; });
     }},
    {"a schedule that counts from next year",
     {"row.time"},
     [](Transaction& tx) {
       edit<ScheduleRecord>(tx, Table::kSchedules, first(tx, Table::kSchedules).first,
                            decode_schedule, encode,
                            [](ScheduleRecord& record) { record.from += hours(9'000); });
     }},
    {"a start that waits without its row",
     {"queue.counts", "queue.entry"},
     [](Transaction& tx) { tx.erase(Table::kQueues, first_queue_key(tx, QueueRow::kWaiting)); }},
    {"a key of slots without its counts",
     {"queue.counts"},
     [](Transaction& tx) { tx.erase(Table::kQueues, first_queue_key(tx, QueueRow::kCounts)); }},
    {"a key of slots with other counts",
     {"queue.counts"},
     [](Transaction& tx) {
       edit<SlotCounts>(tx, Table::kQueues, first_queue_key(tx, QueueRow::kCounts),
                        decode_slot_counts, encode, [](SlotCounts& counts) { ++counts.held; });
     }},
    {"a slot that an unknown instance holds",
     {"queue.entry"},
     [](Transaction& tx) {
       edit<SlotPlace>(tx, Table::kQueues, first_queue_key(tx, QueueRow::kHolder),
                       decode_slot_place, encode,
                       [](SlotPlace& place) { place.instance.bytes[15] ^= 1; });
     }},
    {"a throttled start without its row",
     {"queue.counts", "queue.entry"},
     [](Transaction& tx) { tx.erase(Table::kQueues, first_queue_key(tx, QueueRow::kThrottled)); }},
    {"a key of a throttle without its counts",
     {"queue.counts"},
     [](Transaction& tx) {
       tx.erase(Table::kQueues, first_queue_key(tx, QueueRow::kThrottleCounts));
     }},
    {"a throttled start of an unknown instance",
     {"queue.entry"},
     [](Transaction& tx) {
       edit<SlotPlace>(tx, Table::kQueues, first_queue_key(tx, QueueRow::kThrottled),
                       decode_slot_place, encode,
                       [](SlotPlace& place) { place.instance.bytes[15] ^= 1; });
     }},
    {"a slot of a workflow that does not exist",
     {"workflow.missing"},
     [](Transaction& tx) {
       write_slot_counts(tx, slot_key_of(WorkflowNumber(900), ""), {.held = 1});
     }},
    {"a slot of a call that does not exist",
     {"queue.entry"},
     [](Transaction& tx) { put_slot_of_unknown_call(tx, {.service = {.name = "s"}, .held = 1}); }},
    {"a slot of a call without its counts",
     {"queue.counts", "queue.entry"},
     [](Transaction& tx) { put_slot_of_unknown_call(tx, {}); }},
    {"counts of calls without a row",
     {"queue.counts"},
     [](Transaction& tx) {
       write_call_counts(tx, call_slot_key_of(kDefault, {.name = "s"}, "1"),
                         {.service = {.name = "s"}, .key = "1", .held = 1});
     }},
    {"a throttled call that does not exist",
     {"queue.entry"},
     [](Transaction& tx) {
       put_wait_of_unknown_call(tx, {.service = {.name = "s"}, .queued = 1});
     }},
    {"a throttled call without the counts of its key",
     {"queue.counts", "queue.entry"},
     [](Transaction& tx) { put_wait_of_unknown_call(tx, {}); }},
    {"counts of throttled calls without a row",
     {"queue.counts"},
     [](Transaction& tx) {
       write_call_counts(tx, call_throttle_key_of(kDefault, {.name = "s"}, "1"),
                         {.service = {.name = "s"}, .key = "1", .queued = 1});
     }},
    {"a purge of an unknown kind",
     {"row.key"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind(6), 1, {}});
     }},
    {"a purge of an existing namespace",
     {"row.value"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kNamespace, static_cast<uint64_t>(kShop), {.ns = "shop"}});
     }},
    {"a purge up to a future event",
     {"counter.behind", "purge.target"},
     [](Transaction& tx) {
       const auto pairs = static_cast<uint64_t>(number_of(tx, "pairs"));
       write_purge(tx, {Purge::Kind::kGroups, pairs, {.ns = "default", .up_to = 99}});
     }},
    {"a deleted workflow with the number of another",
     {"number.twice"},
     [](Transaction& tx) { write_retired(tx, number_of(tx, "naps"), kDefault); }},
    {"a deleted workflow without a namespace",
     {"row.record"},
     [](Transaction& tx) {
       tx.put(Table::kMeta, "retired/" + rows::workflow_prefix(WorkflowNumber(1)), "x");
     }},
    {"an unknown key of meta",
     {"meta.unknown"},
     [](Transaction& tx) { tx.put(Table::kMeta, "counter/z", rows::key_of(uint64_t{1})); }},
    {"a truncated id of the store",
     {"row.record"},
     [](Transaction& tx) { tx.put(Table::kMeta, "store", "\1cut"); }},
    {"a missing row for the check of the key",
     {"meta.missing"},
     [](Transaction& tx) { tx.erase(Table::kMeta, "seal"); }},
    {"a missing time", {"meta.missing"}, [](Transaction& tx) { tx.erase(Table::kMeta, "time"); }},
    {"a counter that was set back",
     {"counter.behind"},
     [](Transaction& tx) { write_counter(tx, Counter::kHistory, 1); }},
    {"a counter without a free number",
     {"row.value"},
     [](Transaction& tx) { write_counter(tx, Counter::kHistory, kMostNumber); }},
    {"acknowledgements under an invalid number",
     {"row.key"},
     [](Transaction& tx) {
       tx.put(Table::kSent, rows::key_of(kMostNumber + 1), first(tx, Table::kSent).second);
     }},
    {"fingerprints of a time after the year 9999 in a store without a time",
     {"meta.missing", "row.time"},
     [](Transaction& tx) {
       tx.erase(Table::kMeta, "time");
       tx.put(Table::kDedupe, rows::key_of(uint64_t{1} << 62).append(rows::key_of(uint64_t{1})),
              first(tx, Table::kDedupe).second);
     }},
    {"a head with another end than its history",
     {"instance.status"},
     [](Transaction& tx) {
       edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head,
            [](Instance& head) { *head.ended_at -= Duration(1); });
     }},
    {"a head with another status than its history",
     {"instance.status"},
     [](Transaction& tx) {
       edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head,
            [](Instance& head) { head.status = InstanceStatus::kCancelled; });
     }},
    {"a head with another start than its history",
     {"instance.status"},
     [](Transaction& tx) {
       edit_head(tx, "both", [](Instance& head) {
         head.started_at -= Duration(1);
         head.execution_from -= Duration(1);
       });
     }},
    {"an idempotency key that is not UTF-8",
     {"row.key"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kIdempotency);
       tx.put(Table::kIdempotency, key + '\xff', value);
     }},
    {"a URL of a webhook that is not UTF-8",
     {"row.value"},
     [](Transaction& tx) {
       edit<WebhookRecord>(tx, Table::kWebhooks, first(tx, Table::kWebhooks).first, decode_webhook,
                           encode, [](WebhookRecord& record) { record.url += '\xff'; });
     }},
    // Rows of meta.
    {"a purge of the history of an existing instance",
     {"purge.target"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kHistory, last_history(tx, "naps"), {}});
     }},
    {"a purge of a missing history row",
     {"purge.target"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kHistory, add_history_number(tx), {}});
     }},
    {"a purge of instances of a workflow with another name",
     {"purge.target"},
     [](Transaction& tx) {
       const EndedFilter filter{.ns = kDefault,
                                .workflow = number_of(tx, "naps"),
                                .statuses = {InstanceStatus::kFailed}};
       write_purge(tx, {Purge::Kind::kInstances,
                        add_history_number(tx),
                        {.ns = "default", .workflow = "pairs", .ended = filter}});
     }},
    {"a purge of instances under the number of a history row",
     {"purge.target"},
     [](Transaction& tx) {
       const EndedFilter filter{.ns = kDefault, .statuses = {InstanceStatus::kFailed}};
       write_purge(
           tx,
           {Purge::Kind::kInstances, last_history(tx, "naps"), {.ns = "default", .ended = filter}});
     }},
    {"a purge of instances without a filter",
     {"row.record"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kInstances, add_history_number(tx), {.ns = "default"}});
     }},
    {"a purge of the current groups of a workflow",
     {"purge.target"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kGroups,
                        static_cast<uint64_t>(number_of(tx, "pairs")),
                        {.ns = "default", .workflow = "pairs", .up_to = 1}});
     }},
    {"a purge of groups under another name",
     {"purge.target"},
     [](Transaction& tx) {
       write_purge(tx, {Purge::Kind::kGroups,
                        static_cast<uint64_t>(number_of(tx, "naps")),
                        {.ns = "default", .workflow = "pairs", .up_to = 1}});
     }},
    {"a counter without a next number",
     {"row.value"},
     [](Transaction& tx) { write_counter(tx, Counter::kHistory, UINT64_MAX); }},
    {"a counter of workflows with more than 32 bits",
     {"row.value"},
     [](Transaction& tx) { write_counter(tx, Counter::kWorkflow, uint64_t{1} << 32); }},
    {"a time after the year 9999",
     {"row.value"},
     [](Transaction& tx) { tx.put(Table::kMeta, "time", rows::key_of(uint64_t{1} << 60)); }},
    {"a missing cursor in a store that has applied events",
     {"meta.missing"},
     [](Transaction& tx) { tx.erase(Table::kMeta, "cursor"); }},
    {"a cursor at an event in the far future",
     {"row.time"},
     [](Transaction& tx) {
       Cursor cursor = *read_cursor(tx);
       cursor.stamped = from_millis(int64_t{1} << 47);
       write_cursor(tx, cursor);
     }},
    {"a missing number of an event stream",
     {"meta.missing"},
     [](Transaction& tx) {
       ASSERT_TRUE(number_stream(tx, 1'000'001));
       ASSERT_TRUE(number_stream(tx, 1'000'002));
       tx.erase(Table::kMeta, std::string("stream/\0\0\0\2", 11));
     }},
    {"a definition of an unknown workflow",
     {"workflow.missing"},
     [](Transaction& tx) {
       const uint64_t number = *read_counter(tx, Counter::kWorkflow) + 1;
       write_counter(tx, Counter::kWorkflow, number);
       write_definition(tx, {WorkflowNumber(static_cast<uint32_t>(number)), 1},
                        {.created_at = *read_engine_time(tx), .text = kNaps});
     }},
};

TEST(StoreCheck, FindsDamageToRows) { expect_each_found(kRowPlants); }

}  // namespace

std::span<const Plant> row_plants() { return kRowPlants; }

}  // namespace millrace
