// The store check names each damaged row of calls that wait for a slot or for a throttle (rows u8 6
// to 12 of `queues`): what is wrong, and in which row.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "tests/simulation/store_damage.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

std::pair<std::string, std::string> row_of_kind(const Transaction& tx, QueueRow kind) {
  return first(tx, Table::kQueues, std::string(1, static_cast<char>(kind)));
}

void erase_row(Transaction& tx, QueueRow kind) {
  tx.erase(Table::kQueues, row_of_kind(tx, kind).first);
}

/// Gives the record of the row another version.
void set_version(Transaction& tx, QueueRow kind, char version) {
  auto [key, value] = row_of_kind(tx, kind);
  value.front() = version;
  tx.put(Table::kQueues, key, value);
}

/// Changes what the row of a task says.
template <class Change>
void edit_call_place(Transaction& tx, QueueRow kind, const Change& change) {
  edit<CallPlaceRecord>(tx, Table::kQueues, row_of_kind(tx, kind).first, decode_call_place, encode,
                        change);
}

/// Changes a row of counts.
template <class Change>
void edit_call_counts(Transaction& tx, QueueRow kind, const Change& change) {
  edit<CallSlotCounts>(tx, Table::kQueues, row_of_kind(tx, kind).first, decode_call_slot_counts,
                       encode, change);
}

/// Changes the key of the row of a task, which keeps its value.
template <class Change>
void move_call_place(Transaction& tx, QueueRow kind, const Change& change) {
  const auto [key, value] = row_of_kind(tx, kind);
  CallRowKey row = parse_call_row_key(key).value();
  change(row);
  tx.erase(Table::kQueues, key);
  tx.put(Table::kQueues, call_place_key(row.key, row.place), value);
}

InstanceId task_of_workflow(const View& view, const std::string& workflow) {
  return read_live(view, kDefault, id_of(workflow)).value()->calls.at(0).id;
}

/// A finding: its code, a part of its key and a part of what was found.
struct NamedFinding {
  const char* code;
  const char* key;
  const char* found;
};

/// A damage, and its findings in their order.
struct QueueDamage {
  const char* name;
  std::vector<NamedFinding> findings;
  void (*damage)(Transaction& tx);
};

void expect_each_named(const std::vector<QueueDamage>& damages) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  for (const QueueDamage& one : damages) {
    SCOPED_TRACE(one.name);
    one.damage(tx);
    const StoreReport report = check_store(tx, test_check_options()).value();
    tx.drop();
    EXPECT_EQ(report.findings.size(), one.findings.size()) << lines_of(report);
    if (report.findings.size() != one.findings.size()) continue;
    for (size_t i = 0; i < one.findings.size(); ++i) {
      const StoreFinding& finding = report.findings[i];
      EXPECT_EQ(kind_of(finding.fault).code, one.findings[i].code) << lines_of(report);
      EXPECT_THAT(finding.key, HasSubstr(one.findings[i].key));
      EXPECT_THAT(finding.found, HasSubstr(one.findings[i].found));
    }
  }
}

constexpr auto kCountsOfThrottle = QueueRow::kCallThrottleCounts;
constexpr auto kAwaitsThrottle = QueueRow::kCallThrottled;
constexpr auto kLeftOutOfThrottle = QueueRow::kCallThrottlePaused;

