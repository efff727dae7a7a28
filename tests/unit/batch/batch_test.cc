// Batch: what each kind of input changes, what is committed with it, and that the inputs of a lost
// batch have the same effect when they are applied again.
#include "orchestrator/batch/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"
#include "cloudevents/json_format.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kStartedWaitsAnHour = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}}
)";

constexpr const char* kCharges = R"(
id: pays
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, action: {function: charge}}
)";

constexpr const char* kGeneratesNowAndLater = R"(
id: tells
states:
- {id: tell, type: generateEvent, event: {type: told, source: /t, data: 1}, transition: later}
- {id: later, type: generateEvent, delay: PT10S, event: {type: told, source: /t, data: 2}}
)";

/// An input of a batch and the time at which it is applied.
struct Input {
  TimePoint time;
  std::variant<EventInput, UnreadableInput, TimerInput, EvaluatedInput, TaskInput,
               MissedHeartbeatInput, ContinueInput, CommandInput>
      what;
};

class BatchTest : public BatchStoreTest {
 protected:
  BatchTest() { make_batch({}); }

  void make_batch(BatchLimits limits) {
    batch = std::make_unique<Batch>(parts(), limits);
    const Status loaded = batch->load();
    ASSERT_TRUE(loaded) << loaded.error().message;
  }

  // Inputs.

  Input event(const std::string& type, const std::string& id) {
    return {now, EventInput{.ns = "default",
                            .sequence = ++sequence,
                            .stamped = now,
                            .event = EncodedEvent({.id = id, .source = "/s", .type = type})}};
  }
  Input command(Command command) { return {now, CommandInput{++request, std::move(command)}}; }
  Input reported(const InstanceId& task, decltype(TaskReport::what) what,
                 std::optional<std::string> ns_name = std::nullopt) {
    return {now, TaskInput{{.task = task, .what = std::move(what), .ns = ns_name}}};
  }
  static Command apply_workflow(const std::string& text) {
    auto workflow = load_stored(text);
    EXPECT_TRUE(workflow) << workflow.error().message;
    return ApplyWorkflow{.ns = "default", .text = text, .workflow = *workflow};
  }

  // Batches.

  Status apply(const Input& input) {
    return std::visit([&](const auto& what) { return batch->apply(input.time, what); }, input.what);
  }
  Status try_batch(const std::vector<Input>& inputs) {
    for (const Input& input : inputs) TRY(apply(input));
    outcome = TRY(batch->finish(now));
    TRY(tx->commit());
    batches.begin();
    return {};
  }
  BatchOutcome& run(const std::vector<Input>& inputs) {
    const Status done = try_batch(inputs);
    EXPECT_TRUE(done) << done.error().message;
    return outcome;
  }
  BatchOutcome& run(const Input& input) { return run(std::vector{input}); }
  void lose_batch() {
    tx->drop();
    tasks.undo();
    Status undone = read_caches();
    if (undone) undone = batch->undo();
    ASSERT_TRUE(undone) << undone.error().message;
    batches.begin();
    last_id = id_before_;
  }
  void run_command(Command asked) {
    run(command(std::move(asked)));
    const auto answer = this->answer();
    EXPECT_TRUE(answer) << answer.error().message;
  }
  /// The answer to the only command of the last batch.
  Result<Json> answer() {
    Result<Json> given = fail("test", "there is no answer");
    for (const Answer& one : actions_of<Answer>(outcome)) given = one.result;
    return given;
  }
  InstanceId start(const std::string& workflow) {
    run_command(StartInstance{.ns = "default", .workflow = workflow, .input = Json::object()});
    return numbered_id(last_id);
  }
  /// The id of the only live instance.
  InstanceId only_live() {
    const std::vector<Instance> heads = stored_live();
    EXPECT_THAT(heads, SizeIs(1));
    return heads.empty() ? InstanceId() : heads.front().id;
  }
  /// Applies a batch of these inputs with each of its reads failing in turn. After each failure the
  /// whole batch is lost. The last attempt succeeds. Returns the number of reads that failed.
  uint64_t survive_read_faults(const std::vector<Input>& inputs) {
    const auto before = rows();
    const Cursor at = batch->cursor();
    id_before_ = last_id;
    return fail_each_read([&] { return try_batch(inputs); },
                          [&] {
                            lose_batch();
                            EXPECT_EQ(rows(), before);
                            EXPECT_EQ(batch->cursor(), at);
                          });
  }
  std::string status_of(const InstanceId& id) {
    const auto instance = read_instance(*tx, ns, id);
    if (!instance || !*instance) return "none";
    return std::string(to_string((*instance)->status));
  }

