// perform: what is done for each action after the commit.
#include "orchestrator/loop/after_commit.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/loop/engine_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kWaitsForGo = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

class AfterCommitTest : public EngineTest {
 protected:
  /// Writes and commits the outbox row of a message that the instance sends; returns the message.
  NumberedMessage message(uint64_t number, const InstanceId& of) {
    NumberedMessage one{number, {.instance = of, .message = {.subject = "millrace.events.a.b"}}};
    write_outbox(engine().tx, number, one.record);
    commit_current_batch();
    return one;
  }
  /// Writes and commits the row of a task; returns the task.
  StartTask task(uint8_t number, std::vector<FunctionFile> files = {}) {
    StartTask one{.ns = default_ns(),
                  .task = numbered_id(number),
                  .by = numbered_id(200),
                  .runs = NamedService{.name = "charge"},
                  .files = std::move(files)};
    engine().tasks.begin(engine().tx, one);
    commit_current_batch();
    return one;
  }
  void commit_current_batch() {
    const Status done = engine().tx.commit();
    ASSERT_TRUE(done) << done.error().message;
    engine().batches.begin();
  }
  /// Queues a command whose answer is added to `log`; returns its request number.
  uint64_t ask() {
    rig().intake.command(CreateNamespace{.name = "shop"}, [this](const Result<Json>& answer) {
      log.push_back("answered " + (answer ? dump_json(*answer) : answer.error().code));
    });
    Work work;
    rig().intake.gather(work);
    EXPECT_THAT(work.commands, SizeIs(1));
    return work.commands.empty() ? 0 : work.commands[0].request;
  }
  /// A live instance with a waiter for its end.
  InstanceId wait_for_end() {
    run(apply_workflow(kWaitsForGo));
    const InstanceId id = start("waits");
    rig().end_waiters.add({{.ns = "default",
                            .id = id,
                            .at_most = hours(1),
                            .done =
                                [this](const Status& status) {
                                  log.push_back(status ? "ended" : status.error().code);
                                }}},
                          clock.elapsed());
    return id;
  }
  StoredReport report(const std::string& name) {
    return {[this, name] { log.push_back("stored " + name); }};
  }
  std::vector<InstanceId> ran() { return rig().runner.take_ran(); }

  std::vector<std::string> log;  ///< what callers and sources received
};

TEST_F(AfterCommitTest, PerformsTheActionsAfterACommitInOrder) {
  const InstanceId id = wait_for_end();
  const uint64_t request = ask();
  rig().perform({report("first"), Answer{request, Json(1)}, report("second"), InstanceEnd{id},
                 report("third")});
  EXPECT_THAT(log,
              ElementsAre("stored first", "answered 1", "stored second", "ended", "stored third"));
}

TEST_F(AfterCommitTest, SendsAMessageOnlyIfSendingIsAllowed) {
  rig().perform({message(1, numbered_id(1))}, true);
  EXPECT_THAT(rig().publisher.sent, SizeIs(1));
  EXPECT_EQ(engine().outbox.in_flight(), 1U);
  rig().perform({message(2, numbered_id(2))}, false);
  EXPECT_THAT(rig().publisher.sent, SizeIs(1));
  EXPECT_TRUE(engine().outbox.has_due()) << "the message waits in the outbox";
}

TEST_F(AfterCommitTest, HandsOutTasksAndStopsOnlyATaskThatHasNotEnded) {
  rig().perform({task(1), task(2)});
  EXPECT_THAT(ran(), ElementsAre(numbered_id(1), numbered_id(2)));
  rig().perform({StopTask{numbered_id(1)}, EndedTask{numbered_id(2)}, StopTask{numbered_id(2)}});
  EXPECT_THAT(rig().runner.stopped, ElementsAre(numbered_id(1)));
}

TEST_F(AfterCommitTest, HandsOutATaskWithFilesInALaterTurn) {
  rig().perform({task(1, {{.key = "prices", .as = "prices.txt"}})});
  EXPECT_THAT(ran(), IsEmpty());
  EXPECT_TRUE(engine().tasks.has_due());
}

TEST_F(AfterCommitTest, PassesAnEvaluationResultToTheIntakeTogetherWithEarlierResults) {
  const EvaluationResult before = {QueryResult(Json("before"))};
  const FollowingTurns next = rig().perform({Evaluate{.ns = default_ns(),
                                                      .instance = numbered_id(1),
                                                      .step = 7,
                                                      .before = {before},
                                                      .evaluation = {.lane = 3}},
                                             Evaluate{.instance = numbered_id(2)}});
  EXPECT_EQ(next.evaluations.count, 2U);
  ASSERT_THAT(rig().asked, SizeIs(2));
  EXPECT_EQ(rig().asked[0].evaluation.lane, 3U);

  const EvaluationResult result = {QueryResult(Json("result"))};
  rig().asked[0].done(result);
  Work work;
  rig().intake.gather(work);
  ASSERT_THAT(work.evaluated, SizeIs(1));
  EXPECT_EQ(work.evaluated[0].ns, default_ns());
  EXPECT_EQ(work.evaluated[0].instance, numbered_id(1));
  EXPECT_EQ(work.evaluated[0].step, 7U);
  EXPECT_TRUE(work.evaluated[0].results == (std::vector<EvaluationResult>{before, result}));
}

TEST_F(AfterCommitTest, StopsTheEvaluationsOfAnInstanceThatHasEnded) {
  const InstanceId id = wait_for_end();
  rig().perform({Evaluate{.instance = id, .step = 3}, Evaluate{.instance = numbered_id(99)}});
  ASSERT_THAT(rig().asked, SizeIs(2));
  EXPECT_FALSE(rig().asked[0].evaluation.stop.stop_requested());
  rig().perform({InstanceEnd{id}});
  EXPECT_TRUE(rig().asked[0].evaluation.stop.stop_requested());
  EXPECT_FALSE(rig().asked[1].evaluation.stop.stop_requested());
}

