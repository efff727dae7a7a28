// ClusterFaults: nodes of a cluster and NATS servers of its log fail under load. Each order is
// there once, one node at a time is the active, and all nodes have the same rows. The store of a
// node is checked when a fault has ended the node, and copies of all stores after each other fault.
// How long nothing was acknowledged is measured and printed. Environment variables: a number of
// faults for each kind, such as MILLRACE_CLUSTER_FAULTS_KILL=200 (docs/promises.md has all);
// MILLRACE_CLUSTER_TIMES=1 fails a test if nothing was acknowledged for longer than its bounds,
// which needs a machine without other work; MILLRACE_SEED=n repeats the random choices of a run;
// MILLRACE_NATS_SERVER names the nats-server.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/integration/cluster_under_load.h"
#include "tests/integration/environment_number.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/campaign.h"
#include "tests/support/outage_bounds.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// How long the active is suspended.
constexpr Duration kPauseOfActive = std::chrono::seconds(9);

/// `--takeover-after` in power cuts, longer than their outage: the active restores only a log to
/// which it has appended less than this time ago. With a shorter one, the node with most continues
/// with a snapshot.
std::string takeover_after_power_cuts() {
  return fmt::format("{}s", number_from("MILLRACE_CLUSTER_TAKEOVER_SECONDS", 60));
}