TEST(StoreCheckOfQueues, NamesDamagedCountsOfAThrottle) {
  expect_each_named({
      {"no counts",
       {{"queue.counts", " throttle",
         "the row is missing, but 0 calls have a slot of the key, 1 wait for one, and 1 are of "
         "paused instances"}},
       [](Transaction& tx) { erase_row(tx, kCountsOfThrottle); }},
      {"too many that wait",
       {{"queue.counts", " throttle",
         "the row counts 0 calls with a slot, 2 that wait and 1 of paused instances, but 0, 1 and "
         "1 rows exist"}},
       [](Transaction& tx) {
         edit_call_counts(tx, kCountsOfThrottle, [](CallSlotCounts& counts) { ++counts.queued; });
       }},
      {"too few that are left out",
       {{"queue.counts", " throttle", "1 that wait and 0 of paused instances"}},
       [](Transaction& tx) {
         edit_call_counts(tx, kCountsOfThrottle, [](CallSlotCounts& counts) { --counts.paused; });
       }},
      {"calls that hold a slot of a throttle",
       {{"queue.counts", " throttle", "the row counts 1 calls with a slot"}},
       [](Transaction& tx) {
         edit_call_counts(tx, kCountsOfThrottle, [](CallSlotCounts& counts) { counts.held = 1; });
       }},
      {"counts of another key",
       {{"queue.counts", " throttle", "the row has the value of another key"}},
       [](Transaction& tx) {
         edit_call_counts(tx, kCountsOfThrottle, [](CallSlotCounts& counts) { counts.key = "1"; });
       }},
      {"counts under another key",
       {{"queue.counts", " throttle", "the row has the value of another key"},
        {"queue.counts", " throttle", "but 0, 0 and 0 rows exist"},
        {"queue.counts", " throttle", "the row is missing"}},
       [](Transaction& tx) {
         const auto [key, value] = row_of_kind(tx, kCountsOfThrottle);
         CallSlotKey other = parse_call_row_key(key)->key;
         other.key[15] ^= 1;
         tx.erase(Table::kQueues, key);
         tx.put(Table::kQueues, call_counts_key(other), value);
       }},
      {"an unknown version",
       {{"row.record", " throttle", ""}},
       [](Transaction& tx) { set_version(tx, kCountsOfThrottle, 2); }},
      {"a longer key",
       {{"row.key", "0x0a", "the key is not that of counts, a slot or a wait of a call"},
        {"queue.counts", " throttle", "the row is missing"}},
       [](Transaction& tx) {
         const auto [key, value] = row_of_kind(tx, kCountsOfThrottle);
         tx.erase(Table::kQueues, key);
         tx.put(Table::kQueues, key + "\x01", value);
       }},
  });
}

TEST(StoreCheckOfQueues, NamesDamagedKeysOfCallsThatWaitForAThrottle) {
  expect_each_named({
      {"no row",
       {{"queue.counts", " throttle", "but 0, 0 and 1 rows exist"}},
       [](Transaction& tx) { erase_row(tx, kAwaitsThrottle); }},
      {"the number of another row",
       {{"queue.entry", " throttled 1", "its task has another row"}},
       [](Transaction& tx) {
         move_call_place(tx, kAwaitsThrottle, [](CallRowKey& row) { row.place.number = 1; });
       }},
      {"a number that was not assigned",
       {{"counter.behind", " throttled 1000000", "number 1000000 was assigned"},
        {"queue.entry", " throttled 1000000", "its task has another row"}},
       [](Transaction& tx) {
         move_call_place(tx, kAwaitsThrottle,
                         [](CallRowKey& row) { row.place.number = 1'000'000; });
       }},
      {"another priority",
       {{"queue.entry", " rank 2147483644 throttled ", "its task has another priority"}},
       [](Transaction& tx) {
         move_call_place(tx, kAwaitsThrottle, [](CallRowKey& row) { row.place.priority = 3; });
       }},
      {"another key of the throttle",
       {{"queue.entry", " throttled ", "its task waits for another key of a throttle"},
        {"queue.counts", " throttle", "but 0, 0 and 1 rows exist"},
        {"queue.counts", " throttle", "the row is missing"}},
       [](Transaction& tx) {
         move_call_place(tx, kAwaitsThrottle, [](CallRowKey& row) { row.key.key[15] ^= 1; });
       }},
      {"as if its instance were paused",
       {{"queue.entry", " throttle paused ", "its wait ends at another time"},
        {"queue.counts", " throttle", "but 0, 0 and 2 rows exist"}},
       [](Transaction& tx) {
         move_call_place(tx, kAwaitsThrottle,
                         [](CallRowKey& row) { row.place.kind = kLeftOutOfThrottle; });
       }},
      {"a shorter key",
       {{"row.key", "0x0b", "the key is not that of counts, a slot or a wait of a call"},
        {"queue.counts", " throttle", "but 0, 0 and 1 rows exist"}},
       [](Transaction& tx) {
         const auto [key, value] = row_of_kind(tx, kAwaitsThrottle);
         tx.erase(Table::kQueues, key);
         tx.put(Table::kQueues, key.substr(0, key.size() - 1), value);
       }},
  });
}

