// Batch: the order of an event and of due timers that have not fired yet. An event that reaches an
// instance or a group comes after their timers with a deadline up to its timestamp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/batch/batch.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr const char* kWaitsAgain = R"(
id: waits
states:
- id: first
  type: consumeEvent
  timeout: PT1H
  event: {type: go}
  transition: woken
  catch: [{error: direktiv.stateTimeout, transition: second}]
- {id: second, type: consumeEvent, event: {type: go}, transition: late}
- {id: woken, type: noop, transform: 'jq({by: "event"})'}
- {id: late, type: noop, transform: 'jq({by: "event after the timeout"})'}
)";
constexpr const char* kWaitsForAnother = R"(
id: waits
states:
- id: first
  type: consumeEvent
  timeout: PT1H
  event: {type: go}
  catch: [{error: direktiv.stateTimeout, transition: second}]
- {id: second, type: consumeEvent, event: {type: other}}
)";
constexpr const char* kFails = R"(
id: waits
states:
- {id: first, type: consumeEvent, timeout: PT1H, event: {type: go}}
)";
constexpr const char* kPairs = R"(
id: pairs
start: {type: eventsAnd, lifespan: PT1H, events: [{type: one}, {type: two}]}
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";

constexpr const char* kWaitsForTwo = R"(
id: waits-for-two
states:
- id: first
  type: eventXor
  timeout: PT1H
  events:
  - {event: {type: go}, transition: woken}
  - {event: {type: other}, transition: other}
  catch: [{error: direktiv.stateTimeout, transition: late}]
- {id: woken, type: noop, transform: 'jq({by: "event"})'}
- {id: other, type: noop, transform: 'jq({by: "other event"})'}
- {id: late, type: noop, transform: 'jq({by: "timeout"})'}
)";

class TimerOrderTest : public BatchStoreTest {
 protected:
  static constexpr Duration kTimeout = hours(1);

  void make_batch(BatchLimits limits) {
    batch = std::make_unique<Batch>(parts(), limits);
    const Status loaded = batch->load();
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  void end_batch() {
    auto done = batch->finish(later());
    ASSERT_TRUE(done) << done.error().message;
    outcome = *std::move(done);
    commit();
    batches.begin();
  }
  /// Stores a workflow and starts that many instances of it, which have the timeout kTimeout.
  InstanceId start(const char* definition, int instances) {
    auto workflow = load_stored(definition);
    EXPECT_TRUE(workflow) << workflow.error().message;
    const std::string id = (*workflow)->id;
    EXPECT_TRUE(batch->apply(
        now, CommandInput{
                 1, ApplyWorkflow{.ns = "default", .text = definition, .workflow = *workflow}}));
    for (int i = 0; i < instances; ++i) {
      EXPECT_TRUE(batch->apply(
          now, CommandInput{
                   2, StartInstance{.ns = "default", .workflow = id, .input = Json::object()}}));
    }
    end_batch();
    return numbered_id(last_id);
  }
  /// The time at which the event and the timers are applied: all of them are past.
  TimePoint later() const { return now + 2 * kTimeout; }
  void apply_event(const std::string& type, TimePoint stamped, TimePoint at) {
    ++sequence;
    const EventInput input{
        .ns = "default",
        .sequence = sequence,
        .stamped = stamped,
        .event = EncodedEvent({.id = std::to_string(sequence), .source = "/s", .type = type})};
    const Status done = batch->apply(at, input);
    ASSERT_TRUE(done) << done.error().message;
    end_batch();
  }
  void fire_timeout(const InstanceId& id) {
    const TimerInput timer{
        now + kTimeout,
        TimerInput::OfInstance{.ns = ns, .instance = id, .kind = TimerKind::kStateTimeout}};
    const Status done = batch->apply(later(), timer);
    ASSERT_TRUE(done) << done.error().message;
    end_batch();
  }
  /// What became of the instance.
  std::string end_of(const InstanceId& id) {
    const auto instance = read_instance(*tx, ns, id);
    if (!instance || !*instance) return "no instance";
    const Instance& found = **instance;
    if (!has_ended(found.status)) return "in state " + std::to_string(found.state);
    return found.error ? found.error->code : found.data.value().value("by", "complete");
  }
  /// What becomes of an instance that gets an event and then its timer. `limits` may make the event
  /// a fan-out, for which a second instance waits.
  std::string end_after(const char* definition, Duration stamped_after, BatchLimits limits) {
    make_batch(limits);
    const InstanceId id = start(definition, 2);
    apply_event("go", now + kTimeout + stamped_after, later());
    fire_timeout(id);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(go_on_with_all(*batch, later()));
      end_batch();
    }
    return end_of(id);
  }

  std::unique_ptr<Batch> batch;
  BatchOutcome outcome;  ///< the outcome of the last batch
  uint64_t sequence = 0;
};

