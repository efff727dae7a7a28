#include "orchestrator/store/rows/head_rows.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

// The numbers on disk are fixed: an enumerator without a number does not compile (-Wswitch).

int pinned(InstanceStatus status) {
  switch (status) {
    case InstanceStatus::kPending:
      return 0;
    case InstanceStatus::kRunning:
      return 1;
    case InstanceStatus::kWaiting:
      return 2;
    case InstanceStatus::kPaused:
      return 3;
    case InstanceStatus::kComplete:
      return 4;
    case InstanceStatus::kFailed:
      return 5;
    case InstanceStatus::kCancelled:
      return 6;
    case InstanceStatus::kTimedOut:
      return 7;
  }
  return -1;
}

int pinned(Phase phase) {
  switch (phase) {
    case Phase::kEntering:
      return 0;
    case Phase::kWaiting:
      return 1;
    case Phase::kLeaving:
      return 2;
    case Phase::kEnded:
      return 3;
  }
  return -1;
}

int pinned(TimerKind kind) {
  switch (kind) {
    case TimerKind::kStateTimeout:
      return 0;
    case TimerKind::kDelay:
      return 1;
    case TimerKind::kRetry:
      return 2;
    case TimerKind::kInterrupt:
      return 3;
    case TimerKind::kKill:
      return 4;
    case TimerKind::kRun:
      return 5;
    case TimerKind::kExecution:
      return 6;
    case TimerKind::kCalls:
      return 7;
    case TimerKind::kQueue:
      return 8;
    case TimerKind::kThrottle:
      return 9;
  }
  return -1;
}

int pinned(Predicate::Kind kind) {
  switch (kind) {
    case Predicate::Kind::kEquals:
      return 0;
    case Predicate::Kind::kPattern:
      return 1;
  }
  return -1;
}

int pinned(Part part) {
  switch (part) {
    case Part::kHead:
      return 0;
    case Part::kInput:
      return 1;
    case Part::kData:
      return 2;
    case Part::kSlots:
      return 3;
    case Part::kFoundData:
      return 4;
    case Part::kCall:
      return 5;
    case Part::kFailedData:
      return 6;
    case Part::kStartEvent:
      return 7;
    case Part::kCompensation:
      return 8;
  }
  return -1;
}

TEST(HeadRows, KeepTheNumberOfCallsAndTheAttemptAndTheTimers) {
  Instance head;
  head.id = id(1);
  head.entered = 12;
  head.attempt = 4;
  head.caller = caller();
  head.depth = 19;
  head.hops = 3;
  head.calls.resize(1000);
  head.timers = {{TimerKind::kKill, kNow}, {TimerKind::kRetry, kNow}};
  const Instance read = decode_head(encode_head(head)).value();
  EXPECT_EQ(read.entered, 12u);
  EXPECT_EQ(read.attempt, 4u);
  EXPECT_EQ(read.caller, caller());
  EXPECT_EQ(read.depth, 19u);
  EXPECT_EQ(read.hops, 3u);
  EXPECT_EQ(read.calls.size(), 1000u)
      << "the head has the number of calls; the calls have rows of their own";
  EXPECT_EQ(read.timers, head.timers);
  expect_whole(encode_head(head), decode_head);
}

TEST(HeadRows, HaveAFixedBitForEachFlag) {
  const struct {
    int bit;
    void (*set)(Instance& head);
  } flags[] = {
      {1, [](Instance& head) { head.awaits_run = true; }},
      {2, [](Instance& head) { head.failing = true; }},
      {4, [](Instance& head) { head.paused = true; }},
      {8, [](Instance& head) { head.cancelling = true; }},
      {16, [](Instance& head) { head.retried = true; }},
      {32, [](Instance& head) { head.failed_data.emplace(); }},
  };
  const std::string without = encode_head(Instance());
  for (const auto& flag : flags) {
    Instance head;
    flag.set(head);
    const std::string with = encode_head(head);
    ASSERT_EQ(with.size(), without.size()) << flag.bit;
    std::vector<int> differences;  // the bits in which each byte differs, if it differs
    for (size_t i = 0; i < with.size(); ++i) {
      const int bits = static_cast<unsigned char>(with[i]) ^ static_cast<unsigned char>(without[i]);
      if (bits != 0) differences.push_back(bits);
    }
    EXPECT_EQ(differences, std::vector<int>{flag.bit});
  }
}