TEST(StoreCheckOfQueues, NamesDamagedValuesOfCallsThatWaitForAThrottle) {
  expect_each_named({
      {"an unknown task",
       {{"queue.entry", " throttled ", "does not exist"}},
       [](Transaction& tx) {
         edit_call_place(tx, kAwaitsThrottle,
                         [](CallPlaceRecord& record) { record.task = kUnknownId; });
       }},
      {"a task without a throttle",
       {{"queue.entry", " throttled ", "its task has no throttle"}},
       [](Transaction& tx) {
         const InstanceId other = task_of_workflow(tx, "ships");
         edit_call_place(tx, kAwaitsThrottle,
                         [&](CallPlaceRecord& record) { record.task = other; });
       }},
      {"another limit",
       {{"queue.entry", " throttled ", "its task has another limit"}},
       [](Transaction& tx) {
         edit_call_place(tx, kAwaitsThrottle, [](CallPlaceRecord& record) { ++record.limit; });
       }},
      {"another period",
       {{"queue.entry", " throttled ", "its task has another period"}},
       [](Transaction& tx) {
         edit_call_place(tx, kAwaitsThrottle, [](CallPlaceRecord& record) {
           record.period = Span::parse("PT2H").value();
         });
       }},
      {"another end of the wait",
       {{"queue.entry", " throttled ", "its wait ends at another time"}},
       [](Transaction& tx) {
         edit_call_place(tx, kAwaitsThrottle,
                         [](CallPlaceRecord& record) { *record.until += hours(1); });
       }},
      {"no end of the wait",
       {{"queue.entry", " throttled ", "its wait ends at another time"}},
       [](Transaction& tx) {
         edit_call_place(tx, kAwaitsThrottle,
                         [](CallPlaceRecord& record) { record.until.reset(); });
       }},
      {"a wait since a later time",
       {{"row.time", " throttled ", "the time since which the call waits or holds the slot"},
        {"queue.entry", " throttled ", "its wait ends at another time"}},
       [](Transaction& tx) {
         edit_call_place(tx, kAwaitsThrottle,
                         [](CallPlaceRecord& record) { record.since += hours(1); });
       }},
      {"the version of a row of slots",
       {{"queue.entry", " throttled ", "it is a row of another kind"}},
       [](Transaction& tx) {
         edit_call_place(tx, kAwaitsThrottle,
                         [](CallPlaceRecord& record) { record.period.reset(); });
       }},
      {"an unknown version",
       {{"row.record", " throttled ", ""}},
       [](Transaction& tx) { set_version(tx, kAwaitsThrottle, 3); }},
  });
}

TEST(StoreCheckOfQueues, NamesDamagedRowsOfThrottledCallsOfPausedInstances) {
  expect_each_named({
      {"no row",
       {{"queue.counts", " throttle", "but 0, 1 and 0 rows exist"}},
       [](Transaction& tx) { erase_row(tx, kLeftOutOfThrottle); }},
      {"an unknown task",
       {{"queue.entry", " throttle paused ", "does not exist"}},
       [](Transaction& tx) {
         edit_call_place(tx, kLeftOutOfThrottle,
                         [](CallPlaceRecord& record) { record.task = kUnknownId; });
       }},
      {"an end of the wait",
       {{"queue.entry", " throttle paused ", "its wait ends at another time"}},
       [](Transaction& tx) {
         edit_call_place(tx, kLeftOutOfThrottle,
                         [](CallPlaceRecord& record) { record.until = record.since + hours(1); });
       }},
      {"the version of a row of slots",
       {{"queue.entry", " throttle paused ", "it is a row of another kind"}},
       [](Transaction& tx) {
         edit_call_place(tx, kLeftOutOfThrottle,
                         [](CallPlaceRecord& record) { record.period.reset(); });
       }},
      {"an unknown version",
       {{"row.record", " throttle paused ", ""}},
       [](Transaction& tx) { set_version(tx, kLeftOutOfThrottle, 3); }},
      {"the number of another row",
       {{"queue.entry", " throttle paused 1", "its task has another row"}},
       [](Transaction& tx) {
         move_call_place(tx, kLeftOutOfThrottle, [](CallRowKey& row) { row.place.number = 1; });
       }},
      {"another key of the throttle",
       {{"queue.entry", " throttle paused ", "its task waits for another key of a throttle"},
        {"queue.counts", " throttle", "but 0, 1 and 0 rows exist"},
        {"queue.counts", " throttle", "the row is missing"}},
       [](Transaction& tx) {
         move_call_place(tx, kLeftOutOfThrottle, [](CallRowKey& row) { row.key.key[15] ^= 1; });
       }},
      {"as if its instance were not paused",
       {{"queue.entry", " throttled ", "its wait ends at another time"},
        {"queue.counts", " throttle", "but 0, 2 and 0 rows exist"}},
       [](Transaction& tx) {
         move_call_place(tx, kLeftOutOfThrottle,
                         [](CallRowKey& row) { row.place.kind = kAwaitsThrottle; });
       }},
  });
}

