// JqPool: fast and slow workers, the order of evaluations, retries, and the handling of killed
// processes.
#include <csignal>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stop_token>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "expressions/workers/child.h"
#include "expressions/workers/launcher.h"
#include "pool_fixture.h"
#include "tests/support/file_bytes.h"
#include "tests/support/process.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

constexpr const char* kLoop = "def f: f; f";
constexpr Duration kForever{86'400'000};

Evaluation on_lane(uint64_t lane, std::string program, Duration timeout) {
  return {.queries = {{std::move(program), shared_text("null")}}, .timeout = timeout, .lane = lane};
}

/// Slow workers have a low priority: on a machine with other work, even their start takes long.
constexpr Duration kSlowWork = std::chrono::minutes(5);

/// The niceness of a process of this one that adds `more`.
int niceness_here_and(int more) {
  constexpr int kNicest = 19;
  return std::min(getpriority(PRIO_PROCESS, 0) + more, kNicest);
}

class JqSchedulerTest : public PoolTest {
 protected:
  using Answers = std::future<std::vector<QueryResult>>;

  static bool is_pending(const Answers& answers) {
    return answers.wait_for(Duration(0)) != std::future_status::ready;
  }

  /// Waits until `overran` evaluations are on slow workers that have started.
  void wait_for_slow_work(uint64_t overran) {
    ASSERT_TRUE(eventually(
        [&] {
          const JqPool::Stats stats = pool().stats();
          return stats.overran == overran && stats.waiting == 0 && slow_workers().size() >= overran;
        },
        kSlowWork));
  }

  static pid_t launcher() {
    const std::vector<pid_t> children = children_of(getpid());
    EXPECT_THAT(children, SizeIs(1));
    return children.at(0);
  }

  static std::vector<pid_t> slow_workers() {
    std::vector<pid_t> slow;
    for (const pid_t worker : children_of(launcher())) {
      const std::string command = file_bytes(fmt::format("/proc/{}/cmdline", worker));
      // Each argument ends with NUL.
      if (command.ends_with(std::string("\0", 1).insert(0, kBackgroundWorkerVerb))) {
        slow.push_back(worker);
      }
    }
    return slow;
  }

  /// Submits an evaluation and records when it ends, for order_of().
  void submit_recorded(uint64_t ticket, const Evaluation& evaluation) {
    pool().submit(ticket, evaluation, [this](uint64_t done, const std::vector<QueryResult>&) {
      const std::lock_guard guard(lock_);
      order_.push_back(done);
    });
  }
  std::vector<uint64_t> order_of(size_t count) {
    EXPECT_TRUE(eventually(
        [&] {
          const std::lock_guard guard(lock_);
          return order_.size() == count;
        },
        kSlowWork));
    const std::lock_guard guard(lock_);
    return order_;
  }

 private:
  std::mutex lock_;
  std::vector<uint64_t> order_;
};