TEST_F(TimerOrderTest, OfAnEventAndTheTimersOfAnInstanceFollowsTheirTimes) {
  const struct {
    const char* definition;
    Duration stamped_after;  ///< the timeout
    const char* expected;
  } cases[] = {
      {kWaitsAgain, -seconds(1), "event"},
      {kWaitsAgain, seconds(0), "event after the timeout"},
      {kWaitsAgain, seconds(1), "event after the timeout"},
      {kWaitsForAnother, -seconds(1), "complete"},
      {kWaitsForAnother, seconds(1), "in state 1"},
      {kFails, -seconds(1), "complete"},
      {kFails, seconds(1), "direktiv.stateTimeout"},
  };
  for (const auto& [definition, stamped_after, expected] : cases) {
    SCOPED_TRACE(std::string(definition) + std::to_string(stamped_after.count()));
    EXPECT_EQ(end_after(definition, stamped_after, {}), expected);
    EXPECT_EQ(end_after(definition, stamped_after, {.woken = 1}), expected) << "as a fan-out";
  }
}

TEST_F(TimerOrderTest, HoldsBackAnEventUntilAllLifespansThatEndBeforeItHaveEnded) {
  make_batch({});
  start(kPairs, 0);
  constexpr uint64_t kEvents = 600;
  for (uint64_t i = 0; i < kEvents; ++i) {
    ++sequence;
    const EventInput one{
        .ns = "default",
        .sequence = sequence,
        .stamped = now,
        .event = EncodedEvent({.id = std::to_string(sequence), .source = "/s", .type = "one"})};
    ASSERT_TRUE(batch->apply(now, one));
  }
  end_batch();
  apply_event("two", now + kTimeout + seconds(1), later());
  EXPECT_EQ(outcome.counts.groups_expired, 0U);
  EXPECT_EQ(outcome.backlog.undecided, 1U) << "the start";
  uint64_t expired = 0;
  for (int i = 0; i < 5 && outcome.backlog.has_steps; ++i) {
    EXPECT_TRUE(go_on_with_all(*batch, later()));
    end_batch();
    EXPECT_LE(outcome.counts.groups_expired, 250U);
    expired += outcome.counts.groups_expired;
  }
  EXPECT_EQ(expired, kEvents);
  EXPECT_FALSE(outcome.backlog.has_steps);
  EXPECT_THAT(stored_live(), testing::IsEmpty()) << "no group was complete";
  apply_event("one", later(), later());
  EXPECT_EQ(outcome.counts.instances_started, 1U) << "the event has joined its group";
}

TEST_F(TimerOrderTest, OfAFanOutAndTheTimersOfATargetThatAnotherEventReachesFollowsTheirTimes) {
  const struct {
    Duration stamped_after;  ///< the timeout
    const char* expected;
  } cases[] = {{-seconds(1), "event"}, {seconds(0), "timeout"}};
  for (const auto& [stamped_after, expected] : cases) {
    make_batch({.woken = 1});
    start(kFails, 1);
    const InstanceId id = start(kWaitsForTwo, 1);
    apply_event("go", now + kTimeout + stamped_after, later());
    ASSERT_EQ(outcome.backlog.fan_out, 2U);
    apply_event("other", now + kTimeout + seconds(1), later());
    EXPECT_EQ(end_of(id), expected);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(go_on_with_all(*batch, later()));
      end_batch();
    }
  }
}

TEST_F(TimerOrderTest, LetsAnEventWithManyTargetsFanOutWhileDueTimersAreLeft) {
  make_batch({.offered_in_one_unit = 2});
  start(kFails, 3);
  apply_event("go", now + kTimeout - seconds(1), later());
  EXPECT_EQ(outcome.backlog.fan_out, 3U);
  EXPECT_TRUE(go_on_with_all(*batch, later()));
  end_batch();
  EXPECT_THAT(stored_live(), testing::IsEmpty());
  start(kFails, 3);
  batch->note_unfired_timers(false);
  apply_event("go", now + kTimeout - seconds(1), later());
  EXPECT_EQ(outcome.backlog.fan_out, 0U);
  EXPECT_THAT(stored_live(), testing::IsEmpty());
}

TEST_F(TimerOrderTest, IsThatOfTheCallerIfNoDueTimerIsLeft) {
  make_batch({});
  batch->note_unfired_timers(false);
  const InstanceId id = start(kFails, 1);
  apply_event("go", now + kTimeout + seconds(1), later());
  EXPECT_EQ(end_of(id), "complete");
}

TEST_F(TimerOrderTest, OfAnEventAndTheLifespansInItsGroupFollowsTheirTimes) {
  const struct {
    Duration stamped_after;  ///< the end of the lifespan
    uint64_t expired;
  } cases[] = {{-seconds(1), 0}, {seconds(0), 1}, {seconds(1), 1}};
  for (const auto& [stamped_after, expired] : cases) {
    SCOPED_TRACE(stamped_after.count());
    make_batch({});
    start(kPairs, 0);
    apply_event("one", now, now);
    apply_event("two", now + kTimeout + stamped_after, later());
    EXPECT_EQ(outcome.counts.groups_expired, expired);
    EXPECT_EQ(outcome.counts.instances_started, 1 - expired);
    if (expired == 0) continue;
    EXPECT_EQ(rows_of(Table::kGroups), 3U) << "the counts, and two rows of the second event";
    apply_event("one", later(), later());
    EXPECT_EQ(outcome.counts.instances_started, 1U);
  }
}

}  // namespace
}  // namespace millrace
