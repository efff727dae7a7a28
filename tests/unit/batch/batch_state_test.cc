// BatchState: what it stores for each effect of a step, and the numbers that it assigns.
#include "orchestrator/batch/batch_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"
#include "model/hops.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Settings of a namespace with all lifecycle events on NATS and two webhooks.
constexpr const char* kWebhooks = R"({
  "lifecycle": true,
  "webhooks": [{"url": "http://all"}, {"url": "http://ends", "types": ["*.completed", "*.failed"]}]})";

class BatchStateTest : public BatchPartTest {
 protected:
  BatchStateTest() : instance{.id = numbered_id(1), .ns = ns} {}

  static Event generated_event(uint32_t hops = 0) {
    Event event{.id = "1", .source = "/s", .type = "told"};
    if (hops > 0) event.extensions[std::string(kHopsAttribute)] = static_cast<int32_t>(hops);
    return event;
  }
  void stage(Effect effect) {
    const Status staged = batch.stage(instance, std::move(effect));
    ASSERT_TRUE(staged) << staged.error().message;
  }
  StartTask task() const {
    return {.ns = ns,
            .task = numbered_id(7),
            .by = instance.id,
            .runs = NamedService{.name = "charge"}};
  }
  VariableName variable() const {
    return {owner_of(ns, {}, {}, VariableScope::kNamespace), "receipt"};
  }
  /// Publishes the start and the end of the instance. Its history had four records before.
  Status try_publish_lifecycle() {
    instance.status = InstanceStatus::kComplete;
    const HistoryRecord records[] = {
        {.time = now, .kind = HistoryKind::kStarted, .detail = Json{{"by", "call"}}},
        {.time = now + seconds(1), .kind = HistoryKind::kEnded}};
    return batch.publish_lifecycle(instance, records, 5);
  }
  void publish_lifecycle() {
    const Status done = try_publish_lifecycle();
    ASSERT_TRUE(done) << done.error().message;
    commit_batch();
  }
  /// The undelivered events of webhooks as `url type`, in the order of their numbers.
  std::vector<std::string> webhooks() {
    std::vector<std::string> found;
    EXPECT_TRUE(each_webhook(*tx, [&](uint64_t number, const WebhookRecord& record) {
      const auto event = event_of(number, record);
      EXPECT_TRUE(event) << event.error().message;
      found.push_back(record.url + " " + event->type);
    }));
    return found;
  }

  Instance instance;
};

TEST_F(BatchStateTest, AssignsNumbersFromTheCountersOfTheStore) {
  EXPECT_EQ(*batch.last(Counter::kWebhook), 0U);
  EXPECT_EQ(*batch.next(Counter::kWebhook), 1U);
  EXPECT_EQ(*batch.next(Counter::kWebhook), 2U);
  EXPECT_EQ(*batch.last(Counter::kWebhook), 2U);
  EXPECT_EQ(*batch.next(Counter::kInbox), 1U) << "each counter starts at 1";
  commit_batch();
  EXPECT_EQ(*batch.last(Counter::kWebhook), 2U);
  EXPECT_EQ(*batch.next(Counter::kWebhook), 3U);
  lose_batch();
  EXPECT_EQ(*batch.next(Counter::kWebhook), 3U) << "the number of the lost batch is assigned again";
}

TEST_F(BatchStateTest, WritesAGeneratedEventToTheOutbox) {
  stage(Publish{.ns = ns, .event = generated_event()});
  EXPECT_EQ(batch.outcome.counts.published, 1U);
  commit_batch();
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.events.default.told"));
  const auto messages = actions_of<NumberedMessage>(outcome);
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].number, 1U);
  EXPECT_EQ(messages[0].record.instance, instance.id)
      << "the outbox sends the messages of one instance in order";
  const std::string* const id = find_header(messages[0].record.message.headers, "Nats-Msg-Id");
  ASSERT_NE(id, nullptr);
  EXPECT_EQ(*id, message_id(environment->seal().message_key(), "default", generated_event()));
}

