// WorkApplier: the order in which the inputs of a turn are applied, which inputs wait, and which
// timers an event in the stream may overtake.
#include "orchestrator/loop/work_applier.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/loop/lost_batch.h"
#include "tests/support/mixed_definitions.h"
#include "tests/unit/loop/engine_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kWaitsTenSeconds = R"(
id: waits
states:
- {id: wait, type: consumeEvent, timeout: PT10S, event: {type: go}}
)";
constexpr const char* kWaitsOn = R"(
id: waits-on
states:
- {id: wait, type: consumeEvent, timeout: PT10S, event: {type: on}}
)";
constexpr const char* kSleeps = R"(
id: sleeps
states:
- {id: sleep, type: delay, duration: PT10S}
)";
constexpr const char* kEnds = R"(
id: ends
states:
- {id: done, type: noop}
)";
constexpr const char* kParent = R"(
id: parent
functions:
- {id: f, type: subflow, workflow: ends}
states:
- {id: call, type: action, action: {function: f}}
)";
constexpr const char* kPays = R"(
id: pays
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, startToCloseTimeout: 1h, heartbeatTimeout: 5s, retries: {maximumAttempts: 1}}
)";
constexpr const char* kComputes = R"(
id: computes
states:
- {id: compute, type: noop, transform: 'jq({a: [.b | limit(1; .[])]})'}
)";
constexpr const char* kTicksHourly = R"(
id: ticks
start: {type: scheduled, cron: '0 * * * *'}
states:
- {id: done, type: noop}
)";
class WorkApplierTest : public EngineTest {
 protected:
  StreamOpened opened(int64_t stream = 1) {
    Cursor position = engine().batch.cursor();
    position.stream_created = stream;
    return {.position = position};
  }
  /// Opens the stream and reaches its end.
  void catch_up() { deliver({opened(), CaughtUp{}}); }
  static UnreadableInput unreadable(uint64_t number, bool more) {
    return {.sequence = number,
            .more = more,
            .reason = {"event.malformed", "no event"},
            .message = {.subject = "millrace.events.default.t"}};
  }
  EventInput event_with_more(const std::string& type, bool more) {
    EventInput one = event(type);
    one.more = more;
    return one;
  }
  /// The instances that ended in the last batch, in order.
  std::vector<InstanceId> ended() const {
    std::vector<InstanceId> ids;
    for (const InstanceEnd& one : actions_of<InstanceEnd>(outcome)) ids.push_back(one.instance);
    return ids;
  }
  InstanceId task_of(const InstanceId& id) {
    const std::vector<InstanceId> of = engine().tasks.of(id);
    EXPECT_THAT(of, SizeIs(1));
    return of.empty() ? InstanceId() : of.front();
  }
  /// The result of the evaluation that the last batch requested.
  EvaluatedInput evaluated(const InstanceId& id) const {
    const std::vector<Evaluate> asked = actions_of<Evaluate>(outcome);
    EXPECT_THAT(asked, SizeIs(1));
    if (asked.empty()) return {};
    return {asked[0].ns, id, asked[0].step, {{QueryResult(Json{{"a", 1}})}}};
  }
  /// Publishes an event of an instance; the broker has not acknowledged it.
  void publish_one() {
    run(start_instance("tells"));
    rig().perform(std::move(outcome.actions), true);
    ASSERT_THAT(std::exchange(rig().publisher.sent, {}), SizeIs(1));
  }
  static Work with_ack(uint64_t number, uint64_t stream_sequence) {
    Work work;
    work.acks.push_back({.number = number, .ack = PublishAck{.sequence = stream_sequence}});
    return work;
  }
};

