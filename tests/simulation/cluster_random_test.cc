// Random work on the nodes of a cluster, under random faults: nodes die at any moment, pause and
// take over while another one takes itself for the active, and clocks differ by minutes. Nodes take
// snapshots while others commit, the log is trimmed, and nodes load snapshots, also in vain. The
// log loses its newest messages, and a node that has them appends them again; if no process has
// them any more, no node may take over. Then the faults end and the results are checked. A seed
// determines everything (seeds.h); MILLRACE_CLUSTER_SEEDS=… sets the number of seeds, and
// MILLRACE_STEPS=… that of the steps.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "cloudevents/headers.h"
#include "tests/simulation/answer_code.h"
#include "tests/simulation/cluster_world.h"
#include "tests/support/campaign.h"
#include "tests/support/seeds.h"

namespace millrace {
namespace {

using std::chrono::hours;

constexpr int kDefaultSteps = 700;
const int kClusterSteps =
    static_cast<int>(number_from_environment("MILLRACE_STEPS", kDefaultSteps));

constexpr uint64_t kMostLost = 6;  ///< so many messages the log loses at most at once

/// Each tick starts one instance, whose event starts one instance that waits for a timer.
constexpr const char* kCounts = R"(
id: counts
start: {type: event, event: {type: tick}}
states:
- {id: say, type: generateEvent, event: {type: counted, source: /counts, data: 'jq({n: .tick.n})'}}
)";
constexpr const char* kSinks = R"(
id: sinks
start: {type: event, event: {type: counted}}
states:
- {id: rest, type: delay, duration: PT5S}
)";

/// A workflow that a client starts: it evaluates a jq program, and waits until it is paid.
constexpr const char* kOrdered = R"(
id: ordered
states:
- {id: judge, type: noop, transform: jq(think), transition: wait}
- id: wait
  type: consumeEvent
  event: {type: paid, context: {order: jq(.order)}}
  transition: say
- {id: say, type: generateEvent, event: {type: delivered, source: /ordered, data: 'jq({order: .order})'}}
)";

/// What the faults of a run have led to.
struct FaultCounts {
  int epochs = 0;
  std::map<std::string, int> ends;  ///< of engines, by the code of the error
  int orders = 0;
  int snapshots = 0;
  int loads = 0;     ///< of snapshots
  int losses = 0;    ///< of the newest messages of the log
  int restores = 0;  ///< of what it had lost
  int stops = 0;     ///< because no process could restore it
};

class ClusterSimulation {
 public:
  explicit ClusterSimulation(uint64_t seed)
      : random_(seed), world_(offsets(), seed), paused_(world_.size()) {
    for (size_t i = 0; i < world_.size(); ++i) {
      node(i).evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
    }
    world_.asks_others = true;
    EXPECT_TRUE(node(0).take_over());
    for (const char* const text : {kCounts, kSinks, kOrdered}) {
      const Answered answered = node(0).command(World::application(text));
      node(0).run_until_idle();
      EXPECT_EQ(answer_code(answered), "ok");
    }
    for (size_t i = 0; i < world_.size(); ++i) node(i).evaluator.hold();
    world_.change_store_options = [this](EnvironmentOptions& options) {
      if (one_in(2)) options.checkpoint_bytes = below(100'000);
    };
    world_.log.decide_fates([this] { return append_fate(); });
    world_.broker.decide_fates([this](const NatsMessage&) { return publish_fate(); });
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      step();
      if (one_in(2)) world_.mend();
    }
  }

  /// Ends the faults, and runs one active until the world is idle.
  void run_to_rest() {
    world_.log.decide_fates({});
    world_.broker.decide_fates({});
    world_.broker.reconnect();
    world_.mend();
    is_stopped_ = world_.has_lost_messages();
    for (size_t i = 0; i < world_.size(); ++i) {
      node(i).restart();
      node(i).evaluator.release();
    }
    if (is_stopped_) return;
    active_ = below(world_.size());
    node(active_).follow();
    ASSERT_TRUE(node(active_).take_over());
    world_.run_for(node(active_), hours(1));
    for (auto& [key, order] : orders_) {
      note_answers(order);
      if (!order.ids.empty()) continue;
      order.asked.push_back(node(active_).start("ordered", {{"order", key}}, key));
      node(active_).run_until_idle();
      EXPECT_EQ(answer_code(order.asked.back()), "ok");
    }
    for (const auto& [key, order] : orders_) {
      world_.publish("paid", "paid-" + key, {{"order", key}}, {{"order", key}});
    }
    world_.run_for(node(active_), hours(1));
  }

