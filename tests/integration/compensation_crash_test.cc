// The process dies when it passes a crash point (os/crash_point.h) while an instance of ten steps
// notes and makes its compensations, also while an operator repeats, passes over and stops them.
// Each compensation begins only after the newer one has ended, counts once, and none is forgotten.
// An ordinary run lets it die at the first passing that is listed of each point, MILLRACE_HITS=1 at
// each of them, and MILLRACE_HITS=3 also at the two passings behind each.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "os/crash_point.h"
#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"
#include "tests/unit/broker/task_world.h"

namespace millrace {
namespace {

constexpr int kKilledWhileCompensating = 128 + SIGKILL;
constexpr int kLastStep = 10;
/// The step whose compensation fails for good, or is stopped.
constexpr int kHeldStep = 5;
/// The step whose compensation fails once and is tried again.
constexpr int kBusyStep = 3;

/// Ten steps, each of which is undone by a task with its number. A jq worker evaluates the input of
/// each compensation when it is noted.
std::string undone_steps() {
  std::string text =
      "id: order\ncompensate: true\n"
      "functions: [{id: call, type: service, service: steps}]\nstates:\n";
  for (int step = 1; step <= kLastStep; ++step) {
    text += fmt::format(R"(- id: step{0}
  type: action
  action: {{function: call, input: {0}}}
  compensate:
    function: call
    input: 'jq({{step: {0}, tag: ("a" | explode | implode)}})'
    retries: {{max_attempts: 2, delay: PT0.05S, codes: ['^busy$']}}
)",
                        step);
    if (step < kLastStep) text += fmt::format("  transition: step{}\n", step + 1);
  }
  return text;
}

/// How an instance is stopped twice: in its last step, and in the compensation of kHeldStep.
enum class StopKind : uint8_t {
  kFailure,  ///< the calls fail; the compensation also fails when an operator repeats it
  kCancel,   ///< an operator cancels the instance, and later repeats the compensation
};

/// Does the tasks of the steps and of their compensations.
class StepWorker {
 public:
  StepWorker(const NatsServer& nats, StopKind kind)
      : worker_(nats, "millrace.tasks.default.steps"), kind_(kind) {}

  /// Answers all tasks that are in the stream now, except those that are stopped by a cancel.
  void work() {
    worker_.ask(R"({"batch":8,"no_wait":true})");
    while (const auto task = worker_.client->next(Duration(1))) {
      if (task->reply.empty()) continue;  // a status message: the pull request has ended
      const Json input = Json::parse(task->data);
      const std::string id = Worker::header(*task, "Direktiv-ActionID");
      if (input.is_number()) {
        do_step(*task, input.get<int>());
      } else {
        undo(*task, input.at("step").get<int>(), id);
      }
    }
  }

  /// Whether the last step has started.
  bool has_last_step() const { return has_last_step_; }
  /// How many attempts of this compensation have started.
  size_t attempts_of(int step) const {
    const auto found = attempts_.find(step);
    return found == attempts_.end() ? 0 : found->second.size();
  }
  /// The steps of the compensations, each attempt once, in the order in which they began.
  const std::vector<int>& started() const { return started_; }

 private:
  void do_step(const RawNatsClient::Message& task, int step) {
    has_last_step_ |= step == kLastStep;
    if (step < kLastStep) return worker_.answer(task, "{}");
    if (kind_ == StopKind::kFailure) worker_.answer(task, "", "Direktiv-ErrorCode: cause\r\n");
  }

  void undo(const RawNatsClient::Message& task, int step, const std::string& id) {
    std::vector<std::string>& attempts = attempts_[step];
    if (std::find(attempts.begin(), attempts.end(), id) == attempts.end()) {
      attempts.push_back(id);
      started_.push_back(step);
    }
    const bool is_first = attempts.front() == id;
    if (step == kHeldStep && kind_ == StopKind::kCancel && is_first) return;
    if (step == kHeldStep && kind_ == StopKind::kFailure) {
      return worker_.answer(task, "", "Direktiv-ErrorCode: not.undone\r\n");
    }
    if (step == kBusyStep && is_first) {
      return worker_.answer(task, "", "Direktiv-ErrorCode: busy\r\n");
    }
    worker_.answer(task, "{}");
  }