  std::unique_ptr<Batch> batch;
  BatchOutcome outcome;  ///< the outcome of the last batch
  uint64_t sequence = 0;
  uint64_t request = 0;

 private:
  uint8_t id_before_ = 0;  ///< the last id that was assigned before the batch
};

// Events.

TEST_F(BatchTest, StartsAnInstanceWithAMatchingEvent) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  run(event("begin", "1"));
  EXPECT_EQ(outcome.counts.events, 1U);
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  const InstanceId id = only_live();
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_TRUE(waiting.listens(id));
  EXPECT_EQ(live.count(catalog.find_workflow(ns, "waits")->number), 1U);
  EXPECT_EQ(batch->cursor().sequence, 1U);
  EXPECT_EQ(read_cursor(*tx)->sequence, 1U);
}

TEST_F(BatchTest, WakesTheWaitingInstancesAndStartsNoInstanceForADuplicate) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  run(event("begin", "1"));
  const InstanceId first = only_live();
  run(event("begin", "2"));
  run(event("go", "3"));
  EXPECT_EQ(outcome.counts.instances_woken, 2U);
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), SizeIs(2));
  EXPECT_EQ(status_of(first), "complete");
  run(event("begin", "1"));
  EXPECT_EQ(outcome.counts.events_duplicate, 1U);
  EXPECT_EQ(outcome.counts.instances_started, 0U);
  EXPECT_EQ(live.count(catalog.find_workflow(ns, "waits")->number), 0U);
}

TEST_F(BatchTest, DoesNotWriteTheCursorForEachUnmatchedEvent) {
  run(event("begin", "1"));
  EXPECT_EQ(outcome.counts.events_unmatched, 1U);
  EXPECT_EQ(outcome.counts.traffic.at(ns).applied, 1U);
  EXPECT_EQ(outcome.counts.traffic.at(ns).unmatched, 1U);
  EXPECT_EQ(batch->cursor().sequence, 1U);
  EXPECT_EQ(read_cursor(*tx)->sequence, 0U)
      << "the stored cursor stays: an unmatched event may be read again";
  run_command(apply_workflow(kStartedWaitsAnHour));
  EXPECT_EQ(read_cursor(*tx)->sequence, 1U) << "the next commit stores the cursor";
  for (int i = 0; i < 100; ++i) run(event("other", "1"));
  EXPECT_GT(read_cursor(*tx)->sequence, 30U) << "the cursor is stored after some unmatched events";
}

TEST_F(BatchTest, SendsUnusableMessagesToTheDeadLetterQueue) {
  Input lost = event("begin", "1");
  std::get<EventInput>(lost.what).ns = "nowhere";
  run({lost,
       {now, UnreadableInput{.sequence = ++sequence,
                             .stamped = now,
                             .reason = {"event.missing_attribute", "it has no id"},
                             .message = {.subject = "millrace.events.default.t"}}}});
  EXPECT_EQ(outcome.counts.dead_letters, 2U);
  EXPECT_EQ(outcome.counts.events_unreadable, 1U);
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.dlq.nowhere.namespace%2Enot_found",
                                             "millrace.dlq.default.event%2Emissing_attribute"));
  EXPECT_THAT(actions_of<NumberedMessage>(outcome), SizeIs(2));
  EXPECT_EQ(batch->cursor().sequence, 2U);
}

TEST_F(BatchTest, DeliversAFanOutInSeveralBatches) {
  make_batch({.woken = 3, .woken_later = 2});
  run_command(apply_workflow(kStartedWaitsAnHour));
  for (int i = 0; i < 5; ++i) run(event("begin", std::to_string(i)));
  run(event("go", "go"));
  EXPECT_TRUE(outcome.backlog.has_steps);
  EXPECT_EQ(outcome.backlog.fan_out, 5U);
  EXPECT_EQ(outcome.counts.instances_woken, 0U);
  size_t woken = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(go_on_with_all(*batch, now));
    run(std::vector<Input>());
    woken += outcome.counts.instances_woken;
  }
  EXPECT_EQ(woken, 5U);
  EXPECT_FALSE(outcome.backlog.has_steps);
  EXPECT_THAT(stored_live(), IsEmpty());
}