TEST_F(WorkApplierTest, AppliesTheKindsOfInputInTheirFixedOrder) {
  restart({.batch = {.messages = 1}});
  for (const char* const text :
       {kWaitsTenSeconds, kSleeps, kEnds, kParent, kPays, kComputes, kTicksHourly}) {
    run(apply_workflow(text));
  }
  catch_up();
  clock.advance(hours(1));
  run(Work());
  const InstanceId ticked = numbered_id(last_id);
  const InstanceId sleeps = start("sleeps");
  const InstanceId waits = start("waits");
  const InstanceId pays = start("pays");
  const InstanceId computes = start("computes");
  const EvaluatedInput result = evaluated(computes);
  const InstanceId parent = start("parent");
  ASSERT_TRUE(backlog.has_steps) << "the child has ended; its result is queued for the caller";
  clock.advance(seconds(10));

  Work work;
  work.continues.push_back({default_ns(), ticked});
  work.deliveries.emplace_back(event("go", clock.now() - seconds(1)));
  work.commands.push_back(command(start_instance("ends")));
  work.evaluated.push_back(result);
  work.tasks.push_back({{.task = task_of(pays), .what = TaskEnded{.result = "1"}}});
  run(std::move(work));
  EXPECT_THAT(ended(),
              ElementsAre(parent, ticked, waits, sleeps, numbered_id(last_id), computes, pays));
}

TEST_F(WorkApplierTest, LeavesTheEventsAfterTheLimitOfWokenInstancesToTheNextBatch) {
  restart({.batch = {.woken = 1}});
  run(apply_workflow(kWaitsTenSeconds));
  start("waits");
  catch_up();
  Work work;
  Work leftover;
  for (const char* const type : {"other", "go", "other", "go"}) {
    work.deliveries.emplace_back(event(type));
  }
  leftover.deliveries.emplace_back(event("last"));
  const auto applied = rig().applier.apply(work, leftover, turn());
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(engine().batch.cursor().sequence, 2U)
      << "the event that woke an instance ends the batch";
  EXPECT_THAT(work.deliveries, SizeIs(2))
      << "`work` keeps the applied events, because the batch may be lost";
  std::vector<uint64_t> sequences;
  for (const Delivery& one : leftover.deliveries) {
    sequences.push_back(std::get<EventInput>(one).sequence);
  }
  EXPECT_THAT(sequences, ElementsAre(3U, 4U, 5U))
      << "the events are in order, before the event that was already left";
}

TEST_F(WorkApplierTest, LeavesInstanceMessagesAndTicksToLaterBatchesUnderBackpressure) {
  restart({.batch = {.messages = 1}});
  for (const char* const text : {kEnds, kParent, kTicksHourly}) run(apply_workflow(text));
  catch_up();
  const InstanceId parent = start("parent");
  clock.advance(hours(3));
  TurnState busy = turn();
  busy.takes_new_work = false;
  for (int i = 0; i < 2; ++i) {
    run(Work(), busy);
    EXPECT_THAT(ended(), IsEmpty()) << "the instance messages wait";
    EXPECT_EQ(outcome.counts.instances_started, 0U) << "the ticks wait";
  }
  run(Work());
  EXPECT_THAT(ended(), ElementsAre(parent));
  EXPECT_EQ(outcome.counts.instances_started, 1U) << "one start replaces the missed ticks";
  run(Work());
  EXPECT_EQ(outcome.counts.instances_started, 0U);
}

TEST_F(WorkApplierTest, ContinuesThePurgeOfADeletedNamespace) {
  run(CreateNamespace{.name = "shop"});
  run(PutVariable{.place = {.ns = "shop"}, .key = "k", .value = {.bytes = "1"}});
  run(DeleteNamespace{.name = "shop"});
  ASSERT_TRUE(backlog.has_purges);
  TurnState none = turn();
  none.backlog.has_purges = false;
  run(Work(), none);
  EXPECT_EQ(rows_of(Table::kVariables), 1U);
  run(Work());
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
}

TEST_F(WorkApplierTest, DeletesInstancesThatTheSettingsNoLongerKeep) {
  run(CreateNamespace{.name = "default",
                      .settings = Json::parse(R"({"retention": {"ended": {"age": "1m"}}})")});
  run(apply_workflow("{id: done, states: [{id: a, type: noop}]}"));
  start("done");
  ASSERT_TRUE(backlog.retention.next_pass);
  clock.advance(*backlog.retention.next_pass - clock.now() - Duration(1));
  run(Work());
  EXPECT_EQ(outcome.counts.deleted[static_cast<size_t>(DeletionReason::kRetention)], 0U);
  clock.advance(Duration(1));
  run(Work());
  EXPECT_EQ(outcome.counts.deleted[static_cast<size_t>(DeletionReason::kRetention)], 1U);
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
}

