// Draft: where it puts each effect of a step, the numbers that it gives, what leaves of it.
#include "orchestrator/batch/batch_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/hops.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/draft_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// The settings of a namespace that wants all told, by NATS and to two URLs.
constexpr const char* kWebhooks = R"({
  "lifecycle": true,
  "webhooks": [{"url": "http://all"}, {"url": "http://ends", "types": ["*.completed", "*.failed"]}]})";

class BatchStateTest : public DraftTest {
 protected:
  BatchStateTest() : instance{.id = numbered_id(1), .space = space} {}

  static Event told(uint32_t hops = 0) {
    Event event{.id = "1", .source = "/s", .type = "told"};
    if (hops > 0) event.extensions[std::string(kHopsAttribute)] = static_cast<int32_t>(hops);
    return event;
  }
  void stage(Effect effect) {
    const Status staged = draft.stage(instance, std::move(effect));
    ASSERT_TRUE(staged) << staged.error().message;
  }
  StartTask task() const {
    return {.space = space,
            .task = numbered_id(7),
            .by = instance.id,
            .runs = NamedService{.name = "charge"}};
  }
  VariableName variable() const {
    return {owner_of(space, {}, {}, VariableScope::kNamespace), "receipt"};
  }
  /// The instance has begun and ended, and that is told. Its history had four records before.
  Status try_tell() {
    instance.status = InstanceStatus::kComplete;
    const HistoryRecord records[] = {
        {.time = now, .kind = HistoryKind::kStarted, .detail = Json{{"by", "call"}}},
        {.time = now + seconds(1), .kind = HistoryKind::kEnded}};
    return draft.tell(instance, records, 5);
  }
  void tell() {
    const Status done = try_tell();
    ASSERT_TRUE(done) << done.error().message;
    commit_draft();
  }
  /// What is to be sent to URLs, as `url type`, in the order of their numbers.
  std::vector<std::string> deliveries() {
    std::vector<std::string> found;
    EXPECT_TRUE(each_hook(*tx, [&](uint64_t number, const HookRecord& record) {
      const auto event = event_of(number, record);
      EXPECT_TRUE(event) << event.error().message;
      found.push_back(record.url + " " + event->type);
    }));
    return found;
  }

  Instance instance;
};

TEST_F(BatchStateTest, GivesNumbersOneAfterTheOtherFromThoseOfTheStore) {
  EXPECT_EQ(*draft.last(Counter::kHook), 0U);
  EXPECT_EQ(*draft.next(Counter::kHook), 1U);
  EXPECT_EQ(*draft.next(Counter::kHook), 2U);
  EXPECT_EQ(*draft.last(Counter::kHook), 2U);
  EXPECT_EQ(*draft.next(Counter::kInbox), 1U) << "each kind has its own";
  commit_draft();
  EXPECT_EQ(*draft.last(Counter::kHook), 2U);
  EXPECT_EQ(*draft.next(Counter::kHook), 3U);
  lose_draft();
  EXPECT_EQ(*draft.next(Counter::kHook), 3U) << "nobody has got it";
}

TEST_F(BatchStateTest, PutsAnEventToPublishIntoTheOutbox) {
  stage(Publish{.space = space, .event = told()});
  EXPECT_EQ(draft.outcome.counts.published, 1U);
  commit_draft();
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.events.default.told"));
  const auto messages = actions_of<NumberedMessage>(outcome);
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].number, 1U);
  EXPECT_EQ(messages[0].record.instance, instance.id) << "those of one keep their order";
}

TEST_F(BatchStateTest, KeepsAnEventThatIsToBePublishedLater) {
  stage(Publish{.space = space, .event = told(), .at = now + seconds(10)});
  EXPECT_EQ(draft.outcome.counts.published, 0U);
  commit_draft();
  EXPECT_THAT(outcome.actions, IsEmpty());
  const auto record = read_delayed(*tx, 1);
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->instance, instance.id);
  EXPECT_THAT(due(now + seconds(9)), IsEmpty());
  const auto timers = due(now + seconds(10));
  ASSERT_THAT(timers, SizeIs(1));
  EXPECT_EQ(std::get<TimerInput::OfDelayedEvent>(timers[0].owner).number, 1U);
}

TEST_F(BatchStateTest, MakesADeadLetterOfAnEventBehindTooManyOthers) {
  stage(Publish{.space = space, .event = told(kMaxHops)});
  EXPECT_EQ(draft.outcome.counts.published, 1U);
  stage(Publish{.space = space, .event = told(kMaxHops + 1)});
  stage(Publish{.space = space, .event = told(kMaxHops + 1), .at = now + seconds(10)});
  EXPECT_EQ(draft.outcome.counts.published, 1U);
  EXPECT_EQ(draft.outcome.counts.dead_letters, 2U);
  commit_draft();
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
  EXPECT_THAT(draft.outcome.actions, IsEmpty());
}

TEST_F(BatchStateTest, HasATaskAsARowFromItsStartToItsStop) {
  stage(task());
  EXPECT_NE(tasks.find(numbered_id(7)), nullptr);
  commit_draft();
  EXPECT_THAT(actions_of<StartTask>(outcome), SizeIs(1));
  EXPECT_EQ(rows_of(Table::kTasks), 1U);
  stage(StopTask{numbered_id(7)});
  EXPECT_EQ(tasks.find(numbered_id(7)), nullptr);
  commit_draft();
  EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(1));
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
}