TEST_F(BatchTest, IsFullOnceItHasWokenAsManyInstancesAsOneBatchMayWake) {
  make_batch({.woken = 2});
  run_command(apply_workflow(kStartedWaitsAnHour));
  run({event("begin", "1"), event("begin", "2")});
  EXPECT_FALSE(batch->is_full());
  ASSERT_TRUE(apply(event("go", "3")));
  EXPECT_TRUE(batch->is_full());
  run(std::vector<Input>());
  EXPECT_FALSE(batch->is_full());
}

TEST_F(BatchTest, ReplacesItsCursorByThePositionAtWhichTheEventStreamWasOpened) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  const Cursor elsewhere{.stream_created = 9, .sequence = 40, .stamped = now};
  ASSERT_TRUE(batch->stream_opened(elsewhere));
  run(event("begin", "1"));
  EXPECT_EQ(read_cursor(*tx)->stream_created, 9);
  ASSERT_TRUE(batch->stream_opened(elsewhere));
  EXPECT_EQ(batch->cursor(), elsewhere) << "the opened stream may be at an earlier sequence";
}

// Timers.

TEST_F(BatchTest, FiresOnlyATimerThatTheInstanceHas) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  run(event("begin", "1"));
  const InstanceId id = only_live();
  const auto timers = due(now + hours(1));
  ASSERT_THAT(timers, SizeIs(1));
  EXPECT_TRUE(*batch->may_be_overtaken(now, timers[0]))
      << "the stream may still have an event that wakes the instance";
  Input stale{now, timers[0]};
  std::get<TimerInput>(stale.what).deadline += seconds(1);
  run(stale);
  EXPECT_EQ(status_of(id), "waiting");
  now += hours(1);
  run({now, timers[0]});
  EXPECT_EQ(outcome.counts.timers_fired, 1U);
  EXPECT_EQ(status_of(id), "failed");
  run({now, timers[0]});
  EXPECT_EQ(status_of(id), "failed") << "the instance has ended";
}

TEST_F(BatchTest, PublishesADelayedEventWhenItIsDue) {
  run_command(apply_workflow(kGeneratesNowAndLater));
  start("tells");
  EXPECT_THAT(outbox_subjects(), SizeIs(1));
  EXPECT_EQ(rows_of(Table::kDelayed), 1U);
  const auto timers = due(now + seconds(10));
  ASSERT_THAT(timers, SizeIs(1));
  EXPECT_FALSE(*batch->may_be_overtaken(now, timers[0]));
  const Input timer{now, timers[0]};
  run(timer);
  EXPECT_EQ(outcome.counts.published, 1U);
  EXPECT_THAT(outbox_subjects(), SizeIs(2));
  EXPECT_EQ(rows_of(Table::kDelayed), 0U);
  run(timer);
  EXPECT_THAT(outbox_subjects(), SizeIs(2)) << "the delayed event was published";
}

// Tasks.

TEST_F(BatchTest, EndsATaskWithItsResultAndItsVariables) {
  run_command(apply_workflow(kCharges));
  const InstanceId id = start("pays");
  ASSERT_THAT(actions_of<StartTask>(outcome), SizeIs(1));
  const InstanceId task = actions_of<StartTask>(outcome)[0].task;
  const TaskEnded ended{
      .result = R"({"paid": true})",
      .variables = {
          {.scope = VariableScope::kNamespace, .key = "receipt", .value = {.bytes = "7"}}}};
  run(reported(task, ended, "elsewhere"));
  EXPECT_EQ(outcome.counts.answers_stray, 1U);
  EXPECT_EQ(status_of(id), "waiting");
  run(reported(task, ended, "default"));
  EXPECT_THAT(actions_of<EndedTask>(outcome), ElementsAre(testing::Field(&EndedTask::task, task)));
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_THAT(read_instance(*tx, ns, id).value()->data.text(), HasSubstr(R"("paid":true)"));
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
  EXPECT_EQ(rows_of(Table::kVariables), 1U);
  run(reported(task, ended));
  EXPECT_THAT(actions_of<EndedTask>(outcome), IsEmpty()) << "the task has ended";
}