TEST_F(AfterCommitTest, MakesTheEarlyEventsThatAStepHasLeftAnInputOfALaterTurn) {
  const std::vector<EarlyEvent> left = {{.sequence = 4}, {.sequence = 5}};
  const FollowingTurns next = rig().perform(
      {EvaluatedInput{.ns = default_ns(), .instance = numbered_id(1), .step = 7, .early = left}});
  EXPECT_EQ(next.evaluations.count, 1U) << "it counts as a search until a turn has taken it";
  Work work;
  rig().intake.gather(work);
  ASSERT_THAT(work.evaluated, SizeIs(1));
  EXPECT_EQ(work.evaluated[0].instance, numbered_id(1));
  EXPECT_EQ(work.evaluated[0].step, 7U);
  ASSERT_TRUE(work.evaluated[0].early && *work.evaluated[0].early);
  EXPECT_THAT(**work.evaluated[0].early, SizeIs(2));
}

TEST_F(AfterCommitTest, SendsEachAnswerOnce) {
  const uint64_t first = ask();
  const uint64_t second = ask();
  rig().perform({Answer{second, fail("busy", "")}, Answer{first, Json(1)}});
  EXPECT_THAT(log, ElementsAre("answered busy", "answered 1"));
  rig().perform({Answer{first, Json(2)}, Answer{99, Json(3)}});
  EXPECT_THAT(log, SizeIs(2)) << "no caller waits for these answers";
}

TEST_F(AfterCommitTest, AnswersTheWaitersForTheEndOfAnInstance) {
  const InstanceId id = wait_for_end();
  rig().perform({InstanceEnd{numbered_id(99)}});
  EXPECT_THAT(log, IsEmpty());
  rig().perform({InstanceEnd{id}, InstanceEnd{id}});
  EXPECT_THAT(log, ElementsAre("ended"));
}

TEST_F(AfterCommitTest, PutsChangedInstancesIntoTheWatchRing) {
  WatchRing ring;
  const WatchedChange change{.instance = numbered_id(7), .status = InstanceStatus::kWaiting};
  rig().perform({ShowChange{&ring, change}});
  EXPECT_THAT(ring.take().changes, ElementsAre(change));
}

TEST_F(AfterCommitTest, ReturnsTheInputsForLaterTurnsAndAppliesNone) {
  const FollowingTurns next = rig().perform({ContinueInput{default_ns(), numbered_id(1)},
                                             CommandInput{5, CreateNamespace{.name = "shop"}},
                                             ContinueInput{default_ns(), numbered_id(2)},
                                             CommandInput{4, DeleteNamespace{.name = "shop"}}});
  ASSERT_THAT(next.continues, SizeIs(2));
  EXPECT_EQ(next.continues[0].instance, numbered_id(1));
  EXPECT_EQ(next.continues[1].instance, numbered_id(2));
  ASSERT_THAT(next.commands, SizeIs(2));
  EXPECT_EQ(next.commands[0].request, 5U);
  EXPECT_EQ(next.commands[1].request, 4U);
  EXPECT_EQ(next.evaluations, EvaluationLoad());
  EXPECT_FALSE(engine().catalog.find_namespace("shop")) << "the command was not applied";
}

TEST_F(AfterCommitTest, ReadsNothingFromTheStore) {
  const InstanceId id = wait_for_end();
  const std::vector<AfterCommit> actions = {message(1, id),
                                            task(1),
                                            task(2, {{.key = "prices", .as = "prices.txt"}}),
                                            StopTask{numbered_id(1)},
                                            EndedTask{numbered_id(1)},
                                            report("one"),
                                            Evaluate{.instance = id},
                                            Answer{ask(), Json(1)},
                                            InstanceEnd{id},
                                            ContinueInput{default_ns(), id},
                                            CommandInput{1, CreateNamespace{.name = "shop"}}};
  const auto perform_all = [&]() -> Status {
    rig().perform(actions, true);
    return engine().tx.status();
  };
  EXPECT_EQ(fail_each_read(perform_all, [] {}), 0U);
  EXPECT_THAT(rig().publisher.sent, SizeIs(1));
  EXPECT_TRUE(engine().tx.write_set().empty());
}

TEST_F(AfterCommitTest, SearchesForEarlyEvents) {
  const FollowingTurns next = rig().perform({LookBack{.ns = default_ns(),
                                                      .instance = numbered_id(1),
                                                      .workflow = WorkflowNumber(2),
                                                      .step = 3,
                                                      .before = std::vector<EvaluationResult>(1),
                                                      .space = "default"}});
  EXPECT_EQ(next.evaluations, (EvaluationLoad{.count = 1})) << "the search counts for backpressure";
  ASSERT_THAT(rig().looked_back, SizeIs(1));
  EXPECT_EQ(rig().looked_back[0].first.space, "default");
  rig().looked_back[0].second(std::vector<EarlyEvent>{{.sequence = 5}});
  Work work;
  rig().intake.gather(work);
  ASSERT_THAT(work.evaluated, SizeIs(1));
  const EvaluatedInput& input = work.evaluated[0];
  EXPECT_EQ(input.instance, numbered_id(1));
  EXPECT_EQ(input.workflow, WorkflowNumber(2));
  EXPECT_EQ(input.step, 3U);
  EXPECT_THAT(input.results, SizeIs(1)) << "the results of the evaluations before";
  ASSERT_TRUE(input.early && *input.early);
  EXPECT_EQ(input.early->value().at(0).sequence, 5U);
}

}  // namespace
}  // namespace millrace
