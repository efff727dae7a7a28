// ClusterFaults: nodes of a cluster and NATS servers of its log fail under load. Each order is
// there once, one node at a time is the active, and all nodes have the same rows. How long nothing
// was acknowledged is measured and printed. Environment variables: a number of faults for each
// kind, such as MILLRACE_CLUSTER_FAULTS_KILL=200; MILLRACE_SEED=n
// repeats the random choices of a run; MILLRACE_NATS_SERVER names the nats-server.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
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

namespace millrace {
namespace {

using std::chrono::steady_clock;

class ClusterFaults : public testing::Test {
 protected:
  struct Kind {
    const char* name;
    const char* variable;  ///< of the environment: how many faults
    size_t few;            ///< how many in an ordinary run
    std::function<void()> strike;
    ClusterUnderLoadSettings settings = {};
  };

  void SetUp() override {
    program_ = NatsCluster::newest_program();
    if (!program_) GTEST_SKIP() << kNeedsNewerServer;
  }

  void run(Kind kind) {
    const size_t faults = number_from(kind.variable, kind.few);
    kind.settings.nats_server = *program_;
    kind.settings.nodes = 2 + up_to(1);
    fmt::print("{}={} MILLRACE_SEED={} {} nodes, {}\n", kind.variable, faults, seed_,
               kind.settings.nodes, *program_);
    Campaign campaign(fmt::format("cluster: {}", kind.name),
                      "each order once, one active at a time, equal and sound stores");
    cluster_.emplace(kind.settings);
    ASSERT_NO_FATAL_FAILURE(cluster_->start());
    for (size_t i = 0; i < faults && !HasFailure(); ++i) {
      campaign.run(fmt::format("fault {}: {}, MILLRACE_SEED={}", i, kind.name, seed_),
                   [&] { strike(kind); });
    }
    if (!HasFailure()) check();
    if (HasFailure()) fmt::print("{}\n", cluster_->logs());
    print_gaps(kind);
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
       .strike = [this] { kill_the_active(); }});
}

}  // namespace
}  // namespace millrace