TEST_F(BatchTest, MeasuresHowLongATaskWaitedForItsWorker) {
  run_command(apply_workflow(kCharges));
  start("pays");
  const StartTask task = actions_of<StartTask>(outcome).at(0);
  tasks.hand_out(task);
  clock.advance(seconds(2));
  run(reported(task.task, TaskStarted()));
  EXPECT_THAT(outcome.counts.started_after, ElementsAre(Duration(seconds(2))));
  EXPECT_TRUE(started.contains(task.task));
  run(reported(numbered_id(99), TaskStarted()));
  EXPECT_THAT(outcome.counts.started_after, IsEmpty());
}

// Commands.

TEST_F(BatchTest, ContinuesAfterARefusedCommand) {
  const uint64_t first = request + 1;
  run({command(StartInstance{.ns = "default", .workflow = "none", .input = Json::object()}),
       command(apply_workflow(kStartedWaitsAnHour))});
  std::map<uint64_t, std::string> answers;
  for (const Answer& one : actions_of<Answer>(outcome)) {
    answers[one.request] = one.result ? "ok" : one.result.error().code;
  }
  EXPECT_EQ(answers[first], "workflow.not_found");
  EXPECT_EQ(answers[first + 1], "ok");
}

TEST_F(BatchTest, TakesTheFirstStepOfAnInstanceThatAnEarlierBatchStarted) {
  run_command(apply_workflow(kTicks));
  now += hours(1);
  const auto timers = due(now);
  ASSERT_THAT(timers, SizeIs(1));
  run({now, timers[0]});
  ASSERT_THAT(actions_of<ContinueInput>(outcome), SizeIs(1));
  EXPECT_EQ(status_of(numbered_id(1)), "pending")
      << "a tick leaves the first step to another batch";
  run({now, actions_of<ContinueInput>(outcome)[0]});
  EXPECT_EQ(status_of(numbered_id(1)), "complete");
  run({now, ContinueInput{ns, numbered_id(99)}});
  EXPECT_EQ(outcome.counts.instances_damaged, 0U) << "an unknown id is ignored";
}

// Poison and abandoned webhooks.

TEST_F(BatchTest, FailsAPoisonedInstance) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  run(event("begin", "1"));
  EXPECT_FALSE(*batch->abandon_instance(now, ns, numbered_id(99)));
  const InstanceId id = only_live();
  EXPECT_TRUE(*batch->abandon_instance(now, ns, id));
  run(std::vector<Input>());
  const auto instance = read_instance(*tx, ns, id).value();
  EXPECT_EQ(instance->status, InstanceStatus::kFailed);
  EXPECT_EQ(instance->error->code, kPoison);
}

TEST_F(BatchTest, SendsTheEventOfAnAbandonedWebhookDeliveryToTheDeadLetterQueue) {
  WebhookRecord webhook{.ns = ns,
                        .url = "http://ann:secret@receiver/secret?key=secret",
                        .at = now,
                        .attempt = 3,
                        .event = encode_json_event({.id = "1", .source = "/s", .type = "t"})};
  ASSERT_TRUE(batch->give_up_webhook(webhook, {"webhook.status", "it answered 503"}));
  run(std::vector<Input>());
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.dlq.default.webhook%2Estatus"));
  const auto letter = read_outbox(*tx, 1).value();
  ASSERT_TRUE(letter);
  const std::string* const detail = find_header(letter->message.headers, "Millrace-Detail");
  ASSERT_NE(detail, nullptr);
  EXPECT_EQ(*detail, "http://receiver did not accept the event in 3 attempts: it answered 503");
  webhook.event = "no event";
  ASSERT_TRUE(batch->give_up_webhook(webhook, {"webhook.status", ""}));
  EXPECT_EQ(damages.count(), 1U);
}

// Lost batches.