  Worker worker_;
  const StopKind kind_;
  bool has_last_step_ = false;
  std::map<int, std::vector<std::string>> attempts_;  ///< the action ids, by step
  std::vector<int> started_;
};

/// Runs the program through one instance. Calls that a crash left without an answer are repeated
/// unless the history shows their effect.
class UndoneRun {
 public:
  UndoneRun(const NatsServer& nats, RawNatsClient& client, StopKind kind,
            const std::filesystem::path& prepared, const std::string& crash)
      : kind_(kind), worker_(nats, kind), server_(nats.url(), {}, MILLRACE_FAULTS_PROGRAM) {
    delete_streams(client);
    std::filesystem::copy(prepared, server_.data());
    server_.launch({{"MILLRACE_CRASH", crash}, {"MILLRACE_CHECKPOINT_BYTES", "1"}});
  }

  void drive() {
    start();
    const bool cancels = kind_ == StopKind::kCancel;
    if (cancels) {
      until("the last step has started", [&] { return worker_.has_last_step(); });
      command("cancel?now=1", "compensating", 1);
      until("the held compensation has started",
            [&] { return worker_.attempts_of(kHeldStep) > 0; });
      command("cancel", "compensationStopped", 1);
    }
    expect_stopped(1);
    command("compensate", "compensating", 2);
    if (!cancels) {
      expect_stopped(2);
      command("compensate?past=1", "compensating", 3);
    }
    instance_once("all compensations are made",
                  [](const Json& now) { return !now.contains("compensation"); });
  }

  void expect_right() {
    const bool cancels = kind_ == StopKind::kCancel;
    const Json ended = instance_once("the instance has ended", [](const Json&) { return true; });
    EXPECT_EQ(ended.at("status"), cancels ? "cancelled" : "failed");
    EXPECT_EQ(ended.at("error").at("code"), cancels ? "direktiv.cancels.api" : "cause");
    EXPECT_THAT(worker_.started(), testing::ElementsAre(9, 8, 7, 6, 5, 5, 4, 3, 3, 2, 1));
    std::vector<std::string> expected;
    for (int step = kLastStep - 1; step > 0; --step) {
      const bool is_held = step == kHeldStep;
      if (is_held) expected.push_back(fmt::format("undoing step{}", step));
      expected.push_back(fmt::format("undoing step{}", step));
      const bool is_passed_over = is_held && !cancels;
      if (!is_passed_over) expected.push_back(fmt::format("undone step{}", step));
    }
    std::optional<std::vector<std::string>> found;
    until("the history is read", [&] { return (found = records("undoing,undone")).has_value(); });
    EXPECT_EQ(*found, expected) << "each begins after the end of the newer one, and counts once";
  }

  /// The exit code of each process that died.
  const std::vector<int>& deaths() const { return deaths_; }

 private:
  void start() {
    until("the instance has started", [&] {
      const HttpReply reply =
          server_.ask("POST", "workflows/order/start", "{}", {{"Idempotency-Key", "the only one"}});
      if (reply.status != 200 && reply.status != 201) return false;
      id_ = reply.json().at("id");
      return true;
    });
  }

  /// Gives a command about the instance until the history has `count` records of that kind.
  void command(const std::string& verb, const std::string& kind, size_t count) {
    until(verb, [&] {
      const auto found = records(kind);
      if (!found) return false;
      if (found->size() >= count) return true;
      server_.ask("POST", fmt::format("instances/{}/{}", id_, verb));
      return false;
    });
  }

  /// Waits until the instance has ended with the held compensation and the older ones left; it is
  /// stopped for the `time`th time.
  void expect_stopped(size_t time) {
    until("the compensations are stopped", [&] {
      const auto stops = records("compensationStopped");
      return stops && stops->size() == time;
    });
    const Json stopped = instance_once("the instance has ended", [](const Json&) { return true; });
    EXPECT_EQ(stopped.at("compensation").at("left"), kHeldStep);
  }

  /// The instance once it has ended and the condition holds.
  template <class Condition>
  Json instance_once(std::string_view what, const Condition& condition) {
    Json found;
    until(what, [&] {
      const HttpReply reply = server_.ask("GET", "instances/" + id_);
      if (reply.status != 200) return false;
      found = reply.json();
      return found.contains("endedAt") && condition(found);
    });
    return found;
  }

  /// The records of these kinds, as `kind state`, oldest first; nullopt: the process does not
  /// answer now.
  std::optional<std::vector<std::string>> records(const std::string& kinds) {
    const HttpReply reply =
        server_.ask("GET", fmt::format("instances/{}/history?kind={}", id_, kinds));
    if (reply.status != 200) return std::nullopt;
    const Json body = reply.json();
    std::vector<std::string> found;
    for (const Json& record : body.at("items")) {
      found.push_back(record.at("kind").get<std::string>() + " " + record.value("state", ""));
    }
    return found;
  }