TEST_F(WorkApplierTest, AppliesAnEventBeforeATimeoutWhoseDeadlineIsLater) {
  run(apply_workflow(kWaitsTenSeconds));
  const struct {
    seconds stamped;
    const char* status;
  } cases[] = {{seconds(9), "complete"}, {seconds(10), "failed"}, {seconds(99), "failed"}};
  for (const auto& [stamped, status] : cases) {
    const InstanceId id = start("waits");
    const TimePoint began = clock.now();
    catch_up();
    clock.advance(seconds(20));
    deliver({event("go", began + stamped)});
    EXPECT_EQ(status_of(id), status) << stamped.count();
  }
}

TEST_F(WorkApplierTest, HoldsTheTimeoutOfAWaitWhileTheStreamMayHaveAnEarlierEvent) {
  run(apply_workflow(kWaitsTenSeconds));
  run(apply_workflow(kSleeps));
  const struct {
    const char* what;
    std::vector<Delivery> deliveries;
    bool held;
  } cases[] = {
      {"the stream was not opened", {}, true},
      {"the stream was opened", {opened()}, true},
      {"the stream was read to its end", {opened(), CaughtUp{}}, false},
      {"the stream was lost", {opened(), CaughtUp{}, StreamLost{}}, true},
      {"more messages follow an event", {opened(), event_with_more("other", true)}, true},
      {"an event is the last message of the stream",
       {opened(), event_with_more("other", false)},
       false},
      {"more messages follow an unreadable message", {opened(), unreadable(90, true)}, true},
      {"an unreadable message is the last of the stream",
       {opened(), unreadable(91, false)},
       false}};
  for (const auto& [what, deliveries, held] : cases) {
    restart();
    const InstanceId waits = start("waits");
    const InstanceId sleeps = start("sleeps");
    clock.advance(seconds(10));
    deliver(deliveries);
    EXPECT_EQ(status_of(waits), held ? "waiting" : "failed") << what;
    EXPECT_EQ(status_of(sleeps), "complete") << what << ": a delay does not depend on events";
    deliver({CaughtUp{}});
    EXPECT_EQ(status_of(waits), "failed") << what;
  }
}

TEST_F(WorkApplierTest, HoldsTheTimeoutOfAWaitWhileEventsAreLeftToTheNextBatch) {
  restart({.batch = {.woken = 1}});
  run(apply_workflow(kWaitsTenSeconds));
  run(apply_workflow(kWaitsOn));
  catch_up();
  const InstanceId due = start("waits-on");
  clock.advance(seconds(9));
  const InstanceId woken = start("waits");
  clock.advance(seconds(2));
  const TimePoint before_it_was_due = clock.now() - seconds(3);
  deliver({event("go", before_it_was_due), event("on", before_it_was_due)});
  EXPECT_EQ(status_of(woken), "complete");
  EXPECT_EQ(status_of(due), "waiting");
  ASSERT_THAT(rest.deliveries, SizeIs(1));
  deliver(std::vector<Delivery>(rest.deliveries));
  EXPECT_EQ(status_of(due), "complete") << "the event came before the timeout";
}

TEST_F(WorkApplierTest, HoldsTheTimeoutOfAWaitWhileTheIntakeHasEvents) {
  run(apply_workflow(kWaitsTenSeconds));
  catch_up();
  const InstanceId id = start("waits");
  clock.advance(seconds(20));
  ASSERT_TRUE(rig().intake.deliver({event("other")}));
  run(Work());
  EXPECT_EQ(status_of(id), "waiting");
  Work work;
  rig().intake.gather(work);
  run(std::move(work));
  EXPECT_EQ(status_of(id), "failed");
}