TEST_F(BatchStateTest, StoresADelayedEventWithItsTimer) {
  stage(Publish{.ns = ns, .event = generated_event(), .at = now + seconds(10)});
  EXPECT_EQ(batch.outcome.counts.published, 0U);
  commit_batch();
  EXPECT_THAT(outcome.actions, IsEmpty());
  const auto record = read_delayed(*tx, 1);
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->instance, instance.id);
  EXPECT_THAT(due(now + seconds(9)), IsEmpty());
  const auto timers = due(now + seconds(10));
  ASSERT_THAT(timers, SizeIs(1));
  EXPECT_EQ(std::get<TimerInput::OfDelayedEvent>(timers[0].owner).number, 1U);
}

TEST_F(BatchStateTest, SendsAnEventWithTooManyHopsToTheDeadLetterQueue) {
  stage(Publish{.ns = ns, .event = generated_event(kMaxHops)});
  EXPECT_EQ(batch.outcome.counts.published, 1U);
  stage(Publish{.ns = ns, .event = generated_event(kMaxHops + 1)});
  stage(Publish{.ns = ns, .event = generated_event(kMaxHops + 1), .at = now + seconds(10)});
  EXPECT_EQ(batch.outcome.counts.published, 1U);
  EXPECT_EQ(batch.outcome.counts.dead_letters, 2U);
  commit_batch();
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.events.default.told",
                                             "millrace.dlq.default.millrace%2Elimits%2Ehops",
                                             "millrace.dlq.default.millrace%2Elimits%2Ehops"));
  EXPECT_EQ(rows_of(Table::kDelayed), 0U);
}

TEST_F(BatchStateTest, SetsAVariableAndErasesIt) {
  stage(SetVariable{.name = variable(), .value = Variable{.bytes = "1"}});
  EXPECT_EQ(read_variable(*tx, variable()).value()->bytes, "1");
  stage(SetVariable{.name = variable()});
  EXPECT_FALSE(read_variable(*tx, variable()).value());
  EXPECT_THAT(batch.outcome.actions, IsEmpty());
}

TEST_F(BatchStateTest, StoresATaskUntilItIsStopped) {
  stage(task());
  EXPECT_NE(tasks.find(numbered_id(7)), nullptr);
  commit_batch();
  EXPECT_THAT(actions_of<StartTask>(outcome), SizeIs(1));
  EXPECT_EQ(rows_of(Table::kTasks), 1U);
  stage(StopTask{numbered_id(7)});
  EXPECT_EQ(tasks.find(numbered_id(7)), nullptr);
  commit_batch();
  EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(1));
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
}

TEST_F(BatchStateTest, WritesNoRowForAnEvaluation) {
  stage(Evaluate{.ns = ns, .instance = instance.id, .step = 3});
  EXPECT_TRUE(tx->write_set().empty());
  ASSERT_THAT(actions_of<Evaluate>(batch.outcome), SizeIs(1));
  EXPECT_EQ(actions_of<Evaluate>(batch.outcome)[0].step, 3U);
}

TEST_F(BatchStateTest, QueuesInstanceMessagesInOrder) {
  kept_events.keep(*tx, ns, generated_event(), fingerprint({"1"}), {1, 1});
  stage(StartChild{.ns = ns, .child = numbered_id(2)});
  stage(CancelChild{.ns = ns, .child = numbered_id(3)});
  stage(ReturnResult{.ns = ns, .result = LazyJson()});
  ASSERT_THAT(batch.messages, SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<StartChild>(batch.messages[0].message));
  EXPECT_TRUE(std::holds_alternative<CancelChild>(batch.messages[1].message));
  EXPECT_TRUE(std::holds_alternative<ReturnResult>(batch.messages[2].message));
  for (const QueuedMessage& queued : batch.messages) {
    EXPECT_EQ(queued.listen_from.kept, kept_events.last())
        << "the child listens only for later events";
    EXPECT_EQ(queued.row, 0U);
  }
  EXPECT_THAT(batch.outcome.actions, IsEmpty());
}