TEST_F(BatchTest, LeavesNoChangeAfterItIsLost) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  run(event("begin", "1"));
  const auto before = rows();
  const Cursor at = batch->cursor();
  ASSERT_TRUE(apply(event("begin", "2")));
  ASSERT_TRUE(apply(event("go", "3")));
  lose_batch();
  EXPECT_EQ(batch->cursor(), at);
  run(std::vector<Input>());
  EXPECT_EQ(outcome.counts.events, 0U);
  EXPECT_THAT(outcome.actions, IsEmpty());
  EXPECT_EQ(rows(), before);
}

TEST_F(BatchTest, HasTheSameEffectWhenItsInputsAreAppliedAgainAfterAFailedCommit) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  const std::vector<Input> inputs{event("begin", "1"), event("begin", "2")};
  const auto before = rows();
  fails_commit = true;
  const Status done = try_batch(inputs);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "store.io");
  fails_commit = false;
  lose_batch();
  EXPECT_EQ(rows(), before);
  run(inputs);
  EXPECT_THAT(stored_live(), SizeIs(2));
}

TEST_F(BatchTest, AppliesEventsOnceDespiteFailedReads) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  EXPECT_GE(survive_read_faults({event("begin", "1"), event("begin", "2")}), 1U);
  EXPECT_THAT(stored_live(), SizeIs(2));
  EXPECT_GE(survive_read_faults({event("go", "3")}), 2U);
  EXPECT_THAT(stored_live(), IsEmpty());
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), SizeIs(2));
}

TEST_F(BatchTest, FiresTimersOnceDespiteFailedReads) {
  run_command(apply_workflow(kStartedWaitsAnHour));
  run_command(apply_workflow(kGeneratesNowAndLater));
  run(event("begin", "1"));
  const InstanceId id = only_live();
  start("tells");
  now += hours(1);
  const auto timers = due(now);
  ASSERT_THAT(timers, SizeIs(2));
  EXPECT_GE(survive_read_faults({{now, timers[0]}, {now, timers[1]}}), 2U);
  EXPECT_EQ(outcome.counts.timers_fired, 2U);
  EXPECT_EQ(status_of(id), "failed");
  EXPECT_EQ(rows_of(Table::kDelayed), 0U);
}

TEST_F(BatchTest, AppliesReportsOnceDespiteFailedReads) {
  run_command(apply_workflow(kCharges));
  const InstanceId id = start("pays");
  const InstanceId task = actions_of<StartTask>(outcome).at(0).task;
  EXPECT_GE(survive_read_faults(
                {reported(task, TaskStarted()), reported(task, TaskEnded{.result = "7"})}),
            1U);
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
}

TEST_F(BatchTest, AppliesCommandsOnceDespiteFailedReads) {
  EXPECT_GE(survive_read_faults({command(apply_workflow(kCharges))}), 1U);
  EXPECT_TRUE(answer());
  EXPECT_GE(survive_read_faults({command(StartInstance{.ns = "default",
                                                       .workflow = "pays",
                                                       .input = Json::object(),
                                                       .idempotency_key = "key"})}),
            1U);
  EXPECT_TRUE(answer());
  const InstanceId id = stored_live().at(0).id;
  EXPECT_GE(
      survive_read_faults({command(CancelInstance{.ns = "default", .instance = id, .now = true})}),
      1U);
  EXPECT_EQ(status_of(id), "cancelled");
  EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(1));
}

TEST_F(BatchTest, LoadsCompletelyDespiteFailedReads) {
  make_batch({.woken = 1, .woken_later = 1});
  run_command(apply_workflow(kStartedWaitsAnHour));
  run({event("begin", "1"), event("begin", "2")});
  run(event("go", "3"));
  ASSERT_TRUE(outcome.backlog.has_steps);
  load_caches();
  batch = std::make_unique<Batch>(parts(), BatchLimits());
  EXPECT_GE(fail_each_read([&] { return batch->load(); }, [&] { load_caches(); }), 2U);
  EXPECT_EQ(batch->cursor().sequence, 3U);
  ASSERT_TRUE(go_on_with_all(*batch, now));
  run(std::vector<Input>());
  EXPECT_THAT(stored_live(), IsEmpty());
}

}  // namespace
}  // namespace millrace