// The bounds of MILLRACE_CLUSTER_TIMES. The election of the NATS servers takes up to 9 s.
constexpr OutageBounds kActiveIsAway{.median = Duration(3'000), .most = Duration(4'000)};
constexpr OutageBounds kLeaderIsAway{.median = std::nullopt, .most = Duration(10'000)};
constexpr OutageBounds kBothAreAway{.median = std::nullopt, .most = Duration(13'000)};
constexpr OutageBounds kHandedOver{.median = std::nullopt, .most = Duration(1'000)};

class ClusterFaults : public testing::Test {
 protected:
  struct Kind {
    const char* name;
    const char* variable;  ///< of the environment: how many faults
    size_t few;            ///< how many in an ordinary run; 0: none, because each takes minutes
    std::function<void()> strike;
    std::optional<OutageBounds> bounds = std::nullopt;
    /// Whether copies of the folders are checked after each fault. A node that a fault ends is
    /// checked in any case.
    bool checks_copies = true;
    ClusterUnderLoadSettings settings = {};
  };

  void SetUp() override {
    program_ = NatsCluster::newest_program();
    if (!program_) GTEST_SKIP() << kNeedsNewerServer;
  }

  void run(Kind kind) {
    const size_t faults = number_from(kind.variable, kind.few);
    if (faults == 0) GTEST_SKIP() << "set " << kind.variable << ", or run ./dev faults";
    kind.settings.nats_server = *program_;
    kind.settings.nodes = 2 + up_to(1);
    fmt::print("{}={} MILLRACE_SEED={} {} nodes, {}\n", kind.variable, faults, seed_,
               kind.settings.nodes, *program_);
    Campaign campaign(fmt::format("cluster: {}", kind.name),
                      "each order once, one active at a time, equal and sound stores");
    cluster_.emplace(kind.settings);
    cluster_->start();
    for (size_t i = 0; i < faults && !HasFailure(); ++i) {
      campaign.run(fmt::format("fault {}: {}, MILLRACE_SEED={}", i, kind.name, seed_),
                   [&] { strike(kind); });
    }
    if (!HasFailure()) check();
    if (HasFailure()) fmt::print("{}\n", cluster_->logs());
    print_gaps(kind);
    if (kind.bounds && number_from("MILLRACE_CLUSTER_TIMES", 0) != 0) {
      EXPECT_EQ(beyond_bounds(*kind.bounds, gaps_), "");
    }
  }

  // Faults. A fault may leave nodes that are not ready yet.

  void kill_the_active() {
    const std::optional<size_t> active = cluster_->active();
    ASSERT_TRUE(active);
    cluster_->kill_node(*active);
    EXPECT_TRUE(cluster_->has_active_beside(*active)) << "no other node takes over";
    EXPECT_TRUE(cluster_->load().proceeds());
    cluster_->start_node(*active);
  }

  void pause_the_active() {
    const std::optional<size_t> active = cluster_->active();
    ASSERT_TRUE(active);
    const auto until = steady_clock::now() + kPauseOfActive;
    cluster_->node(*active).process().signal(SIGSTOP);
    EXPECT_TRUE(cluster_->has_active_beside(*active)) << "no other node takes over";
    EXPECT_TRUE(cluster_->load().proceeds());
    EXPECT_TRUE(eventually([&] { return steady_clock::now() >= until; }));
    cluster_->node(*active).process().signal(SIGCONT);
  }

  void strike_the_broker(LeaderFault fault) {
    strike_leader(cluster_->brokers(), ClusterUnderLoad::kLog, cluster_->load(), fault,
                  [](const Connection& others) { return ClusterUnderLoad::is_whole(others); });
  }

  void kill_both() {
    const std::unique_ptr<Connection> any = cluster_->brokers().connect();
    const std::optional<size_t> leader = NatsCluster::leader_of(*any, ClusterUnderLoad::kLog);
    const std::optional<size_t> active = cluster_->active();
    ASSERT_TRUE(leader && active);
    broker(*leader).kill();
    cluster_->kill_node(*active);
    EXPECT_TRUE(cluster_->has_active_beside(*active)) << "no other node takes over";
    EXPECT_TRUE(cluster_->load().proceeds());
    ASSERT_TRUE(broker(*leader).start_again());
    cluster_->start_node(*active);
    cluster_->wait_for_brokers(*leader);
  }

  void cut_the_active() {
    const std::optional<size_t> active = cluster_->active();
    ASSERT_TRUE(active);
    cluster_->cut(*active);
    EXPECT_TRUE(cluster_->has_active_beside(*active)) << "no other node takes over";
    EXPECT_TRUE(cluster_->load().proceeds());
    cluster_->join(*active);
  }

  void restart_by_turns() {
    for (size_t i = 0; i < cluster_->size(); ++i) {
      cluster_->stop_node(i);
      EXPECT_TRUE(cluster_->has_active_beside(i)) << "no node is the active after the end of " << i;
      cluster_->start_node(i);
      ASSERT_NO_FATAL_FAILURE(cluster_->settle());
    }
  }

  /// While one NATS server is away, another one loses its newest messages. So two of three, which
  /// may elect a leader, lack messages that were acknowledged.
  void cut_the_power_of_one() {
    std::array<size_t, NatsCluster::kServers> servers = {0, 1, 2};
    std::shuffle(servers.begin(), servers.end(), random_);
    const auto [away, cut, left] = servers;
    SCOPED_TRACE(fmt::format("n{} is away, n{} is put back, n{} keeps all", away, cut, left));
    const Folder copy;
    cluster_->will_lose_messages();
    ASSERT_NO_FATAL_FAILURE(cluster_->copy_broker(cut, copy.path() / "store"));
    ASSERT_TRUE(ages_the_copies());
    broker(away).kill();
    EXPECT_TRUE(cluster_->load().proceeds());
    broker(cut).kill();
    cluster_->put_back(cut, copy.path() / "store");
    const bool is_cut_first = up_to(1) == 0;
    ASSERT_TRUE(broker(is_cut_first ? cut : away).start_again());
    ASSERT_TRUE(broker(is_cut_first ? away : cut).start_again());
    cluster_->wait_for_brokers(cut);
    cluster_->have_lost_messages();
  }

  /// The copies are of different ages. `of_nodes`: also of the nodes, so no process has in memory
  /// what the NATS servers lose.
  void cut_the_power_of_all(bool of_nodes) {
    const std::array<Folder, NatsCluster::kServers> copies;
    cluster_->will_lose_messages();
    for (size_t i = 0; i < copies.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(cluster_->copy_broker(i, copies[i].path() / "store"));
    }
    ASSERT_TRUE(ages_the_copies());
    for (size_t i = 0; of_nodes && i < cluster_->size(); ++i) cluster_->kill_node(i);
    for (size_t i = 0; i < copies.size(); ++i) broker(i).kill();
    for (size_t i = 0; i < copies.size(); ++i) {
      cluster_->put_back(i, copies[i].path() / "store");
      ASSERT_TRUE(broker(i).start_again());
    }
    for (size_t i = 0; of_nodes && i < cluster_->size(); ++i) cluster_->start_node(i);
    cluster_->wait_for_brokers(0);
    cluster_->have_lost_messages();
  }

  /// Lets the load proceed for that long after the copies were made.
  bool ages_the_copies() {
    const Duration age = std::chrono::seconds(number_from("MILLRACE_CLUSTER_COPY_SECONDS", 0));
    // Nothing else ends this node now: the wait takes the whole time.
    if (age.count() > 0) cluster_->node(0).process().wait(age);
    return cluster_->load().proceeds();
  }

  DevServer& broker(size_t index) { return cluster_->brokers().server(index).process(); }

  size_t up_to(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }

  const size_t seed_ = number_from("MILLRACE_SEED", std::random_device{}());
  std::mt19937_64 random_{seed_};
  std::optional<std::string> program_;
  std::optional<ClusterUnderLoad> cluster_;

 private:
  /// One fault at a random moment, until all nodes are ready again.
  void strike(const Kind& kind) {
    // Nothing else ends this node now: the wait takes the whole time.
    cluster_->node(0).process().wait(Duration(up_to(300)));
    const auto from = steady_clock::now();
    ASSERT_NO_FATAL_FAILURE(kind.strike());
    ASSERT_NO_FATAL_FAILURE(cluster_->settle());
    gaps_.push_back(cluster_->load().longest_gap(from));
    fmt::print("{}: {} ms without an acknowledgement\n", kind.name, gaps_.back().count());
    if (kind.checks_copies) cluster_->expect_sound_copies();
  }

  void check() {
    ASSERT_NO_FATAL_FAILURE(cluster_->expect_each_order_once());
    cluster_->expect_equal_stores();
  }

  /// `./dev faults` prints these lines.
  void print_gaps(const Kind& kind) {
    if (gaps_.empty()) return;
    std::sort(gaps_.begin(), gaps_.end());
    fmt::print("gap|cluster: {}|median {} ms|at most {} ms\n", kind.name,
               gaps_[gaps_.size() / 2].count(), gaps_.back().count());
  }

  std::vector<Duration> gaps_;  ///< how long nothing was acknowledged, by fault
};

TEST_F(ClusterFaults, LoseAndRepeatNothingIfTheActiveIsKilled) {
  run({.name = "the active is killed",
       .variable = "MILLRACE_CLUSTER_FAULTS_KILL",
       .few = 2,
       .strike = [this] { kill_the_active(); },
       .bounds = kActiveIsAway,
       .checks_copies = false});
}

TEST_F(ClusterFaults, LoseAndRepeatNothingIfTheActiveIsSuspended) {
  run({.name = "the active pauses",
       .variable = "MILLRACE_CLUSTER_FAULTS_PAUSE",
       .few = 1,
       .strike = [this] { pause_the_active(); },
       .bounds = kActiveIsAway});
}

TEST_F(ClusterFaults, LoseAndRepeatNothingIfTheLeaderOfTheLogIsKilled) {
  run({.name = "the leader is killed",
       .variable = "MILLRACE_CLUSTER_FAULTS_BROKER_KILL",
       .few = 1,
       .strike = [this] { strike_the_broker(LeaderFault::kKill); },
       .bounds = kLeaderIsAway});
}

TEST_F(ClusterFaults, LoseAndRepeatNothingIfTheLeaderOfTheLogHangs) {
  run({.name = "the leader hangs",
       .variable = "MILLRACE_CLUSTER_FAULTS_BROKER_HANG",
       .few = 1,
       .strike = [this] { strike_the_broker(LeaderFault::kHang); },
       .bounds = kLeaderIsAway});
}

TEST_F(ClusterFaults, LoseAndRepeatNothingIfTheActiveAndTheLeaderOfTheLogAreKilled) {
  run({.name = "both are killed",
       .variable = "MILLRACE_CLUSTER_FAULTS_BOTH",
       .few = 1,
       .strike = [this] { kill_both(); },
       .bounds = kBothAreAway,
       .checks_copies = false});
}

TEST_F(ClusterFaults, LoseAndRepeatNothingIfTheActiveIsCutOffFromTheBrokers) {
  run({.name = "the active is cut off",
       .variable = "MILLRACE_CLUSTER_FAULTS_CUT",
       .few = 1,
       .strike = [this] { cut_the_active(); },
       .bounds = kActiveIsAway,
       .settings = {.has_proxies = true}});
}

TEST_F(ClusterFaults, LoseAndRepeatNothingIfTheNodesAreRestartedByTurns) {
  run({.name = "restarts by turns",
       .variable = "MILLRACE_CLUSTER_FAULTS_RESTART",
       .few = 1,
       .strike = [this] { restart_by_turns(); },
       .bounds = kHandedOver,
       .checks_copies = false});
}

TEST_F(ClusterFaults, LoseNoOrderIfABrokerLosesItsNewestMessagesWhileAnotherOneIsAway) {
  run({.name = "power cut of one",
       .variable = "MILLRACE_CLUSTER_FAULTS_POWER_ONE",
       .few = 1,
       .strike = [this] { cut_the_power_of_one(); },
       .settings = {.takeover_after = takeover_after_power_cuts()}});
}

TEST_F(ClusterFaults, LoseNoOrderIfAllBrokersLoseTheirNewestMessages) {
  run({.name = "power cut of all",
       .variable = "MILLRACE_CLUSTER_FAULTS_POWER_ALL",
       .few = 1,
       .strike = [this] { cut_the_power_of_all(false); },
       .settings = {.takeover_after = takeover_after_power_cuts()}});
}

TEST_F(ClusterFaults, LoseNoOrderIfThePowerOfEverythingFails) {
  run({.name = "power cut of everything",
       .variable = "MILLRACE_CLUSTER_FAULTS_POWER_EVERYTHING",
       .few = 0,
       .strike = [this] { cut_the_power_of_all(true); }});
}

}  // namespace
}  // namespace millrace