TEST_F(JqSchedulerTest, MovesAnEvaluationThatExceedsItsTimeSliceToASlowWorker) {
  start({.workers = 1, .slice = Duration(1)});
  const auto input = shared_text("1");
  const std::vector<QueryResult> results = evaluate(Evaluation{
      .queries = {
          {". + 1", input}, {"reduce range(100000) as $i (0; . + 1)", input}, {". + 2", input}}});
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_EQ(results[0], Json(2));
  EXPECT_EQ(results[1], Json(100'000));
  EXPECT_EQ(results[2], Json(3));
  EXPECT_EQ(pool().stats().overran, 1);
  EXPECT_EQ(pool().stats().timed_out, 0);
}

TEST_F(JqSchedulerTest, DoesNotCopyTheInputOfAnEvaluationThatWaits) {
  start({.workers = 1, .slice = kForever, .most_waiting = kOnlyProcessorTime});
  const Answers first = evaluate_later(pool(), on_lane(1, kLoop, kForever));
  ASSERT_TRUE(eventually([&] { return pool().stats().running == 1; }, kSlowWork));
  const auto input = shared_text("1");
  const Answers second =
      evaluate_later(pool(), {.queries = {{". + 1", input}}, .timeout = kForever, .lane = 2});
  EXPECT_EQ(pool().stats().waiting, 1);
  EXPECT_EQ(input.use_count(), 2) << "the input of the test and that of the job are the same";
  EXPECT_TRUE(is_pending(first));
  EXPECT_TRUE(is_pending(second));
}

TEST_F(JqSchedulerTest, RetriesAnEvaluationOnceAfterItsTimeout) {
  start({.workers = 1});
  const std::vector<QueryResult> results = evaluate(on_lane(1, kLoop, Duration(50)));
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_EQ(results[0].error(),
            (Error{"millrace.timeout.task",
                   "the jq program was stopped in its second try; a try may use 50 ms of processor "
                   "time, and last 10 times as long"}));
  EXPECT_EQ(pool().stats().timed_out, 2);
}

TEST_F(JqSchedulerTest, DelaysNoOtherLaneForTwoEvaluationsThatNeverEnd) {
  const Answers first = evaluate_later(pool(), on_lane(1, kLoop, kForever));
  const Answers second = evaluate_later(pool(), on_lane(2, kLoop, kForever));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(evaluate_later(pool(), on_lane(3, "length", kForever)).get().at(0), Json(0));
  }
  wait_for_slow_work(2);
  EXPECT_EQ(evaluate_later(pool(), on_lane(3, "length", kForever)).get().at(0), Json(0));
  EXPECT_TRUE(is_pending(first));
  EXPECT_TRUE(is_pending(second));
}

/// An evaluation whose input has more than 256 KiB.
Evaluation large_on_lane(uint64_t lane, std::string program) {
  const std::string input = "\"" + std::string(300'000, 'x') + "\"";
  return {.queries = {{std::move(program), shared_text(input)}}, .timeout = kForever, .lane = lane};
}

TEST_F(JqSchedulerTest, GivesLargeEvaluationsToOneFastWorkerAtATime) {
  start({.workers = 2, .slice = kForever, .most_waiting = kOnlyProcessorTime});
  const Answers first = evaluate_later(pool(), large_on_lane(1, kLoop));
  const Answers second = evaluate_later(pool(), large_on_lane(2, kLoop));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(evaluate_later(pool(), on_lane(3, "length", kForever)).get().at(0), Json(0));
  }
  ASSERT_TRUE(eventually([&] { return pool().stats().running == 1; }, kSlowWork));
  EXPECT_EQ(pool().stats().waiting, 1);
  EXPECT_TRUE(is_pending(first));
  EXPECT_TRUE(is_pending(second));
}

TEST_F(JqSchedulerTest, ServesLanesInTurnWithLargeEvaluations) {
  start({.workers = 1, .slice = kForever, .most_waiting = kOnlyProcessorTime});
  EXPECT_EQ(evaluate("length"), Json(0));
  const std::vector<pid_t> workers = children_of(launcher());
  ASSERT_THAT(workers, SizeIs(1));
  kill(workers[0], SIGSTOP);  // until all evaluations are queued
  submit_recorded(10, large_on_lane(1, "length"));
  EXPECT_TRUE(eventually([&] { return pool().stats().running == 1; }, kSlowWork));
  for (const uint64_t ticket : {11, 12, 20}) {
    submit_recorded(ticket, large_on_lane(ticket / 10, "length"));
  }
  submit_recorded(30, on_lane(3, "length", kForever));
  kill(workers[0], SIGCONT);
  EXPECT_THAT(order_of(5), ElementsAre(10, 20, 11, 12, 30));
}

TEST_F(JqSchedulerTest, ServesNamespacesInTurn) {
  start({.workers = 1, .slice = kForever, .most_waiting = kOnlyProcessorTime});
  EXPECT_EQ(evaluate("length"), Json(0));
  const std::vector<pid_t> workers = children_of(launcher());
  ASSERT_THAT(workers, SizeIs(1));
  kill(workers[0], SIGSTOP);  // until all evaluations are queued
  const auto submit_in = [this](uint64_t space, uint64_t lane, uint64_t ticket) {
    Evaluation evaluation = on_lane(lane, "length", kForever);
    evaluation.space = space;
    submit_recorded(ticket, evaluation);
  };
  submit_in(1, 1, 10);
  EXPECT_TRUE(eventually([&] { return pool().stats().running == 1; }, kSlowWork));
  for (const uint64_t lane : {1, 2, 3}) {
    for (uint64_t i = 1; i <= 2; ++i) submit_in(1, lane, 10 * lane + i);
  }
  submit_in(2, 4, 41);
  submit_in(2, 4, 42);
  kill(workers[0], SIGCONT);
  EXPECT_THAT(order_of(9), ElementsAre(10, 11, 41, 21, 42, 31, 12, 22, 32));
}

TEST_F(JqSchedulerTest, KeepsTheOrderOfTheEvaluationsOfALaneAfterASlowEvaluation) {
  start({.workers = 1});
  submit_recorded(1, on_lane(7, kLoop, Duration(200)));
  for (uint64_t ticket = 2; ticket <= 9; ++ticket) {
    submit_recorded(ticket, on_lane(7, "length", kForever));
  }
  EXPECT_THAT(order_of(9), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(JqSchedulerTest, KeepsASlowLaneOffTheFastWorkersDuringItsProbation) {
  start({.workers = 1, .probation = kForever});
  EXPECT_FALSE(evaluate(on_lane(1, kLoop, Duration(10))).at(0));
  EXPECT_FALSE(evaluate(on_lane(1, kLoop, Duration(10))).at(0));
  EXPECT_EQ(pool().stats().overran, 1) << "the second evaluation used no fast worker";

  start({.workers = 1, .probation = Duration(0)});
  EXPECT_FALSE(evaluate(on_lane(1, kLoop, Duration(10))).at(0));
  EXPECT_FALSE(evaluate(on_lane(1, kLoop, Duration(10))).at(0));
  EXPECT_EQ(pool().stats().overran, 2);
}

TEST_F(JqSchedulerTest, ServesLanesInTurnIfThereAreMoreLanesThanSlowWorkers) {
  start({.workers = 1, .slow_workers = 1, .probation = kForever});
  for (const uint64_t lane : {1, 2, 3, 4}) evaluate(on_lane(lane, kLoop, Duration(1)));
  submit_recorded(
      40,
      on_lane(4, kLoop,
              Duration(500)));  // occupies the only slow worker until all evaluations are queued
  for (const uint64_t ticket : {10, 11, 20, 21, 30, 31}) {
    submit_recorded(ticket, on_lane(ticket / 10, "length", kForever));
  }
  EXPECT_THAT(order_of(7), ElementsAre(40, 10, 20, 30, 11, 21, 31));
}

TEST_F(JqSchedulerTest, LeavesSlowWorkersFreeForOtherNamespaces) {
  start(
      {.workers = 1, .slow_workers = 4, .slice = Duration(1), .most_waiting = kOnlyProcessorTime});
  const auto submit_in = [this](uint64_t space, uint64_t lane, std::string program) {
    Evaluation evaluation = on_lane(lane, std::move(program), kForever);
    evaluation.space = space;
    return evaluate_later(pool(), std::move(evaluation));
  };
  std::vector<Answers> endless;
  for (uint64_t lane = 1; lane <= 6; ++lane) endless.push_back(submit_in(1, lane, kLoop));
  ASSERT_TRUE(eventually([&] { return pool().stats().overran == 6; }, kSlowWork));
  Answers other = submit_in(2, 7, "reduce range(100000) as $i (0; . + 1)");
  ASSERT_TRUE(eventually([&] { return !is_pending(other); }, kSlowWork));
  EXPECT_EQ(other.get().at(0), Json(100'000));
  EXPECT_EQ(pool().stats().overran, 7) << "the evaluation used a slow worker";
  EXPECT_EQ(pool().stats().running, 1) << "a quarter of the slow workers";
  EXPECT_EQ(pool().stats().waiting, 5);
  EXPECT_EQ(pool().stats().spaces,
            (std::map<uint64_t, PoolLoad>{{1, {.slow_waiting = 5, .slow_running = 1}}}))
      << "the namespace that occupies the slow workers";
  for (const Answers& one : endless) EXPECT_TRUE(is_pending(one));
}

TEST_F(JqSchedulerTest, EndsAStoppedEvaluationAndFreesItsSlowWorker) {
  start(
      {.workers = 1, .slow_workers = 1, .slice = Duration(1), .most_waiting = kOnlyProcessorTime});
  std::stop_source stop;
  Evaluation endless = on_lane(1, kLoop, kForever);
  endless.stop = stop.get_token();
  Answers stopped = evaluate_later(pool(), endless);
  wait_for_slow_work(1);
  Answers other =
      evaluate_later(pool(), on_lane(2, "reduce range(100000) as $i (0; . + 1)", kForever));
  ASSERT_TRUE(eventually([&] { return pool().stats().overran == 2; }, kSlowWork));
  EXPECT_TRUE(is_pending(other));
  stop.request_stop();
  ASSERT_TRUE(eventually([&] { return !is_pending(stopped) && !is_pending(other); }, kSlowWork));
  EXPECT_EQ(stopped.get().at(0).error(),
            (Error{"direktiv.jq.badCommand",
                   "the jq program cannot be evaluated: its result is not needed any more"}));
  EXPECT_EQ(other.get().at(0), Json(100'000));
  EXPECT_EQ(pool().stats().timed_out, 0);
}

TEST_F(JqSchedulerTest, DoesNotStartAStoppedEvaluation) {
  start(
      {.workers = 1, .slow_workers = 1, .slice = Duration(1), .most_waiting = kOnlyProcessorTime});
  const Answers running = evaluate_later(pool(), on_lane(1, kLoop, kForever));
  wait_for_slow_work(1);
  std::stop_source stop;
  const auto submit_stoppable = [&](uint64_t lane) {
    Evaluation endless = on_lane(lane, kLoop, kForever);
    endless.stop = stop.get_token();
    return evaluate_later(pool(), std::move(endless));
  };
  std::vector<Answers> stopped;
  for (const uint64_t lane : {1, 2, 3, 3}) stopped.push_back(submit_stoppable(lane));
  const Answers last = evaluate_later(pool(), on_lane(3, "length", kForever));
  ASSERT_TRUE(eventually([&] { return pool().stats().overran == 3; }, kSlowWork));
  ASSERT_TRUE(eventually([&] { return pool().stats().waiting == 5; }, kSlowWork));
  stop.request_stop();
  stopped.push_back(submit_stoppable(4));
  for (Answers& one : stopped) {
    ASSERT_TRUE(eventually([&] { return !is_pending(one); }, kSlowWork));
    EXPECT_EQ(one.get().at(0).error().code, kJqBadCommand);
  }
  EXPECT_EQ(pool().stats().waiting, 1) << "the evaluation that was not stopped";
  EXPECT_EQ(pool().stats().overran, 3);
  EXPECT_TRUE(is_pending(running));
  EXPECT_TRUE(is_pending(last));
}

TEST_F(JqSchedulerTest, EndsAStoppedEvaluationOfAFastWorkerAtTheEndOfItsSlice) {
  start({.workers = 1, .most_waiting = kOnlyProcessorTime});
  EXPECT_EQ(evaluate("length"), Json(0));
  const std::vector<pid_t> workers = children_of(launcher());
  ASSERT_THAT(workers, SizeIs(1));
  kill(workers[0], SIGSTOP);  // until the evaluation is stopped
  std::stop_source stop;
  Evaluation endless = on_lane(1, kLoop, kForever);
  endless.stop = stop.get_token();
  Answers stopped = evaluate_later(pool(), endless);
  EXPECT_TRUE(eventually([&] { return pool().stats().running == 1; }, kSlowWork));
  stop.request_stop();
  kill(workers[0], SIGCONT);
  ASSERT_TRUE(eventually([&] { return !is_pending(stopped); }, kSlowWork));
  EXPECT_EQ(stopped.get().at(0).error().code, kJqBadCommand);
  EXPECT_EQ(pool().stats().overran, 0) << "it needed no slow worker";
}

/// Evaluations of six lanes that were quick share a round trip; one of them runs the program of the
/// test.
class JqSchedulerRoundTripTest : public JqSchedulerTest {
 protected:
  void evaluate_among_quick_ones(const std::string& program, Duration timeout) {
    start({.workers = 1,
           .slice = Duration(500),
           .most_waiting = kOnlyProcessorTime,
           .quick = kPatience});
    for (uint64_t lane = 1; lane <= 6; ++lane) {
      for (int i = 0; i < 4; ++i) evaluate(on_lane(lane, "length", kForever));
    }
    // While SIGSTOP holds the worker, all evaluations are queued.
    const std::vector<pid_t> workers = children_of(launcher());
    ASSERT_THAT(workers, SizeIs(1));
    kill(workers[0], SIGSTOP);
    const Answers first = evaluate_later(pool(), on_lane(7, "length", kForever));
    for (uint64_t lane = 1; lane <= 6; ++lane) {
      answers_.push_back(lane == 3 ? evaluate_later(pool(), on_lane(lane, program, timeout))
                                   : evaluate_later(pool(), on_lane(lane, "length", kForever)));
    }
    EXPECT_TRUE(eventually([&] { return pool().stats().running == 1; }));
    kill(workers[0], SIGCONT);
    for (size_t i = 0; i < answers_.size(); ++i) {
      const std::vector<QueryResult> results = answers_[i].get();
      ASSERT_THAT(results, SizeIs(1));
      if (i == 2) {
        result_ = results[0];
      } else {
        EXPECT_EQ(results[0], Json(0)) << i;
      }
    }
  }

  QueryResult result_;

 private:
  std::vector<Answers> answers_;
};

TEST_F(JqSchedulerRoundTripTest, FinishesALongEvaluationAndTheOthersOfTheRoundTrip) {
  evaluate_among_quick_ones("reduce range(100000) as $i (0; . + 1)", kForever);
  EXPECT_EQ(result_, Json(100'000));
  EXPECT_EQ(pool().stats().started, 1);
}

TEST_F(JqSchedulerRoundTripTest, FailsOnlyTheEvaluationThatNeverEnds) {
  evaluate_among_quick_ones(kLoop, Duration(50));
  EXPECT_EQ(result_.error().code, kTaskTimeout);
  EXPECT_EQ(pool().stats().overran, 1);
  EXPECT_EQ(pool().stats().timed_out, 2);
  EXPECT_EQ(pool().stats().started, 5) << "three fast workers (the first, one after the shared "
                                          "round trip, one after the slice) and two slow ones";
}

TEST_F(JqSchedulerRoundTripTest, FailsOnlyTheEvaluationThatKillsItsWorker) {
  evaluate_among_quick_ones("1e18 | todate", kForever);
  EXPECT_EQ(result_.error().code, kJqBadCommand);
  EXPECT_EQ(pool().stats().crashed, 3) << "once with the others, and twice alone";
}

TEST_F(JqSchedulerTest, RunsFastWorkersAtALowerPriorityThanMillrace) {
  EXPECT_EQ(evaluate("length"), Json(0));
  const int niceness = niceness_here_and(kJqWorkerNiceness);
  const std::vector<pid_t> workers = children_of(launcher());
  EXPECT_THAT(workers, Not(SizeIs(0)));
  for (const pid_t worker : workers) {
    EXPECT_TRUE(eventually(
        [&] { return getpriority(PRIO_PROCESS, static_cast<id_t>(worker)) == niceness; }));
  }
}

TEST_F(JqSchedulerTest, RunsSlowWorkersAtLowPriorityAndEndsIdleSlowWorkers) {
  start({.workers = 1, .idle = Duration(0)});
  EXPECT_THAT(slow_workers(), SizeIs(0));
  const Answers looping = evaluate_later(pool(), on_lane(1, kLoop, kForever));
  wait_for_slow_work(1);
  // A slow worker has a lower priority than this process, once the launcher has set it.
  const int niceness = niceness_here_and(kBackgroundJqWorkerNiceness);
  EXPECT_TRUE(eventually([&] {
    const std::vector<pid_t> slow = slow_workers();
    return !slow.empty() && getpriority(PRIO_PROCESS, static_cast<id_t>(slow[0])) == niceness;
  }));
  start({.workers = 1, .idle = Duration(0)});
  EXPECT_FALSE(evaluate(on_lane(1, kLoop, Duration(10))).at(0));
  EXPECT_EQ(pool().stats().overran, 1);
  EXPECT_TRUE(eventually([] { return slow_workers().empty(); }, kSlowWork));
  EXPECT_EQ(evaluate("length"), Json(0));
}

TEST_F(JqSchedulerTest, CountsNoCrashAndNoTimeoutIfAJqWorkerIsKilledFromOutside) {
  start({.workers = 1});
  const Answers looping = evaluate_later(pool(), on_lane(1, kLoop, kForever));
  wait_for_slow_work(1);
  for (int kills = 0; kills < 4; ++kills) {
    const std::vector<pid_t> before = slow_workers();
    ASSERT_THAT(before, SizeIs(1));
    kill(before[0], SIGKILL);
    ASSERT_TRUE(eventually(
        [&] {
          const std::vector<pid_t> now = slow_workers();
          return now.size() == 1 && now != before && pool().stats().ready_workers == 2;
        },
        kSlowWork));
  }
  EXPECT_TRUE(is_pending(looping));
  EXPECT_EQ(pool().stats().crashed, 0);
  EXPECT_EQ(pool().stats().timed_out, 0);
}

TEST_F(JqSchedulerTest, RestartsAKilledLauncherAndItsWorkers) {
  start({.workers = 1});
  const Answers looping = evaluate_later(pool(), on_lane(1, kLoop, kForever));
  wait_for_slow_work(1);
  const pid_t old_launcher = launcher();
  std::vector<pid_t> old_workers;  // two, once the worker that overran its slice is reaped
  ASSERT_TRUE(eventually([&] { return (old_workers = children_of(old_launcher)).size() == 2; }));
  kill(old_launcher, SIGKILL);

  EXPECT_EQ(evaluate_later(pool(), on_lane(2, "length", kForever)).get().at(0), Json(0));
  for (const pid_t worker : old_workers) {
    EXPECT_TRUE(eventually([&] { return kill(worker, 0) != 0; }));
  }
  EXPECT_TRUE(eventually([&] { return pool().stats().ready_workers == 2; }));
  EXPECT_NE(launcher(), old_launcher);
  EXPECT_TRUE(is_pending(looping));
  EXPECT_EQ(pool().stats().crashed, 0);
}

TEST_F(JqSchedulerTest, CanBeDestroyedDuringEvaluationsAndLeavesNoProcess) {
  std::atomic<bool> called{false};
  for (uint64_t lane = 1; lane <= 6; ++lane) {
    Evaluation endless = on_lane(lane, kLoop, kForever);
    endless.space = lane;
    pool().submit(lane, std::move(endless),
                  [&](uint64_t, const std::vector<QueryResult>&) { called = true; });
  }
  wait_for_slow_work(6);
  const std::vector<pid_t> workers = children_of(launcher());
  stop();
  EXPECT_FALSE(called);
  EXPECT_THAT(children_of(getpid()), SizeIs(0));
  for (const pid_t worker : workers) EXPECT_NE(kill(worker, 0), 0);
}

}  // namespace
}  // namespace millrace