TEST_F(WorkApplierTest, ReportsThatEventsAreReadWhileTheStreamIsOpen) {
  const auto reads_after = [&](Delivery delivery) {
    deliver({std::move(delivery)});
    return rig().applier.reads_events();
  };
  EXPECT_FALSE(rig().applier.reads_events());
  EXPECT_FALSE(reads_after(CaughtUp{}));
  EXPECT_FALSE(reads_after(event("other")));
  EXPECT_TRUE(reads_after(opened()));
  EXPECT_TRUE(reads_after(CaughtUp{}));
  EXPECT_TRUE(reads_after(unreadable(90, true)));
  EXPECT_FALSE(reads_after(StreamLost{}));
  EXPECT_FALSE(reads_after(CaughtUp{}));
}

TEST_F(WorkApplierTest, SendsAPoisonedEventToTheDeadLetterQueue) {
  run(apply_workflow(kWaitsTenSeconds));
  const InstanceId id = start("waits");
  catch_up();
  rig().applier.set_poison(1);
  deliver({opened()});  // the same stream
  deliver({event("go")});
  EXPECT_EQ(outcome.counts.dead_letters, 1U);
  EXPECT_EQ(status_of(id), "waiting");
  const auto messages = actions_of<NumberedMessage>(outcome);
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].record.message.subject, "millrace.dlq.default.millrace%2Epoison");
  EXPECT_EQ(engine().batch.cursor().sequence, 1U);
  deliver({event("go")});
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(WorkApplierTest, ProcessesAnEventWithThePoisonedSequenceOfAnotherStream) {
  run(apply_workflow(kWaitsTenSeconds));
  const InstanceId id = start("waits");
  catch_up();
  rig().applier.set_poison(1);
  deliver({opened(2)});
  deliver({event("go")});
  EXPECT_EQ(outcome.counts.dead_letters, 0U);
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(WorkApplierTest, KeepsAnAckedMessageUnlessTheStoreIsFull) {
  run(apply_workflow(kGeneratesEvents));
  catch_up();
  for (const bool is_full : {false, true}) {
    publish_one();
    TurnState state = turn();
    state.store_is_full = is_full;
    run(with_ack(is_full ? 2 : 1, 9), state);
    EXPECT_EQ(engine().outbox.bytes(), 0U);
    EXPECT_EQ(rows_of(Table::kOutbox), 1U)
        << "the first acked message is kept, the second is erased";
    EXPECT_EQ(rows_of(Table::kSent), 1U);
  }
}

TEST_F(WorkApplierTest, AppliesAcknowledgementsBeforeStreamChanges) {
  run(apply_workflow(kGeneratesEvents));
  catch_up();
  publish_one();
  Work work = with_ack(1, 9);
  StreamOpened again = opened();
  again.intact_to = 5;
  work.stream_changes.push_back({.opened = again, .openings = 1});
  work.stream_changes.push_back({.openings = 1});
  run(std::move(work));
  EXPECT_TRUE(engine().outbox.has_due()) << "the lost message is sent again";
  EXPECT_EQ(rows_of(Table::kOutbox), 1U);
}

TEST_F(WorkApplierTest, SendsAnAbandonedWebhookDeliveryToTheDeadLetterQueue) {
  const Json settings{{"webhooks", {{{"url", "http://hook"}}}}};
  run(CreateNamespace{.name = "default", .settings = settings});
  run(apply_workflow(kWaitsTenSeconds));
  start("waits");
  ASSERT_TRUE(engine().webhook_outbox.pump(engine().tx, clock.now()));
  ASSERT_THAT(rig().sender.sent, SizeIs(1));
  Work work;
  work.webhook_results.push_back(
      {1, WebhookFailure{.error = {"webhook.status", "gone"}, .is_final = true}});
  run(std::move(work));
  EXPECT_EQ(outcome.counts.dead_letters, 1U);
  EXPECT_EQ(rows_of(Table::kWebhooks), 0U);
}

TEST_F(WorkApplierTest, EndsATaskThatMissedItsHeartbeat) {
  run(apply_workflow(kPays));
  const InstanceId id = start("pays");
  const auto report = [&](decltype(TaskReport::what) what) {
    Work work;
    work.tasks.push_back({{.task = task_of(id), .what = std::move(what)}});
    return work;
  };
  run(report(TaskStarted()));
  clock.advance(seconds(5));
  run(report(TaskHeartbeat()));
  EXPECT_EQ(status_of(id), "waiting");
  clock.advance(seconds(5));
  run(Work());
  EXPECT_EQ(status_of(id), "failed");
}

TEST_F(WorkApplierTest, AppliesOnlyInputsThatFreeSpaceWhenItMakesRoom) {
  for (const char* const text : {kWaitsTenSeconds, kSleeps, kGeneratesEvents})
    run(apply_workflow(text));
  catch_up();
  publish_one();
  run(with_ack(1, 8));
  publish_one();
  const InstanceId waits = start("waits");
  const InstanceId sleeps = start("sleeps");
  run(CreateNamespace{.name = "shop"});
  run(PutVariable{.place = {.ns = "shop"}, .key = "k", .value = {.bytes = "1"}});
  run(DeleteNamespace{.name = "shop"});
  ASSERT_EQ(rows_of(Table::kVariables), 1U);
  clock.advance(seconds(20));
  Work work = with_ack(2, 9);
  work.deliveries.emplace_back(event("go", clock.now() - seconds(15)));
  work.commands.push_back(command(CancelInstance{.ns = "default", .instance = sleeps}));
  auto made_room = rig().applier.make_room(work, clock.now());
  ASSERT_TRUE(made_room) << made_room.error().message;
  outcome = *std::move(made_room);
  ASSERT_TRUE(commit_batch());
  EXPECT_THAT(actions_of<Answer>(outcome), SizeIs(1));
  EXPECT_EQ(status_of(sleeps), "cancelled") << "the command was applied, the due timer was not";
  EXPECT_EQ(status_of(waits), "waiting");
  EXPECT_EQ(rows_of(Table::kOutbox), 0U) << "a full store keeps no acked message";
  EXPECT_EQ(rows_of(Table::kSent), 0U);
  EXPECT_EQ(rows_of(Table::kVariables), 0U) << "the purge continued";
}

TEST_F(WorkApplierTest, AppliesEachInputOnceDespiteFailedReads) {
  for (const char* const text : {kWaitsTenSeconds, kSleeps, kPays, kComputes, kEnds})
    run(apply_workflow(text));
  catch_up();
  const InstanceId sleeps = start("sleeps");
  const InstanceId waits = start("waits");
  const InstanceId pays = start("pays");
  const InstanceId computes = start("computes");
  Work work;
  work.evaluated.push_back(evaluated(computes));
  work.tasks.push_back({{.task = task_of(pays), .what = TaskEnded{.result = "1"}}});
  work.deliveries.emplace_back(event("go"));
  work.commands.push_back(command(start_instance("ends")));
  clock.advance(seconds(10));
  const auto before = rows();
  const uint8_t ids_before = last_id;
  const uint64_t failed = fail_each_read([&] { return try_run(work, turn()); },
                                         [&] {
                                           const Status undone = undo(engine());
                                           ASSERT_TRUE(undone) << undone.error().message;
                                           EXPECT_EQ(rows(), before);
                                           last_id = ids_before;
                                         });
  EXPECT_GE(failed, 4U);
  EXPECT_THAT(ended(), ElementsAre(waits, sleeps, numbered_id(last_id), computes, pays));
  EXPECT_TRUE(actions_of<Answer>(outcome).at(0).result);
}

TEST_F(WorkApplierTest, AppliesInputsThatFreeSpaceOnceDespiteFailedReads) {
  run(apply_workflow(kWaitsTenSeconds));
  run(apply_workflow(kGeneratesEvents));
  catch_up();
  publish_one();
  const InstanceId id = start("waits");
  Work work = with_ack(1, 9);
  work.commands.push_back(command(CancelInstance{.ns = "default", .instance = id}));
  const auto before = rows();
  const auto make_room = [&]() -> Status {
    outcome = TRY(rig().applier.make_room(work, clock.now()));
    return commit_batch();
  };
  EXPECT_GE(fail_each_read(make_room,
                           [&] {
                             const Status undone = undo(engine());
                             ASSERT_TRUE(undone) << undone.error().message;
                             EXPECT_EQ(rows(), before);
                           }),
            1U);
  EXPECT_EQ(status_of(id), "cancelled");
  EXPECT_EQ(rows_of(Table::kOutbox), 0U);
}

}  // namespace
}  // namespace millrace
