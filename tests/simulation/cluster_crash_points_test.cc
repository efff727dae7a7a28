// A node of a cluster dies at a crash point (os/crash_point.h) at the first three passings, in each
// type of state, and a standby takes over in place of a restart. The results must be the same as
// without a crash, and both nodes must have the same rows.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"
#include "os/crash_point.h"
#include "tests/simulation/answer_code.h"
#include "tests/simulation/cluster_world.h"
#include "tests/support/campaign.h"
#include "tests/support/crash_scenarios.h"

namespace millrace {
namespace {

constexpr int kHits = 3;  ///< at how many passings of each point a process dies, one run for each
constexpr size_t kPartsBefore = 2;  ///< of each commit, if a part of one is to be appended
/// How much the clock of one node is ahead: rows that a node writes for itself alone, and not for
/// the log, differ from those that the other node writes in their place.
constexpr Duration kOffset{1'000};
constexpr const char* kKeys[] = {"e1", "e2", "e3", "c1", "c2", "c3"};

constexpr const char* kWebhook =
    R"({"webhooks": [{"url": "http://hook", "types": ["millrace.instance.completed"]}]})";

/// Thrown in place of the end of a process.
struct EndAtPoint {};

QueryResult result_of(Json value) { return LazyJson::of_tree(std::move(value)); }

/// Defines the programs of the scenarios that the fast lane does not take.
void define_programs(TestEvaluator& evaluator) {
  const auto upper = [](const Json&) { return result_of("PT0.15S"); };
  const auto yes = [](const Json&) { return result_of(true); };
  evaluator.define(R"("pt0.15s" | ascii_upcase)", upper);
  evaluator.define("(.var.seen.key | explode) == (.begin.key | explode)", [](const Json& input) {
    return result_of(input["var"]["seen"]["key"] == input["begin"]["key"]);
  });
  evaluator.define("{begin: {key: (.begin.key | explode | implode)}}", [](const Json& input) {
    return result_of({{"begin", input["begin"]}});
  });
  evaluator.define(R"({"required":["begin"],"type":"object"})", yes);
}

/// Two nodes through one scenario, of which one dies at the point, at that passing.
class CrashRun {
 public:
  CrashRun(const CrashScenario& scenario, CrashPoint point, int hit)
      : scenario_(scenario), point_(point), left_(hit), world_({Duration(0), kOffset}) {
    world_.chunk_bytes = 200;  // the store of a scenario is small
    for (size_t i = 0; i < world_.size(); ++i) define_programs(world_.node(i).evaluator);
    EXPECT_TRUE(active().take_over());
    if (scenario_.has_webhook) {
      must(CreateNamespace{.name = "default", .settings = Json::parse(kWebhook)});
    }
    must(World::application(scenario_.definition));
    if (!scenario_.child.empty()) must(World::application(scenario_.child));
    standby().follow();
    world_.on_point = [this](CrashPoint at) { pass(at); };
    world_.log.decide_fates([this] { return fate(); });
  }

  bool has_died() const { return has_died_; }

  /// Starts and wakes all instances, and runs until they have ended.
  void drive() {
    for (int i = 1; i <= 3; ++i) {
      for (const std::string& type : scenario_.start_events) publish(type, fmt::format("e{}", i));
      settle();
      call(fmt::format("c{}", i));
      if (i < 3) strike();
    }
    for (const std::string& type : scenario_.wake_events) {
      for (const char* const key : kKeys) publish(type, key);
      settle();
    }
    strike();
    run_for(std::chrono::seconds(10));
  }

  void expect_right() {
    const std::vector<Json> all = active().stage().instances("work").value();
    EXPECT_EQ(all.size(), std::size(kKeys));
    std::set<std::string> keys;
    std::map<std::string, std::set<std::string>> hooked;
    for (const Event& event : world_.receivers.events) {
      hooked[event.subject.value_or("")].insert(event.id);
    }
    for (const Json& item : all) {
      const std::string id = item.at("id");
      const Json instance = active().stage().instance(id).value();
      const std::string key = instance.at("input").at("begin").at("key");
      EXPECT_TRUE(keys.insert(key).second) << key << " twice";
      EXPECT_EQ(instance.at("status"), scenario_.status) << instance;
      EXPECT_EQ(instance.value("run", 1), scenario_.runs) << instance;
      EXPECT_EQ(instance.value(Json::json_pointer("/error/code"), ""), scenario_.error);
      EXPECT_EQ(calls_.contains(key) ? calls_[key] : id, id) << "the call " << key;
      EXPECT_EQ(hooked[id].size(), scenario_.has_webhook ? 1U : 0U) << "webhook event ids";
      expect_history(id);
    }
    EXPECT_EQ(calls_.size(), 3U);
    expect_published();
    expect_tasks();
    if (scenario_.children > 0) {
      EXPECT_EQ(active().stage().instances("child").value().size(),
                std::size(kKeys) * scenario_.children);
    }
    for (const auto& stored : world_.broker.others()) {
      EXPECT_FALSE(stored.message.subject.starts_with("millrace.dlq."));
    }
  }

  /// The node that is not the active gets all that the log has, and if a snapshot was to be taken
  /// or loaded, by a snapshot. The end of each process checks its store.
  void expect_equal_stores() {
    world_.on_point = {};
    if (point_ >= CrashPoint::kSnapshotPart) {
      take_snapshot();
      world_.trim_to(world_.newest_snapshot());
      standby().join();
    }
    standby().follow();
    for (size_t i = 0; i < world_.size(); ++i) {
      EXPECT_EQ(world_.node(i).position(), world_.log.last_commit());
      world_.node(i).expect_rows_of_log();
    }
    EXPECT_TRUE(standby().rows() == active().rows());
    world_.expect_sound_log();
    for (size_t i = 0; i < world_.size(); ++i) world_.node(i).crash();
  }

 private:
  WorldNode& active() { return world_.node(active_); }
  WorldNode& standby() { return world_.node(1 - active_); }

  void must(Command command) {
    const Answered answered = active().command(std::move(command));
    active().run_until_idle();
    EXPECT_EQ(answer_code(answered), "ok");
  }

  // The death.

  /// Whether the process dies here, at this passing of the point.
  bool is_last(CrashPoint at) { return at == point_ && --left_ == 0; }

  void pass(CrashPoint at) {
    if (is_last(at)) throw EndAtPoint();
  }

  AppendFate fate() {
    AppendFate fate;
    const auto pass_muted = [this](CrashPoint at) {
      if (!is_last(at)) return;
      if (active().is_active()) active().mute();
      throw EndAtPoint();
    };
    pass_muted(CrashPoint::kLogAppending);
    if (point_ == CrashPoint::kLogPartAppended) fate.parts = kPartsBefore;
    fate.on_part = [pass_muted] { pass_muted(CrashPoint::kLogPartAppended); };
    fate.meanwhile = [this, pass_muted] {
      pass_muted(CrashPoint::kLogAppended);
      if (!active().is_active() || !is_last(CrashPoint::kCommitted)) return;
      active().mute();
      dies_after_turn_ = true;
    };
    return fate;
  }

  /// A standby is started in the folder of the process that has died.
  void restart_the_dead() {
    has_died_ = true;
    dies_after_turn_ = false;
    if (active().is_active() || active().is_standby()) active().crash();
    active().recover();
  }

  /// What leads to the point, if the work of the scenario does not.
  void strike() {
    switch (point_) {
      case CrashPoint::kEpochOpened:
      case CrashPoint::kActive:
        active().restart();
        break;
      case CrashPoint::kSnapshotPart:
      case CrashPoint::kSnapshotComplete:
        take_snapshot();
        break;
      case CrashPoint::kSnapshotLoading:
        if (has_died_) break;
        take_snapshot();
        ASSERT_GT(world_.newest_snapshot().chunks.size(), static_cast<size_t>(left_));
        standby().join(static_cast<size_t>(left_));
        EXPECT_EQ(standby().loads, 1) << "the process that has died has loaded none";
        has_died_ = true;
        active().restart();
        break;
      default:
        break;
    }
    settle();
  }

  /// The active takes a snapshot, as it does if there is no standby.
  void take_snapshot() {
    const size_t before = world_.snapshots.size();
    try {
      while (world_.snapshots.size() == before) active().read_chunk();
    } catch (const EndAtPoint&) {
      restart_the_dead();
    }
  }

  // The work.

  /// Runs until nothing more happens unless the clocks move. If there is no active, the standby
  /// takes over.
  void settle() {
    while (true) {
      try {
        if (!active().is_active()) {
          active_ = 1 - active_;
          active().follow();
          ASSERT_TRUE(active().take_over());
        }
        while (step()) continue;
        return;
      } catch (const EndAtPoint&) {
        restart_the_dead();
      }
    }
  }

  bool step() {
    const bool has_moved = active().step();
    if (dies_after_turn_) throw EndAtPoint();
    return answer_tasks() || has_moved;
  }

  /// Answers each task that was handed out, also again, with its input.
  bool answer_tasks() {
    const std::vector<InstanceId>& ids = world_.functions.handed_out();
    const size_t before = answered_;
    for (; answered_ < ids.size(); ++answered_) {
      for (const Task& task : world_.functions.tasks()) {
        if (task.id == ids[answered_]) world_.functions.answer(task.id, Json::parse(task.input));
      }
    }
    return answered_ > before;
  }

  void run_for(Duration time) {
    settle();
    while (time > Duration(0) && !testing::Test::HasFatalFailure()) {
      const Duration step = std::min(time, active().stage().next_due().value_or(time));
      world_.advance(step);
      time -= step;
      settle();
    }
  }

  void publish(const std::string& type, const std::string& key) {
    world_.publish(type, type + "-" + key, {{"key", key}}, {{"key", key}});
  }

  /// Starts an instance; a call that a death has left without an answer is repeated.
  void call(const std::string& key) {
    for (int asked = 0; asked < 2; ++asked) {
      const Answered answered = active().start("work", {{"begin", {{"key", key}}}}, key);
      settle();
      if (answer_code(answered) != "ok") continue;
      calls_[key] = (**answered).value()["id"];
      return;
    }
    FAIL() << "no node answers the call " << key;
  }

  // Checks.

  /// Expects one start (of the last run), one end, each state once, and no early end.
  void expect_history(const std::string& id) {
    std::vector<std::string> entered;
    std::vector<TimePoint> started;
    std::vector<TimePoint> ended;
    const Json history = active().stage().history(id).value();
    for (const Json& record : history) {
      const TimePoint time = parse_rfc3339(record.at("time").get<std::string>()).value();
      const std::string kind = record.at("kind");
      if (kind == "entered") entered.push_back(record.at("state"));
      if (kind == (scenario_.runs > 1 ? "continued" : "started")) started.push_back(time);
      if (kind == "ended") ended.push_back(time);
    }
    EXPECT_EQ(entered, scenario_.entered);
    ASSERT_EQ(started.size(), 1U);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_GE(ended[0] - started[0], scenario_.generates_event ? Duration(0) : scenario_.at_least);
  }

  void expect_published() {
    std::map<std::string, std::set<std::string>> ids;
    for (const Event& event : events_in(world_.broker, "told")) {
      ids[payload(event)["key"].get<std::string>()].insert(event.id);
    }
    EXPECT_EQ(ids.size(), scenario_.generates_event ? std::size(kKeys) : 0);
    for (const auto& [key, all] : ids) EXPECT_EQ(all.size(), 1U) << key;
  }

  void expect_tasks() {
    std::map<std::string, std::set<std::string>> ids;
    for (const Task& task : world_.functions.tasks()) ids[task.input].insert(to_string(task.id));
    EXPECT_EQ(ids.size(), scenario_.has_task ? std::size(kKeys) : 0);
    for (const auto& [key, all] : ids) EXPECT_EQ(all.size(), 1U) << "the task of " << key;
  }

  const CrashScenario& scenario_;
  const CrashPoint point_;
  int left_;  ///< how many passings of the point are left, the last of which ends the process
  bool has_died_ = false;
  bool dies_after_turn_ = false;
  ClusterWorld world_;
  size_t active_ = 0;
  size_t answered_ = 0;                       ///< how many hand-outs of tasks were answered
  std::map<std::string, std::string> calls_;  ///< the ids that calls returned, by key
};

class ClusterCrashPoints : public testing::TestWithParam<CrashScenario> {};

TEST_P(ClusterCrashPoints, LoseAndRepeatNothing) {
  Campaign campaign("cluster crash points: " + GetParam().name,
                    "each instance once, stable answers and ids, equal and sound stores");
  std::vector<CrashPointName> points(kClusterCrashPoints.begin(), kClusterCrashPoints.end());
  points.push_back({CrashPoint::kCommitted, "committed"});
  for (const auto& [point, name] : points) {
    for (int hit = 1; hit <= kHits; ++hit) {
      campaign.run(fmt::format("{}:{}", name, hit), [&, at = point] {
        CrashRun run(GetParam(), at, hit);
        run.drive();
        EXPECT_TRUE(run.has_died());
        if (testing::Test::HasFatalFailure()) return;
        run.expect_right();
        run.expect_equal_stores();
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ClusterCrashPoints, testing::ValuesIn(kScenarios),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace millrace