TEST(StoreCheckOfQueues, NamesDamagedRowsOfSlotsOfCalls) {
  expect_each_named({
      {"no counts",
       {{"queue.counts", "default calls key ",
         "the row is missing, but 1 calls have a slot of the key, 1 wait for one, and 1 are of "
         "paused instances"}},
       [](Transaction& tx) { erase_row(tx, QueueRow::kCallCounts); }},
      {"a task that has lost its slot",
       {{"queue.entry", "", "the task needs a slot, but no row of `queues` has it"},
        {"queue.counts", "default calls key ", "but 0, 1 and 1 rows exist"}},
       [](Transaction& tx) { erase_row(tx, QueueRow::kCallHolder); }},
      {"a task that has lost its place",
       {{"queue.entry", "", "the task needs a slot, but no row of `queues` has it"},
        {"queue.counts", "default calls key ", "but 1, 0 and 1 rows exist"}},
       [](Transaction& tx) { erase_row(tx, QueueRow::kCallWaiting); }},
      {"a task of a paused instance that has lost its row",
       {{"queue.entry", "", "the task needs a slot, but no row of `queues` has it"},
        {"queue.counts", "default calls key ", "but 1, 1 and 0 rows exist"}},
       [](Transaction& tx) { erase_row(tx, QueueRow::kCallPaused); }},
      {"another priority",
       {{"queue.entry", "", "the task needs a slot, but no row of `queues` has it"},
        {"queue.entry", " rank 2147483644 waiting ", "its task has another priority"}},
       [](Transaction& tx) {
         move_call_place(tx, QueueRow::kCallWaiting,
                         [](CallRowKey& row) { row.place.priority = 3; });
       }},
      {"an unknown holder",
       {{"queue.entry", " slot ", "does not exist"}},
       [](Transaction& tx) {
         edit_call_place(tx, QueueRow::kCallHolder,
                         [](CallPlaceRecord& record) { record.task = kUnknownId; });
       }},
      {"another limit",
       {{"queue.entry", " waiting ", "its task has another limit"}},
       [](Transaction& tx) {
         edit_call_place(tx, QueueRow::kCallWaiting,
                         [](CallPlaceRecord& record) { ++record.limit; });
       }},
      {"the version of a row of a throttle",
       {{"queue.entry", " paused ", "it is a row of another kind"}},
       [](Transaction& tx) {
         edit_call_place(tx, QueueRow::kCallPaused, [](CallPlaceRecord& record) {
           record.period = Span::parse("PT1H").value();
         });
       }},
      {"an unknown version",
       {{"row.record", " slot ", ""}},
       [](Transaction& tx) { set_version(tx, QueueRow::kCallHolder, 3); }},
  });
}

TEST(StoreCheckOfQueues, NamesATaskWithAThrottleWhoseNumberWasNotAssigned) {
  expect_each_named({
      {"a number of the throttle",
       {{"counter.behind", "", "number 1000000 was assigned"}},
       [](Transaction& tx) {
         edit_task(tx, "settles", [](StartTask& task) { task.throttle->number = 1'000'000; });
       }},
  });
}

}  // namespace
}  // namespace millrace