TEST(HeadRows, KeepTheRunAndTheFlagsAndTheHeldTimersAndTheOrigin) {
  Instance head{.id = id(1), .run = 3};
  head.awaits_run = head.failing = head.paused = head.cancelling = head.retried = true;
  head.over_bytes = true;
  head.started_at = kNow;
  head.execution_from = kNow + std::chrono::hours(2);
  head.held_timers = {{TimerKind::kCalls, kNow}};
  head.own_policy = R"({"runTimeout":"1h"})";
  head.traceparent = "00-a-b-01";
  head.correlation = "c";
  const Instance read = decode_head(encode_head(head)).value();
  EXPECT_EQ(read.run, 3u);
  EXPECT_TRUE(read.awaits_run && read.failing && read.paused && read.cancelling && read.retried);
  EXPECT_TRUE(read.over_bytes);
  EXPECT_EQ(read.execution_from, head.execution_from);
  EXPECT_EQ(read.held_timers, head.held_timers);
  EXPECT_EQ(read.own_policy, head.own_policy);
  EXPECT_EQ(read.traceparent, head.traceparent);
  EXPECT_EQ(read.correlation, head.correlation);
  expect_whole(encode_head(head), decode_head);
}

TEST(HeadRows, RefuseAMalformedOwnPolicy) {
  for (const char* const policy :
       {"{", "[]", R"({"runTimeout":5})", R"({"runTimeout":"soon"})", R"({"retries":"{}x"})"}) {
    const Instance head{.id = id(1), .own_policy = policy};
    const auto read = decode_head(encode_head(head));
    ASSERT_FALSE(read) << policy;
    EXPECT_EQ(read.error().code, "store.corrupt");
  }
}

TEST(HeadRows, KeepTheTimesFromWhichPoliciesCountAndWhetherThereIsFailedData) {
  Instance head{.id = id(1), .run = 9, .first_run = 7};
  head.started_at = kNow;
  head.runs_from = kNow + std::chrono::hours(2);
  head.state_from = kNow + std::chrono::hours(3);
  EXPECT_FALSE(decode_head(encode_head(head)).value().failed_data);
  head.failed_data = LazyJson(Json{{"n", 1}});
  head.failed_attempt = 300;
  const Instance read = decode_head(encode_head(head)).value();
  EXPECT_EQ(read.first_run, 7u);
  EXPECT_EQ(read.runs_from, head.runs_from);
  EXPECT_EQ(read.state_from, head.state_from);
  EXPECT_TRUE(read.failed_data) << "the data has a row of its own";
  EXPECT_EQ(read.failed_attempt, 300u);
  expect_whole(encode_head(head), decode_head);
}