  void restart_if_it_died() {
    if (server_.is_running() && listens_) return;
    if (!server_.is_running()) {
      deaths_.push_back(server_.end().code);
      server_.launch();
    }
    listens_ = server_.listens();
  }

  template <class Condition>
  void until(std::string_view what, const Condition& condition) {
    const bool came = eventually([&] {
      restart_if_it_died();
      worker_.work();
      return condition();
    });
    CHECK(came, "not true in time: {}\n{}", what, server_.process().errors());
  }

  const StopKind kind_;
  StepWorker worker_;
  MillraceServer server_;
  std::string id_;
  bool listens_ = false;
  std::vector<int> deaths_;
};

/// The passings of a point at which the process dies. Most points are passed more than ten times
/// before the first compensation is made.
struct PointOfUndoing {
  CrashPoint point;
  std::vector<int> hits;
};

const PointOfUndoing kPointsOfUndoing[] = {
    {CrashPoint::kGathered, {13, 25}},       {CrashPoint::kCommandApplied, {2, 3}},
    {CrashPoint::kAnswering, {2, 3}},        {CrashPoint::kAnswered, {2, 3}},
    {CrashPoint::kTimerApplied, {1}},        {CrashPoint::kEvaluating, {1, 5}},
    {CrashPoint::kEvaluationAsked, {1, 5}},  {CrashPoint::kEvaluated, {1, 5}},
    {CrashPoint::kResultQueued, {1, 5}},     {CrashPoint::kResultApplied, {13, 25}},
    {CrashPoint::kFinished, {13, 25}},       {CrashPoint::kWritten, {13, 25}},
    {CrashPoint::kCommitted, {13, 25}},      {CrashPoint::kJournalStarted, {3, 13}},
    {CrashPoint::kJournalTurned, {3, 13}},   {CrashPoint::kPagesWritten, {13, 25}},
    {CrashPoint::kPagesSynced, {13, 25}},    {CrashPoint::kRootWritten, {13, 25}},
    {CrashPoint::kCheckpointStep, {13, 25}}, {CrashPoint::kCheckpointed, {13, 25}},
    {CrashPoint::kHandingOut, {13, 17}},     {CrashPoint::kHandedOut, {13, 17}},
    {CrashPoint::kTaskSent, {13, 17}},       {CrashPoint::kReported, {13, 17}},
    {CrashPoint::kReportQueued, {13, 17}},   {CrashPoint::kReportStored, {13, 17}},
};

std::string name_of_point(CrashPoint point) {
  const auto found = std::find_if(kCrashPoints.begin(), kCrashPoints.end(),
                                  [&](const CrashPointName& one) { return one.point == point; });
  CHECK(found != kCrashPoints.end());
  return std::string(found->name);
}

class CompensationCrash : public testing::Test {
 protected:
  CompensationCrash() {
    MillraceServer server("nats://127.0.0.1:1");  // no server listens there
    server.start();
    server.apply(undone_steps());
    server.stop();
    std::filesystem::copy(server.data(), prepared());
  }

  std::filesystem::path prepared() const { return folder_.path() / "prepared"; }

  /// Lets the process die at each point, and expects that it did at the first passing of the list.
  void die_at_each_point(const std::string& name, StopKind kind) {
    Campaign campaign("crash points: compensations, " + name,
                      "each compensation once, after the newer one, none forgotten");
    const auto chosen = static_cast<int>(number_from("MILLRACE_HITS", 0));
    for (const PointOfUndoing& one : kPointsOfUndoing) {
      for (const int first : one.hits) {
        if (chosen == 0 && first != one.hits.front()) continue;
        for (int hit = first; hit < first + std::max(chosen, 1); ++hit) {
          const std::string crash = fmt::format("{}:{}", name_of_point(one.point), hit);
          campaign.run(crash, [&] {
            UndoneRun run(nats_, *client_, kind, prepared(), crash);
            run.drive();
            run.expect_right();
            EXPECT_TRUE(!run.deaths().empty() || hit != one.hits.front()) << "it is not passed";
            EXPECT_LE(run.deaths().size(), 1U);
            for (const int code : run.deaths()) EXPECT_EQ(code, kKilledWhileCompensating);
          });
        }
      }
    }
  }

  NatsServer nats_;
  std::unique_ptr<RawNatsClient> client_ = nats_.client();
  Folder folder_;
};

TEST_F(CompensationCrash, UndoesEachStepOnceWhenOneFailsForGood) {
  die_at_each_point("a failure for good", StopKind::kFailure);
}

TEST_F(CompensationCrash, UndoesEachStepOnceAfterASecondCancel) {
  die_at_each_point("a second cancel", StopKind::kCancel);
}

}  // namespace
}  // namespace millrace
