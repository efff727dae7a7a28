// Intake: the engine receives the inputs of other threads once, in order and within the limits.
#include "orchestrator/loop/intake.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/memory/damages.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/outgoing/outbox.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Delivery event(uint64_t sequence) {
  return EventInput{.ns = "default", .sequence = sequence, .event = {}};
}

Delivery large_event(uint64_t sequence) {
  return EventInput{.ns = "default", .sequence = sequence, .event = {}, .bytes = 1'000};
}

class IntakeTest : public testing::Test {
 protected:
  void deliver(std::initializer_list<uint64_t> sequences) {
    std::vector<Delivery> events;
    for (const uint64_t sequence : sequences) events.push_back(event(sequence));
    EXPECT_TRUE(intake.deliver(std::move(events)));
  }
  Intake::Done record(const std::string& name) {
    return [this, name](const Result<Json>& result) {
      answered.push_back(name + ": " + (result ? dump_json(*result) : result.error().code));
    };
  }
  Work gather() {
    Work work;
    intake.gather(work);
    return work;
  }
  static std::vector<uint64_t> sequences(const Work& work) {
    std::vector<uint64_t> found;
    for (const Delivery& one : work.deliveries) {
      if (const auto* const input = std::get_if<EventInput>(&one)) found.push_back(input->sequence);
    }
    return found;
  }
  bool goes_to_rest() { return intake.sleep({.at_most = Duration(0), .at_rest = true}); }

  Intake intake{{.batch_events = 3, .waiting_deliveries = 4, .waiting_commands = 2}};
  std::vector<std::string> answered;
};

TEST_F(IntakeTest, HandsEventsToTheEngineInOrderUpToTheLimitOfABatch) {
  deliver({1, 2});
  deliver({3, 4});
  EXPECT_TRUE(intake.has_deliveries());
  Work work = gather();
  EXPECT_THAT(sequences(work), ElementsAre(1, 2, 3));
  intake.gather(work);
  EXPECT_THAT(work.deliveries, SizeIs(3)) << "the batch is full";
  EXPECT_THAT(sequences(gather()), ElementsAre(4));
  EXPECT_FALSE(intake.has_deliveries());
  EXPECT_TRUE(gather().empty());
}

TEST_F(IntakeTest, HandsAllInputsThatAreNotEventsToTheEngineTogether) {
  intake.command(CreateNamespace{.name = "one"}, record("one"));
  intake.put(EvaluatedInput{.step = 7});
  intake.report({.what = TaskStarted()}, nullptr);
  intake.put(WebhookResult{.number = 5, .failure = std::nullopt});
  intake.acknowledge(9, PublishAck{.sequence = 4});
  intake.wait_for_end({.ns = "default", .done = [](const Status&) {}});
  const Work work = gather();
  EXPECT_THAT(work.commands, SizeIs(1));
  EXPECT_THAT(work.evaluated, SizeIs(1));
  EXPECT_THAT(work.tasks, SizeIs(1));
  EXPECT_THAT(work.webhook_results, SizeIs(1));
  EXPECT_THAT(work.acks, SizeIs(1));
  EXPECT_THAT(work.waiters, SizeIs(1));
  EXPECT_EQ(work.size(), 3U) << "evaluations, reports and commands";
  EXPECT_FALSE(work.empty());
  EXPECT_TRUE(gather().empty());
}

TEST_F(IntakeTest, HasInputsWhileOneWaitsThatTheNextTurnApplies) {
  intake.acknowledge(9, PublishAck{.sequence = 4});
  EXPECT_FALSE(intake.has_inputs()) << "an acknowledgement steps no instance";
  deliver({1});
  EXPECT_TRUE(intake.has_inputs());
  intake.set_refusal(Error{"store.full", ""});
  EXPECT_FALSE(intake.has_inputs()) << "the event waits for the end of backpressure";
  intake.put(EvaluatedInput{.step = 7});
  EXPECT_TRUE(intake.has_inputs());
  gather();
  EXPECT_FALSE(intake.has_inputs());
}

TEST_F(IntakeTest, AnswersEachCommandOnce) {
  intake.command(CreateNamespace{.name = "one"}, record("one"));
  intake.command(CreateNamespace{.name = "two"}, record("two"));
  const Work work = gather();
  ASSERT_THAT(work.commands, SizeIs(2));
  intake.answer(work.commands[1].request, Json(2));
  intake.answer(work.commands[1].request, Json(3));
  intake.answer(999, Json(4));
  intake.answer(work.commands[0].request, fail("no", ""));
  EXPECT_THAT(answered, ElementsAre("two: 2", "one: no"));
}

TEST_F(IntakeTest, RefusesCommandsWhileTooManyWait) {
  intake.command(CreateNamespace{.name = "one"}, record("one"));
  intake.command(CreateNamespace{.name = "two"}, record("two"));
  intake.command(DeleteNamespace{.name = "one"}, record("three"));
  EXPECT_THAT(answered, ElementsAre("three: busy"));
  const Work work = gather();
  EXPECT_THAT(work.commands, SizeIs(2));
  intake.answer(work.commands[0].request, Json(1));
  intake.command(CreateNamespace{.name = "four"}, record("four"));
  EXPECT_THAT(answered, ElementsAre("three: busy", "one: 1"));
}

TEST_F(IntakeTest, RefusesUnderBackpressureTheCommandsThatFreeNoSpace) {
  deliver({1});
  intake.set_refusal(Error{"store.full", "the disk is full"});
  EXPECT_EQ(intake.takes_new_work().error().code, "store.full");
  intake.command(CreateNamespace{.name = "one"}, record("one"));
  EXPECT_THAT(answered, ElementsAre("one: store.full"));
  intake.command(DeleteNamespace{.name = "one"}, record("two"));
  const Work work = gather();
  EXPECT_THAT(work.deliveries, IsEmpty()) << "events stay in the queue";
  EXPECT_THAT(work.commands, SizeIs(1));
  intake.set_refusal(std::nullopt);
  EXPECT_TRUE(intake.takes_new_work());
  EXPECT_THAT(sequences(gather()), ElementsAre(1));
}

TEST_F(IntakeTest, ReportsTheFailureOfTheEngine) {
  EXPECT_TRUE(intake.goes_on());
  intake.set_failure(Error{"store.io", ""});
  EXPECT_EQ(intake.goes_on().error().code, "store.io");
  intake.set_failure(std::nullopt);
  EXPECT_TRUE(intake.goes_on());
}

TEST_F(IntakeTest, BlocksADeliveryUntilThereIsRoom) {
  deliver({1, 2, 3, 4});
  auto waiting = std::async(std::launch::async, [&] { return intake.deliver({event(5)}); });
  EXPECT_THAT(sequences(gather()), ElementsAre(1, 2, 3));
  EXPECT_TRUE(waiting.get());
  EXPECT_THAT(sequences(gather()), ElementsAre(4, 5));
}

TEST_F(IntakeTest, LimitsTheBytesOfTheEventsThatWaitAndThoseOfABatch) {
  Intake small{{.waiting_bytes = 1'500, .batch_bytes = 1'000}};
  const auto gather_from_small = [&small] {
    Work work;
    small.gather(work);
    return sequences(work);
  };
  EXPECT_TRUE(small.deliver({large_event(1), large_event(2)})) << "a delivery is taken as a whole";
  auto waiting = std::async(std::launch::async, [&] { return small.deliver({large_event(3)}); });
  Work work;
  small.gather(work);
  EXPECT_THAT(sequences(work), ElementsAre(1));
  small.gather(work);
  EXPECT_THAT(sequences(work), ElementsAre(1)) << "the batch is full";
  EXPECT_TRUE(waiting.get());
  EXPECT_THAT(gather_from_small(), ElementsAre(2));
  EXPECT_THAT(gather_from_small(), ElementsAre(3));
  EXPECT_THAT(gather_from_small(), IsEmpty());
}

TEST_F(IntakeTest, LimitsTheBytesOfMessagesThatAreNoEvents) {
  Intake small{{.batch_bytes = 1'000}};
  const auto unreadable = [](uint64_t sequence) {
    return UnreadableInput{.sequence = sequence,
                           .message = {.headers = {{"a", std::string(1'000, 'x')}}}};
  };
  EXPECT_TRUE(small.deliver({unreadable(1), unreadable(2)}));
  Work work;
  small.gather(work);
  EXPECT_THAT(work.deliveries, SizeIs(1));
}

TEST_F(IntakeTest, ReleasesABlockedDeliveryOnceTheIntakeRefusesDeliveries) {
  deliver({1, 2, 3, 4});
  auto waiting = std::async(std::launch::async, [&] { return intake.deliver({event(5)}); });
  intake.refuse_deliveries();
  EXPECT_FALSE(waiting.get());
  EXPECT_FALSE(intake.deliver({event(6)}));
  EXPECT_THAT(sequences(gather()), ElementsAre(1, 2, 3)) << "accepted events are processed";
}

TEST_F(IntakeTest, PassesStreamChangesEvenWhileEventsHaveToWait) {
  intake.opening();
  intake.acknowledge(1, PublishAck{.sequence = 1});
  EXPECT_TRUE(intake.deliver({StreamOpened{.intact_to = 8}}));
  intake.opening();
  intake.acknowledge(2, PublishAck{.sequence = 2});
  EXPECT_TRUE(intake.deliver({StreamLost{}}));
  intake.set_refusal(Error{"busy", ""});
  const Work work = gather();
  EXPECT_THAT(work.deliveries, IsEmpty());
  ASSERT_THAT(work.stream_changes, SizeIs(2));
  ASSERT_TRUE(work.stream_changes[0].opened);
  EXPECT_EQ(work.stream_changes[0].opened->intact_to, 8U);
  EXPECT_EQ(work.stream_changes[0].openings, 1U);
  EXPECT_FALSE(work.stream_changes[1].opened);
  ASSERT_THAT(work.acks, SizeIs(2));
  EXPECT_EQ(work.acks[0].openings, 1U);
  EXPECT_EQ(work.acks[1].openings, 2U);
}

TEST_F(IntakeTest, IsQuietWhileTheEngineSleepsWithoutWork) {
  EXPECT_TRUE(goes_to_rest());
  EXPECT_FALSE(intake.wait_until_quiet(Duration(0))) << "the engine is awake";
  auto quiet = std::async(std::launch::async, [&] { return intake.wait_until_quiet(hours(1)); });
  auto asleep = std::async(
      std::launch::async, [&] { return intake.sleep({.at_most = std::nullopt, .at_rest = true}); });
  EXPECT_TRUE(quiet.get());
  intake.put(EvaluatedInput{});
  EXPECT_TRUE(asleep.get()) << "an input wakes the engine";
  EXPECT_FALSE(intake.wait_until_quiet(Duration(0)));
}

TEST_F(IntakeTest, WakesTheEngineForManyAcknowledgementsButNotForOne) {
  intake.acknowledge(1, PublishAck{.sequence = 1});
  auto asleep = std::async(
      std::launch::async, [&] { return intake.sleep({.at_most = std::nullopt, .at_rest = true}); });
  for (uint64_t i = 2; i <= Outbox::kWindow; ++i) intake.acknowledge(i, PublishAck{.sequence = i});
  EXPECT_TRUE(asleep.get());
  EXPECT_THAT(gather().acks, SizeIs(Outbox::kWindow));
}

TEST_F(IntakeTest, AcceptsNothingAfterItIsClosed) {
  deliver({1});
  intake.command(CreateNamespace{.name = "one"}, record("one"));
  std::vector<std::string> ends;
  const auto end = [&](const Status& done) { ends.push_back(done ? "ok" : done.error().code); };
  intake.wait_for_end({.ns = "default", .done = end});
  intake.close();
  EXPECT_FALSE(intake.deliver({event(2)}));
  intake.command(CreateNamespace{.name = "two"}, record("two"));
  intake.wait_for_end({.ns = "default", .done = end});
  EXPECT_THAT(answered, ElementsAre("two: stopping"));
  EXPECT_THAT(ends, ElementsAre("stopping"));
  EXPECT_FALSE(intake.sleep({.at_most = std::nullopt}));
  for (const Refuse& refuse : intake.abandoned()) refuse({"stopping", ""});
  EXPECT_THAT(answered, ElementsAre("two: stopping", "one: stopping"));
  EXPECT_THAT(ends, ElementsAre("stopping", "stopping"));
  EXPECT_THAT(intake.abandoned(), IsEmpty());
}

TEST(Intake, RegardsDeletionsAndCancellationsAsCommandsThatFreeSpace) {
  EXPECT_TRUE(makes_room(CancelInstance{}));
  EXPECT_TRUE(makes_room(DeleteInstance{}));
  EXPECT_TRUE(makes_room(DeleteWorkflow{}));
  EXPECT_TRUE(makes_room(DeleteVariable{}));
  EXPECT_TRUE(makes_room(DeleteSecret{}));
  EXPECT_TRUE(makes_room(DeleteNamespace{}));
  EXPECT_TRUE(makes_room(RemoveNode{}));
  EXPECT_FALSE(makes_room(RegisterNode{}));
  EXPECT_TRUE(makes_room(ChangeReplay{.kind = ChangeReplay::Kind::kMove}));
  EXPECT_TRUE(makes_room(ChangeReplay{.kind = ChangeReplay::Kind::kStop}));
  EXPECT_FALSE(makes_room(ChangeReplay{.kind = ChangeReplay::Kind::kBegin}));
  EXPECT_TRUE(makes_room(PauseInboundWebhook{}));
  EXPECT_TRUE(makes_room(DeleteInboundWebhook{}));
  EXPECT_TRUE(makes_room(PauseSource{}));
  EXPECT_TRUE(makes_room(DeleteSource{}));
  EXPECT_TRUE(makes_room(ForgetConsumer{}));
  EXPECT_FALSE(makes_room(RefuseMessages{}));
  EXPECT_FALSE(makes_room(StartInstance{}));
  EXPECT_FALSE(makes_room(PutVariable{}));
  EXPECT_FALSE(makes_room(PauseInstance{}));
}

TEST_F(IntakeTest, AnswersOnceInATurnThatTheEngineMakesTurns) {
  const BatchCount batches;
  Damages damages;
  const WaitIndex waiting(batches);
  const Dedupe dedupe({}, batches);
  const KeptEvents kept_events(damages, batches);
  const EngineMemory memory{waiting, dedupe, kept_events};
  const auto ask = [this](const char* name) {
    intake.ask_turn([this, name] { answered.emplace_back(name); });
  };
  ask("first");
  ask("second");
  EXPECT_TRUE(intake.sleep({.at_most = std::nullopt})) << "the question wakes the engine thread";
  EXPECT_TRUE(gather().empty()) << "it is no work of a batch";
  for (int i = 0; i < 16; ++i) {
    intake.ask({.answer = [](const EngineMemory&) {}, .refuse = [](const Error&) {}});
  }
  intake.answer_question(memory);
  EXPECT_THAT(answered, ElementsAre("second")) << "no question of a client is before it";
  EXPECT_EQ(intake.answered_questions(), 1U);
  intake.answer_question(memory);
  EXPECT_THAT(answered, SizeIs(1));
  ask("third");
  intake.close();
  EXPECT_THAT(intake.abandoned(), SizeIs(14));
  ask("fourth");
  intake.answer_question(memory);
  EXPECT_THAT(answered, SizeIs(1)) << "it makes no further turn";
}

TEST_F(IntakeTest, HandsQuestionsToTheEngineOneByOneUpToALimit) {
  const BatchCount batches;
  Damages damages;
  const WaitIndex waiting(batches);
  const Dedupe dedupe({}, batches);
  const KeptEvents kept_events(damages, batches);
  const EngineMemory memory{waiting, dedupe, kept_events};
  size_t answers = 0;
  std::vector<std::string> refused;
  const auto ask = [&](const std::string& name) {
    intake.ask({.answer = [&](const EngineMemory&) { ++answers; },
                .refuse = [&refused,
                           name](const Error& why) { refused.push_back(name + ": " + why.code); }});
  };
  intake.answer_question(memory);
  EXPECT_EQ(answers, 0U) << "none waits";
  for (int i = 0; i < 16; ++i) ask("question");
  ask("another");
  EXPECT_THAT(refused, ElementsAre("another: busy"));
  intake.answer_question(memory);
  EXPECT_EQ(answers, 1U);
  EXPECT_EQ(intake.answered_questions(), 1U);
  EXPECT_TRUE(gather().empty()) << "a question is no work of a batch";
  intake.close();
  ask("late");
  EXPECT_THAT(refused, ElementsAre("another: busy", "late: stopping"));
  for (const Refuse& refuse : intake.abandoned()) refuse({"stopping", ""});
  EXPECT_THAT(refused, SizeIs(2 + 15));
}

}  // namespace
}  // namespace millrace