TEST(HeadRows, KeepTheSizesOfTheRowsAndOfTheHistory) {
  Instance head{.id = id(1)};
  head.part_bytes = {0, 1, 200, 3, 4, 500, 6};
  head.history_count = 9;
  head.history_trimmed = 8;
  head.history_bytes = 70'000;
  head.listen_from = {.kept = 5, .event = {2, 300}};
  const std::string bytes = encode_head(head);
  const Instance read = decode_head(bytes).value();
  head.part_bytes[0] = bytes.size();
  EXPECT_EQ(read.part_bytes, head.part_bytes) << "the size of the head is the size of its row";
  EXPECT_EQ(read.history_trimmed, 8u);
  EXPECT_EQ(read.history_bytes, 70'000u);
  EXPECT_EQ(read.listen_from, head.listen_from);
  expect_whole(bytes, decode_head);
  head.history_trimmed = 10;
  EXPECT_FALSE(decode_head(encode_head(head))) << "more records were trimmed than there were";
}

TEST(HeadRows, KeepTheEventsThatTheInstanceHasTaken) {
  Instance head{.id = id(1)};
  const std::string without = encode_head(head);
  EXPECT_EQ(without[0], 7) << "an earlier release can read the head";
  EXPECT_TRUE(decode_head(without).value().consumed.empty());
  head.consumed = {.stream = 2, .forgotten = 5, .events = {{300, id(7).bytes}, {6, id(8).bytes}}};
  const std::string bytes = encode_head(head);
  EXPECT_EQ(bytes[0], 8);
  EXPECT_EQ(decode_head(bytes).value().consumed, head.consumed);
  expect_whole(bytes, decode_head);
}

TEST(HeadRows, KeepTheSizeOfTheStartingEvent) {
  Instance head{.id = id(1)};
  head.part_bytes = {0, 1, 0, 0, 0, 0, 0, 300};
  for (const bool has_taken : {false, true}) {
    if (has_taken) head.consumed = {.stream = 2, .events = {{300, id(7).bytes}}};
    const std::string bytes = encode_head(head);
    EXPECT_EQ(bytes[0], 9);
    const Instance read = decode_head(bytes).value();
    EXPECT_EQ(read.part_bytes[static_cast<size_t>(Part::kStartEvent)], 300U);
    EXPECT_EQ(read.consumed, head.consumed);
    expect_whole(bytes, decode_head);
  }
}

TEST(HeadRows, RefuseTakenEventsThatNoInstanceHas) {
  Instance head{.id = id(1)};
  head.consumed = {.stream = 0, .events = {{1, id(7).bytes}}};
  EXPECT_FALSE(decode_head(encode_head(head))) << "events of no stream";
  head.consumed.stream = 1;
  head.consumed.events.resize(ConsumedEvents::kMost);
  EXPECT_TRUE(decode_head(encode_head(head)));
  head.consumed.events.resize(ConsumedEvents::kMost + 1);
  EXPECT_FALSE(decode_head(encode_head(head))) << "too many";
}

TEST(HeadRows, KeepTheTimeoutThatTheDataOfTheInstanceHasDecided) {
  Instance head{.id = id(1)};
  for (const char* text : {"PT1H", "P1Y2M", "P100Y", "P1MT0.001S"}) {
    for (const bool has_consumed : {false, true}) {
      head.state_timeout = *Span::parse(text);
      head.consumed = {};
      if (has_consumed) head.consumed = {.stream = 2, .events = {{300, id(7).bytes}}};
      const std::string bytes = encode_head(head);
      EXPECT_EQ(bytes[0], 9);
      const Instance read = decode_head(bytes).value();
      EXPECT_EQ(read.state_timeout, head.state_timeout) << text;
      EXPECT_EQ(read.consumed, head.consumed) << text;
      expect_whole(bytes, decode_head);
    }
  }
  head.consumed = {};
  head.state_timeout = Span{.months = 1'201};
  EXPECT_FALSE(decode_head(encode_head(head))) << "longer than 100 years";
  head.state_timeout.reset();
  EXPECT_EQ(encode_head(head)[0], 7) << "an earlier release can read the head";
}

TEST(HeadRows, DecodeOlderVersions) {
  const Instance head{.id = id(1), .step = 9};
  std::string bytes = encode_head(head);
  // Version 7 added six sizes, the size of the history, the trimmed records and a position of two
  // fields. Each is one byte.
  bytes.resize(bytes.size() - 10);
  bytes[0] = 6;
  EXPECT_EQ(decode_head(bytes).value().step, 9u);
  // Version 6 added the attempts of the failed state, which are one byte.
  bytes.resize(bytes.size() - 1);
  bytes[0] = 5;
  EXPECT_EQ(decode_head(bytes).value().failed_attempt, 0u);
  EXPECT_EQ(decode_head(bytes).value().first_run, 1u);
  // Version 5 added the first run that policies count and the two times from which they count. Each
  // is one byte.
  bytes.resize(bytes.size() - 3);
  bytes[0] = 4;
  EXPECT_EQ(decode_head(bytes).value().first_run, 1u);
  EXPECT_EQ(decode_head(bytes).value().runs_from, head.started_at);
  EXPECT_EQ(decode_head(bytes).value().state_from, head.started_at);
  // Version 4 added run, flags, the start of the execution, held timers and three texts. Each is
  // one byte if it is empty.
  bytes.resize(bytes.size() - 7);
  bytes[0] = 3;
  EXPECT_EQ(decode_head(bytes).value().step, 9u);
  EXPECT_EQ(decode_head(bytes).value().run, 1u);
  // Version 3 added entered, attempt, caller, depth and calls. Each is one byte if it is empty.
  bytes.resize(bytes.size() - 5);
  bytes[0] = 2;
  const Instance read = decode_head(bytes).value();
  EXPECT_EQ(read.step, 9u);
  EXPECT_EQ(read.attempt, 1u);
  EXPECT_TRUE(read.calls.empty());
}

TEST(HeadRows, RefuseTooManyCalls) {
  EXPECT_FALSE(decode_head(encode_head({.calls = std::vector<Call>(kMostCalls + 1)})));
}

TEST(HeadRows, StoreEnumeratorsAsFixedNumbers) {
  expect_pinned<InstanceStatus>("status", pinned, [](InstanceStatus status) {
    const auto read = decode_head(encode_head({.status = status}));
    return read && read->status == status;
  });
  expect_pinned<Phase>("phase", pinned, [](Phase phase) {
    const auto read = decode_head(encode_head({.phase = phase}));
    return read && read->phase == phase;
  });
  expect_pinned<TimerKind>("timer", pinned, [](TimerKind kind) {
    const auto read = decode_head(
        encode_head({.timers = {{.kind = kind, .deadline = {}}}, .throttled = Throttled()}));
    return read && read->timers.at(0).kind == kind;
  });
  expect_pinned<Predicate::Kind>("predicate", pinned, [](Predicate::Kind kind) {
    Instance head;
    head.listeners = {{.filter = {.type = "t", .predicates = {{.attribute = "a", .kind = kind}}}}};
    const auto read = decode_head(encode_head(head));
    return read && read->listeners.at(0).filter.predicates.at(0).kind == kind;
  });
}

TEST(HeadRows, StorePartsAsFixedNumbers) {
  for (int number = 0; number <= 8; ++number) EXPECT_EQ(pinned(static_cast<Part>(number)), number);
  EXPECT_EQ(pinned(static_cast<Part>(9)), -1);
}

class HeadRowsTest : public StoreTest {
 protected:
  Instance make(uint8_t last, NamespaceNumber ns = NamespaceNumber(1)) const {
    Instance instance{.id = id(last), .ns = ns, .revision = {WorkflowNumber(1), 1}};
    instance.input = Json::object();
    return instance;
  }
  void write_live(Instance instance) { write_instance(*tx, instance, {.input = true}); }
  void write_ended(Instance instance) {
    instance.status = InstanceStatus::kComplete;
    instance.phase = Phase::kEnded;
    instance.ended_at = instance.started_at;
    write_instance(*tx, instance, {.input = true});
  }
};

TEST_F(HeadRowsTest, AreFoundForLiveAndEndedInstances) {
  write_live(make(1));
  write_ended(make(2));
  EXPECT_TRUE(read_live_head(*tx, NamespaceNumber(1), id(1)).value());
  EXPECT_FALSE(read_live_head(*tx, NamespaceNumber(1), id(2)).value());
  EXPECT_TRUE(read_head(*tx, Table::kEnded, NamespaceNumber(1), id(2)).value());
  for (const uint8_t one : {1, 2}) {
    EXPECT_TRUE(read_head_anywhere(*tx, NamespaceNumber(1), id(one)).value());
  }
  EXPECT_FALSE(read_head_anywhere(*tx, NamespaceNumber(2), id(1)).value());
}

TEST_F(HeadRowsTest, AreReportedAsDamagedUnderTheKeyOfAnotherInstance) {
  Instance other = make(2);
  const InstanceId one = id(1);
  const std::string key = part_key(
      std::string("\0\0\0\1", 4) + std::string(one.bytes.begin(), one.bytes.end()), Part::kHead);
  tx->put(Table::kLive, key, encode_head(other));
  EXPECT_EQ(read_live_head(*tx, NamespaceNumber(1), id(1)).error().code, kDamagedRow);
  other.id = id(1);
  other.status = InstanceStatus::kFailed;
  tx->put(Table::kLive, key, encode_head(other));
  EXPECT_EQ(read_live_head(*tx, NamespaceNumber(1), id(1)).error().code, kDamagedRow)
      << "an ended instance is not allowed in the table of live ones";
}

TEST_F(HeadRowsTest, AreListedInTheOrderOfTheirIds) {
  for (const uint8_t last : {1, 4}) write_live(make(last));
  for (const uint8_t last : {2, 3}) write_ended(make(last));
  write_live(make(9, NamespaceNumber(2)));
  std::string seen;
  const auto see = [&](const Instance& head) {
    seen += std::to_string(head.id.bytes[15]);
    return true;
  };
  EXPECT_TRUE(each_live(*tx, NamespaceNumber(1), id(1), see));
  EXPECT_EQ(seen, "4");
  seen.clear();
  EXPECT_TRUE(each_ended(*tx, NamespaceNumber(1), std::nullopt, see));
  EXPECT_EQ(seen, "23");
  seen.clear();
  EXPECT_TRUE(each_ended(*tx, NamespaceNumber(1), id(2), see));
  EXPECT_EQ(seen, "3");
}

TEST_F(HeadRowsTest, AreReadInARangeOfIdsInBothDirections) {
  for (const uint8_t last : {1, 2, 4, 5}) write_live(make(last));
  write_ended(make(3));
  write_live(make(3, NamespaceNumber(2)));
  const auto some = [&](Table table, const IdRange& range, Direction direction, size_t most = 10) {
    std::string seen;
    const auto heads = some_heads(*tx, table, NamespaceNumber(1), range, direction, most).value();
    for (const StoredHead& stored : heads) {
      const Result<Instance> head = head_of(*tx, stored.table, stored.key, stored.value);
      EXPECT_TRUE(head && head->id == stored.id);
      seen += std::to_string(stored.id.bytes[15]);
    }
    return seen;
  };
  EXPECT_EQ(some(Table::kLive, {}, Direction::kForward), "1245");
  EXPECT_EQ(some(Table::kLive, {}, Direction::kBackward), "5421");
  EXPECT_EQ(some(Table::kLive, {}, Direction::kBackward, 2), "54");
  EXPECT_EQ(some(Table::kLive, {}, Direction::kForward, 0), "");
  const IdRange middle{.first = id(2), .last = id(4)};
  EXPECT_EQ(some(Table::kLive, middle, Direction::kForward), "24");
  EXPECT_EQ(some(Table::kLive, middle, Direction::kBackward), "42");
  EXPECT_EQ(some(Table::kEnded, middle, Direction::kBackward), "3");
  EXPECT_EQ(some(Table::kLive, {.first = id(4), .last = id(2)}, Direction::kForward), "");
}

TEST_F(HeadRowsTest, ShowWhenTheOldestEndedInstanceOfANamespaceStarted) {
  const auto oldest = [&](uint32_t ns) {
    return read_oldest_ended(*tx, NamespaceNumber(ns)).value();
  };
  const auto key = [](uint32_t ns, TimePoint started, char part) {
    return rows::instance_prefix(NamespaceNumber(ns), make_instance_id(started, {})) + part;
  };
  EXPECT_EQ(oldest(1), std::nullopt);
  tx->put(Table::kLive, key(1, kNow, '\0'), "a live head");
  tx->put(Table::kEnded, key(1, kNow, '\1'), "an input without a head");
  EXPECT_EQ(oldest(1), std::nullopt);
  const TimePoint later = kNow + std::chrono::hours(1);
  for (const TimePoint started : {later, later + std::chrono::hours(1)}) {
    tx->put(Table::kEnded, key(1, started, '\0'), "a head");
  }
  EXPECT_EQ(oldest(1), later);
  EXPECT_EQ(oldest(2), std::nullopt) << "another namespace";
  tx->erase(Table::kEnded, key(1, later, '\0'));
  EXPECT_EQ(oldest(1), later + std::chrono::hours(1));
  InstanceId damaged;
  damaged.bytes.fill(0xff);
  tx->put(Table::kEnded, rows::instance_prefix(NamespaceNumber(3), damaged) + '\0', "a head");
  EXPECT_EQ(oldest(3), kLastTime) << "no time after the year 9999";
}

TEST_F(HeadRowsTest, ShowTheHighestTimeInTheIdsOfTheInstancesOfANamespace) {
  const auto newest = [&](uint32_t ns) {
    return read_newest_time(*tx, NamespaceNumber(ns)).value();
  };
  const auto put = [&](Table table, uint32_t ns, TimePoint time) {
    tx->put(table, rows::instance_prefix(NamespaceNumber(ns), make_instance_id(time, {})) + '\0',
            "");
  };
  EXPECT_EQ(newest(1), std::nullopt);
  put(Table::kLive, 1, kNow);
  put(Table::kLive, 2, kNow + std::chrono::hours(9));
  EXPECT_EQ(newest(1), kNow);
  put(Table::kEnded, 1, kNow + std::chrono::hours(1));
  put(Table::kEnded, 1, kNow - std::chrono::hours(1));
  EXPECT_EQ(newest(1), kNow + std::chrono::hours(1));
  put(Table::kLive, 1, kNow + std::chrono::hours(2));
  EXPECT_EQ(newest(1), kNow + std::chrono::hours(2));
}

TEST_F(HeadRowsTest, ShowWhetherATableHasARowOfAnInstance) {
  const auto has = [&](uint8_t last) { return *has_rows(*tx, NamespaceNumber(1), id(last)); };
  const auto put = [&](Table table, uint8_t last, char part) {
    tx->put(table, rows::instance_prefix(NamespaceNumber(1), id(last)) + part, "damaged");
  };
  put(Table::kLive, 1, '\0');
  put(Table::kEnded, 2, '\0');
  put(Table::kLive, 3, '\2');
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(has(2));
  EXPECT_TRUE(has(3)) << "the head is missing";
  EXPECT_FALSE(has(4));
  EXPECT_FALSE(has_rows(*tx, NamespaceNumber(2), id(1)).value()) << "another namespace";
}

}  // namespace
}  // namespace millrace