TEST_F(BatchStateTest, WritesNothingOfAnEvaluation) {
  stage(Evaluate{.space = space, .instance = instance.id, .step = 3});
  EXPECT_TRUE(tx->write_set().empty());
  ASSERT_THAT(actions_of<Evaluate>(draft.outcome), SizeIs(1));
  EXPECT_EQ(actions_of<Evaluate>(draft.outcome)[0].step, 3U);
}

TEST_F(BatchStateTest, QueuesWhatInstancesWantOfEachOtherInItsOrder) {
  recent.keep(*tx, space, told(), fingerprint({"1"}));
  stage(StartChild{.space = space, .child = numbered_id(2)});
  stage(CancelChild{.space = space, .child = numbered_id(3)});
  stage(ReturnResult{.space = space, .result = LazyJson()});
  ASSERT_THAT(draft.errands, SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<StartChild>(draft.errands[0].errand));
  EXPECT_TRUE(std::holds_alternative<CancelChild>(draft.errands[1].errand));
  EXPECT_TRUE(std::holds_alternative<ReturnResult>(draft.errands[2].errand));
  for (const QueuedErrand& one : draft.errands) {
    EXPECT_EQ(one.listen_from, recent.last()) << "what came before is not for a child";
    EXPECT_EQ(one.row, 0U);
  }
  EXPECT_THAT(draft.outcome.actions, IsEmpty());
}

TEST_F(BatchStateTest, SealsWhatASealedInstanceAsksFor) {
  for (const bool sealed : {false, true}) {
    instance.sealed = sealed;
    stage(Publish{.space = space, .event = told()});
    stage(Publish{.space = space, .event = told(), .at = now});
    stage(Publish{.space = space, .event = told(kMaxHops + 1)});
    commit_draft();
    for (const auto& message : actions_of<NumberedMessage>(outcome)) {
      EXPECT_EQ(message.record.sealed, sealed);
      EXPECT_EQ(read_outbox(*tx, message.number).value()->sealed, sealed);
    }
    EXPECT_EQ(read_delayed(*tx, *draft.last(Counter::kDelayed)).value()->sealed, sealed);
  }
  set_settings(Json::parse(kWebhooks));
  tell();
  EXPECT_TRUE(read_hook(*tx, 1).value()->sealed);
  EXPECT_TRUE(actions_of<NumberedMessage>(outcome).at(0).record.sealed);
}

TEST_F(BatchStateTest, SaysInADeadLetterWhichNamespaceItWasFor) {
  const NamespaceNumber shop = create_namespace("shop");
  const struct {
    DeadLetter letter;
    NamespaceNumber number;
  } cases[] = {{{.space = "shop", .reason = {"a", "b"}}, shop},
               {{.space = "nowhere", .reason = {"a", "b"}}, NamespaceNumber(0)},
               {{.space = "shop", .reason = {"a", "b"}, .number = NamespaceNumber(77)},
                NamespaceNumber(77)}};
  for (const auto& [letter, number] : cases) {
    ASSERT_TRUE(draft.dead_letter(letter));
    EXPECT_EQ(draft.outcome.counts.dead_letters, 1U);
    commit_draft();
    const auto messages = actions_of<NumberedMessage>(outcome);
    ASSERT_THAT(messages, SizeIs(1));
    EXPECT_THAT(messages[0].record.message.headers,
                testing::Contains(testing::Pair(std::string(kDeadLetterNamespace),
                                                std::to_string(static_cast<uint32_t>(number)))));
    EXPECT_EQ(messages[0].record.instance, std::nullopt) << "it waits for no other";
  }
}

TEST_F(BatchStateTest, TellsWhatItsNamespaceWantsToldAndWhere) {
  tell();
  EXPECT_THAT(outbox_subjects(), IsEmpty()) << "nobody wants to hear of it";
  set_settings(Json::parse(kWebhooks));
  instance.revision.workflow = define("id: orders\nstates: [{id: a, type: noop}]").number;
  tell();
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.lifecycle.default.orders.started",
                                             "millrace.lifecycle.default.orders.completed"));
  EXPECT_THAT(deliveries(), ElementsAre("http://all millrace.instance.started",
                                        "http://all millrace.instance.completed",
                                        "http://ends millrace.instance.completed"));
  EXPECT_EQ(hooks.next_due(), now + seconds(1)) << "when the last of the records came about";
  const auto first = event_of(1, read_hook(*tx, 1).value().value());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->id, to_string(instance.id) + "-h5") << "its place in the whole history";
}

TEST_F(BatchStateTest, NumbersNothingTwiceThoughReadsFailBefore) {
  set_settings(Json::parse(kWebhooks));
  stage(Publish{.space = space, .event = told()});
  commit_draft();
  const auto before = rows();
  const auto attempt = [&]() -> Status {
    TRY(draft.stage(instance, Publish{.space = space, .event = told()}));
    TRY(draft.stage(instance, Publish{.space = space, .event = told(), .at = now}));
    TRY(try_tell());
    return try_commit_draft();
  };
  const uint64_t failed = fail_each_read(attempt, [&] {
    lose_draft();
    EXPECT_EQ(rows(), before);
  });
  EXPECT_GE(failed, 3U) << "one for each kind of number";
  EXPECT_THAT(outbox_subjects(), SizeIs(4));
  EXPECT_THAT(deliveries(), SizeIs(3));
  EXPECT_EQ(rows_of(Table::kDelayed), 1U);
  EXPECT_EQ(*draft.last(Counter::kOutbox), 4U);
}

}  // namespace
}  // namespace millrace