TEST_F(BatchStateTest, SealsTheMessagesOfASealedInstance) {
  for (const bool sealed : {false, true}) {
    instance.sealed = sealed;
    stage(Publish{.ns = ns, .event = generated_event()});
    stage(Publish{.ns = ns, .event = generated_event(), .at = now});
    stage(Publish{.ns = ns, .event = generated_event(kMaxHops + 1)});
    commit_batch();
    for (const auto& message : actions_of<NumberedMessage>(outcome)) {
      EXPECT_EQ(message.record.sealed, sealed);
      EXPECT_EQ(read_outbox(*tx, message.number).value()->sealed, sealed);
    }
    EXPECT_EQ(read_delayed(*tx, *batch.last(Counter::kDelayed)).value()->sealed, sealed);
  }
  set_settings(Json::parse(kWebhooks));
  publish_lifecycle();
  EXPECT_TRUE(read_webhook(*tx, 1).value()->sealed);
  EXPECT_TRUE(actions_of<NumberedMessage>(outcome).at(0).record.sealed);
}

TEST_F(BatchStateTest, WritesTheNumberOfTheNamespaceIntoEachDeadLetter) {
  const NamespaceNumber shop = create_namespace("shop");
  const struct {
    DeadLetter letter;
    NamespaceNumber number;
  } cases[] = {
      {{.ns = "shop", .reason = {"a", "b"}}, shop},
      {{.ns = "nowhere", .reason = {"a", "b"}}, NamespaceNumber(0)},
      {{.ns = "shop", .reason = {"a", "b"}, .number = NamespaceNumber(77)}, NamespaceNumber(77)}};
  for (const auto& [letter, number] : cases) {
    ASSERT_TRUE(batch.dead_letter(letter));
    EXPECT_EQ(batch.outcome.counts.dead_letters, 1U);
    commit_batch();
    const auto messages = actions_of<NumberedMessage>(outcome);
    ASSERT_THAT(messages, SizeIs(1));
    EXPECT_THAT(messages[0].record.message.headers,
                testing::Contains(testing::Pair(std::string(kDeadLetterNamespace),
                                                std::to_string(static_cast<uint32_t>(number)))));
    EXPECT_EQ(messages[0].record.instance, std::nullopt)
        << "a dead letter is sent without waiting for another message";
  }
}

TEST_F(BatchStateTest, PublishesTheLifecycleEventsThatTheSettingsSelect) {
  publish_lifecycle();
  EXPECT_THAT(outbox_subjects(), IsEmpty()) << "the settings select no lifecycle event";
  set_settings(Json::parse(kWebhooks));
  instance.revision.workflow = define("id: orders\nstates: [{id: a, type: noop}]").number;
  publish_lifecycle();
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.lifecycle.default.orders.started",
                                             "millrace.lifecycle.default.orders.completed"));
  EXPECT_THAT(webhooks(), ElementsAre("http://all millrace.instance.started",
                                      "http://all millrace.instance.completed",
                                      "http://ends millrace.instance.completed"));
  EXPECT_EQ(webhook_outbox.next_due(), now + seconds(1))
      << "the webhook is due at the time of the last record";
  const auto first = event_of(1, read_webhook(*tx, 1).value().value());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->id, to_string(instance.id) + "-h5")
      << "the id ends with the number of the history record";
}

TEST_F(BatchStateTest, AssignsEachNumberOfACounterOnceDespiteFailedReads) {
  set_settings(Json::parse(kWebhooks));
  stage(Publish{.ns = ns, .event = generated_event()});
  commit_batch();
  const auto before = rows();
  const auto attempt = [&]() -> Status {
    TRY(batch.stage(instance, Publish{.ns = ns, .event = generated_event()}));
    TRY(batch.stage(instance, Publish{.ns = ns, .event = generated_event(), .at = now}));
    TRY(try_publish_lifecycle());
    return try_commit_batch();
  };
  const uint64_t failed = fail_each_read(attempt, [&] {
    lose_batch();
    EXPECT_EQ(rows(), before);
  });
  EXPECT_GE(failed, 3U) << "at least one read of each counter failed";
  EXPECT_THAT(outbox_subjects(), SizeIs(4));
  EXPECT_THAT(webhooks(), SizeIs(3));
  EXPECT_EQ(rows_of(Table::kDelayed), 1U);
  EXPECT_EQ(*batch.last(Counter::kOutbox), 4U);
}

}  // namespace
}  // namespace millrace