  void check() {
    if (is_stopped_) return check_stop();
    check_stores();
    check_ticks("counts", "tick");
    check_ticks("sinks", "counted");
    check_orders();
  }

  FaultCounts counts() {
    FaultCounts counts;
    for (const auto& message : world_.log.messages()) counts.epochs += message.is_epoch() ? 1 : 0;
    for (size_t i = 0; i < world_.size(); ++i) {
      for (const auto& [code, times] : node(i).ends) counts.ends[code] += times;
      counts.loads += node(i).loads;
      counts.restores += node(i).restores;
    }
    counts.snapshots = static_cast<int>(world_.snapshots.size());
    counts.orders = static_cast<int>(orders_.size());
    counts.losses = losses_;
    counts.stops = is_stopped_ ? 1 : 0;
    return counts;
  }

 private:
  /// What a client has asked for under one key.
  struct Order {
    std::vector<Answered> asked;  ///< each time that the client has asked
    std::set<std::string> ids;    ///< of the instance, as acknowledged
  };

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool one_in(uint64_t number) { return below(number) == 0; }

  /// Two or three nodes, whose clocks differ by minutes.
  std::vector<Duration> offsets() {
    std::vector<Duration> made(2 + below(2));
    for (Duration& one : made) one = Duration(below(600'000)) - Duration(300'000);
    return made;
  }

  WorldNode& node(size_t index) { return world_.node(index); }

  /// A random node that is active, or a standby, and is not paused; null: the one that was chosen
  /// is not.
  WorldNode* choose(bool is_active) {
    const size_t index = below(world_.size());
    if (paused_[index]) return nullptr;
    const bool fits = is_active ? node(index).is_active() : node(index).is_standby();
    return fits ? &node(index) : nullptr;
  }

  AppendFate append_fate() {
    AppendFate fate;
    fate.is_stored = !one_in(25);
    fate.is_acked = !one_in(25);
    if (!is_nested_ && one_in(12)) {
      fate.meanwhile = [this] {
        is_nested_ = true;
        if (WorldNode* const other = choose(false)) {
          other->follow();
          other->take_over();
        }
        is_nested_ = false;
      };
    }
    return fate;
  }

  PublishFate publish_fate() {
    PublishFate fate;
    if (!one_in(4)) return fate;
    fate.arrives = !one_in(4);
    fate.acked = !one_in(4);
    fate.twice = one_in(4);
    fate.delay = static_cast<int>(below(5));
    fate.ack_delay = static_cast<int>(below(5));
    return fate;
  }

  void step() {
    switch (below(29)) {
      case 0:
      case 1:
      case 2:
        ++ticks_;
        return world_.publish("tick", fmt::format("tick-{}", ticks_), Json{{"n", ticks_}});
      case 3:
      case 4:
        return order();
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
        return run_active();
      case 11:
      case 12:
        if (WorldNode* const active = choose(true)) active->turn();
        return;
      case 13:
      case 14:
        if (WorldNode* const standby = choose(false)) standby->follow(1 + below(8));
        return;
      case 15:
      case 16:
        return take_over();
      case 17:
        return evaluate();
      case 18:
      case 19:
        return world_.advance(Duration(below(one_in(6) ? 20'000 : 500)));
      case 20:
        return die();
      case 21: {
        const size_t index = below(world_.size());
        // A node that does not answer may be the only one that knows of a loss.
        paused_[index] = !paused_[index] && one_in(2) && !world_.has_lost_messages();
        return;
      }
      case 22:
        if (one_in(4)) world_.broker.disconnect();
        if (one_in(2)) world_.broker.reconnect();
        return;
      case 23:
      case 24:
        return read_chunks();
      case 25:
        return trim();
      case 26:
        return join();
      case 27:
        return lose_tail();
      default:
        if (one_in(8)) node(below(world_.size())).clock.jump(Duration(below(60'000)));
        return node(below(world_.size())).expect_rows_of_log();
    }
  }

  void run_active() {
    WorldNode* const active = choose(true);
    for (uint64_t rounds = 1 + below(4); active != nullptr && rounds > 0; --rounds) {
      if (active->is_active()) active->step(1 + below(16));
    }
  }

  /// A client starts an instance, or asks again for one that no node has acknowledged.
  void order() {
    WorldNode* const active = choose(true);
    if (active == nullptr) return;
    for (auto& [key, order] : orders_) {
      note_answers(order);
      if (!order.ids.empty() || !one_in(3)) continue;
      order.asked.push_back(active->start("ordered", {{"order", key}}, key));
      return;
    }
    const std::string key = fmt::format("o{}", orders_.size() + 1);
    orders_[key].asked.push_back(active->start("ordered", {{"order", key}}, key));
  }

  static void note_answers(Order& order) {
    for (const Answered& answered : order.asked) {
      if (answer_code(answered) != "ok") continue;
      order.ids.insert((**answered).value()["id"].get<std::string>());
    }
  }

  void take_over() {
    WorldNode* const standby = choose(false);
    if (standby == nullptr) return;
    standby->follow();
    if (!one_in(3)) standby->take_over();
  }

  void evaluate() {
    WorldNode* const active = choose(true);
    if (active == nullptr || active->evaluator.waiting() == 0) return;
    active->evaluator.answer(below(active->evaluator.waiting()));
  }

  /// A node, active or not, continues its snapshot.
  void read_chunks() {
    const size_t index = below(world_.size());
    for (uint64_t chunks = 1 + below(40); chunks > 0 && !paused_[index]; --chunks) {
      node(index).read_chunk();
    }
  }

  void trim() {
    const auto& snapshots = world_.snapshots;
    if (!snapshots.empty() && one_in(2)) world_.trim_to(snapshots[below(snapshots.size())]);
  }

  /// A standby loads a snapshot in place of its store; the process may die meanwhile.
  void join() {
    WorldNode* const standby = choose(false);
    if (standby == nullptr || world_.snapshots.empty() || !one_in(3)) return;
    if (world_.has_lost_messages()) return;  // its store may be the only one that has them
    standby->join(one_in(2) ? below(50) : SIZE_MAX);
  }

  /// The log loses messages that no snapshot has. All nodes answer then.
  void lose_tail() {
    const bool is_paused = std::find(paused_.begin(), paused_.end(), true) != paused_.end();
    if (is_paused || world_.has_lost_messages() || !one_in(4)) return;
    uint64_t kept = world_.log.first_sequence();
    for (const WorldSnapshot& one : world_.snapshots) kept = std::max(kept, one.to.sequence);
    const uint64_t last = world_.log.last_sequence();
    if (last <= kept) return;
    // Standbys read what comes at once, so seldom only a process that has ended has read it.
    for (size_t i = 0; i < world_.size(); ++i) {
      if (node(i).is_standby() && !one_in(4)) node(i).follow();
    }
    if (!world_.keeps(last) && !one_in(16)) return;
    world_.log.lose_tail(1 + below(std::min<uint64_t>(last - kept, kMostLost)));
    ++losses_;
  }

  void die() {
    WorldNode& dying = node(below(world_.size()));
    if (dying.is_active() && one_in(2)) {
      dying.crash_after_commit();
    } else {
      dying.crash();
    }
    dying.recover();
  }

  // Checks.

  void check_stores() {
    world_.expect_sound_log();
    for (size_t i = 0; i < world_.size(); ++i) {
      if (i != active_) node(i).follow();
      EXPECT_EQ(node(i).position(), world_.log.last_commit());
      node(i).expect_rows_of_log();
      EXPECT_TRUE(node(i).rows() == node(active_).rows()) << "node " << i;
    }
  }

  /// What is lost is only in the stores: each has a part of one history, and no node takes over.
  void check_stop() {
    world_.expect_sound_log();
    const uint64_t last = world_.log.last_sequence();
    for (size_t i = 0; i < world_.size(); ++i) {
      node(i).follow();
      EXPECT_FALSE(node(i).take_over()) << "node " << i << " begins another history";
      node(i).expect_rows_of_log();
    }
    EXPECT_EQ(world_.log.last_sequence(), last);
  }

  std::vector<Json> instances_of(std::string_view workflow) {
    Stage& stage = node(active_).stage();
    std::vector<Json> all;
    const Json instances = stage.instances(workflow).value();
    for (const Json& item : instances) {
      all.push_back(stage.instance(item["id"].get<std::string>()).value());
      EXPECT_EQ(all.back()["status"], "complete") << all.back().dump();
    }
    return all;
  }

  /// Checks that each tick has led to one instance of the workflow.
  void check_ticks(std::string_view workflow, const std::string& type) {
    std::vector<int> counted;
    for (const Json& instance : instances_of(workflow)) {
      counted.push_back(instance["input"][type]["n"].get<int>());
    }
    std::sort(counted.begin(), counted.end());
    std::vector<int> expected;
    for (int n = 1; n <= ticks_; ++n) expected.push_back(n);
    EXPECT_EQ(counted, expected) << workflow;
  }

  /// Checks that each order was started once, as it was acknowledged, and delivered once.
  void check_orders() {
    std::map<std::string, std::set<std::string>> started;
    for (const Json& instance : instances_of("ordered")) {
      started[instance["input"]["order"].get<std::string>()].insert(
          instance["id"].get<std::string>());
    }
    EXPECT_EQ(started.size(), orders_.size());
    for (auto& [key, order] : orders_) {
      note_answers(order);
      EXPECT_EQ(order.ids.size(), 1U) << key << " was acknowledged under several ids";
      EXPECT_EQ(started[key], order.ids) << key;
    }
    std::map<std::string, std::set<std::string>> delivered;
    for (const Event& event : events_in(world_.broker, "delivered")) {
      delivered[payload(event)["order"].get<std::string>()].insert(event.id);
    }
    EXPECT_EQ(delivered.size(), orders_.size());
    for (const auto& [key, ids] : delivered) EXPECT_EQ(ids.size(), 1U) << key;
  }

  std::mt19937_64 random_;
  ClusterWorld world_;
  std::vector<bool> paused_;
  std::map<std::string, Order> orders_;
  size_t active_ = 0;  ///< the active at the end
  int ticks_ = 0;
  bool is_nested_ = false;
  bool is_stopped_ = false;  ///< the log has lost messages that no process has
  int losses_ = 0;
};

TEST(RandomClusterFaults, LoseNothingAndCountNothingTwice) {
  constexpr uint64_t kSeeds = 6;
  Campaign campaign("random faults in a simulated cluster",
                    "all stores have the same rows, each event and command counts once");
  // LMDB allocates 2 MB of zeros for each store, and uses few of them. Those that come from the
  // system need not be written.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  FaultCounts all;
  const auto chosen = seeds(number_from_environment("MILLRACE_CLUSTER_SEEDS", kSeeds));
  for (const uint64_t seed : chosen) {
    campaign.run(fmt::format("MILLRACE_SEED={}", seed), [&] {
      ClusterSimulation simulation(seed);
      simulation.run(kClusterSteps);
      if (testing::Test::HasFailure()) return;
      simulation.run_to_rest();
      if (testing::Test::HasFatalFailure()) return;
      simulation.check();
      const FaultCounts counts = simulation.counts();
      all.epochs += counts.epochs;
      all.orders += counts.orders;
      all.snapshots += counts.snapshots;
      all.loads += counts.loads;
      all.losses += counts.losses;
      all.restores += counts.restores;
      all.stops += counts.stops;
      for (const auto& [code, times] : counts.ends) all.ends[code] += times;
    });
    if (testing::Test::HasFailure()) return;
  }
  fmt::print("{} losses of the log, {} restored, {} runs stopped because none could be\n",
             all.losses, all.restores, all.stops);
  if (chosen.size() < kSeeds || kClusterSteps < kDefaultSteps) return;
  EXPECT_GT(all.epochs, 25);
  EXPECT_GT(all.orders, 15);
  EXPECT_GT(all.ends["log.deposed"], 4);
  EXPECT_GT(all.ends["log.closed"], 4);
  EXPECT_GT(all.snapshots, 6);
  EXPECT_GT(all.loads, 6);
  EXPECT_GT(all.losses, 6);
  EXPECT_GT(all.restores, 6);
}

}  // namespace
}  // namespace millrace
