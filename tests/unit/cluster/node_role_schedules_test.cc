// The roles of one to three nodes on one log, with faults drawn from a seed: processes die, stop
// and are asked to stop, links and brokers fail, clocks go wrong, engines hang. No two nodes have
// effects at a time, each begins behind all that it has applied, and when the faults have ended a
// node is soon the active. MILLRACE_CLUSTER_SCHEDULES=20000 plays more schedules, MILLRACE_SEED=n
// begins with another seed.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/unit/cluster/role_net.h"
#include "tests/unit/cluster/role_node.h"

namespace millrace {
namespace {

// How long it takes at most until a node begins, or has effects.
constexpr Duration kAfterFaults{10'000};
constexpr Duration kAfterDeath{3'000};
constexpr Duration kAfterStop{1'000};

class RoleSchedule {
 public:
  explicit RoleSchedule(uint64_t seed) : net_(seed) {
    const int count = net_.random.of({1, 2, 2, 3, 3});
    for (int i = 0; i < count; ++i) {
      nodes_.push_back(std::make_unique<RoleNode>(net_, static_cast<uint8_t>(i)));
    }
    for (const auto& node : nodes_) node->start();
  }

  void play() {
    faults_end_ = net_.clock.now() + Duration(20'000 + net_.random.below(20'000));
    fault_later();
    run_until(faults_end_);
    end_faults();
    const NodeRole::Time ended = net_.clock.now();
    while (serving() == nullptr && net_.clock.now() < ended + kAfterFaults) run_for(Duration(50));
    EXPECT_NE(serving(), nullptr) << "no node is the active after the faults";
    if (nodes_.size() == 1) {
      EXPECT_EQ(net_.counts["deposed"], 0U) << "a node alone was deposed";
    } else if (serving() != nullptr) {
      expect_begin(kAfterDeath, [](RoleNode& active) { active.die(Duration(4'000)); });
      expect_begin(kAfterStop, [](RoleNode& active) { active.ask_to_stop(); });
    }
    EXPECT_EQ(net_.violations.size(), 0U) << net_.violations.front();
  }

  const std::map<std::string, uint64_t>& counts() const { return net_.counts; }

 private:
  void run_until(NodeRole::Time end) {
    net_.clock.run_until(end, [this] { check(); });
  }
  void run_for(Duration time) { run_until(net_.clock.now() + time); }

  RoleNode& any_node() {
    return *nodes_[static_cast<size_t>(net_.random.below(static_cast<int>(nodes_.size())))];
  }
  /// The node that has effects; null: there is none.
  RoleNode* serving() const {
    for (const auto& node : nodes_) {
      if (node->is_serving()) return node.get();
    }
    return nullptr;
  }

  void check() {
    int serving = 0;
    int permitted = 0;
    for (const auto& node : nodes_) {
      node->check_effects();
      serving += node->is_serving() ? 1 : 0;
      permitted += node->may_serve() ? 1 : 0;
    }
    if (serving > 1 || permitted > 1) net_.violate("two nodes have effects");
  }

  // Faults.

  Duration up_to(int milliseconds) { return Duration(100 + net_.random.below(milliseconds)); }

  void fault_later() {
    net_.clock.after(up_to(4'000), [this] {
      if (net_.clock.now() >= faults_end_) return;
      fault();
      fault_later();
    });
  }

  void fault() {
    RoleNode& node = any_node();
    switch (net_.random.below(8)) {
      case 0:
        return node.pause(up_to(9'000));
      case 1:
        return node.cut_link(up_to(9'000));
      case 2:
        return lose_leader();
      case 3:
        return node.die(up_to(5'000));
      case 4:
        return node.ask_to_stop();
      case 5:
        return node.set_clock(Duration(net_.random.below(4'000) - 2'000));
      case 6:
        return node.hang_engine(up_to(8'000));
      default:
        for (const auto& one : nodes_) {
          if (net_.random.chance(50)) one->pause(up_to(3'000));
        }
    }
  }

  void lose_leader() {
    if (!net_.has_leader) return;
    ++net_.counts["elections"];
    net_.has_leader = false;
    net_.speaks_without_leader = net_.random.chance(50);
    net_.clock.after(Duration(1'000 + net_.random.below(7'000)), [this] { elect_leader(); });
  }
  void elect_leader() {
    if (net_.has_leader) return;
    net_.has_leader = true;
    for (const auto& node : nodes_) node->see_leader();
  }

  void end_faults() {
    net_.has_faults = false;
    elect_leader();
    for (const auto& node : nodes_) {
      node->hang_engine(Duration(0));
      node->restore_link();
      node->resume();
      node->set_clock(Duration(0));
    }
  }

  /// Ends the active that way, and expects that another node begins an epoch within that time.
  void expect_begin(Duration within, const std::function<void(RoleNode&)>& end_active) {
    run_for(Duration(6'000));
    RoleNode* const active = serving();
    ASSERT_NE(active, nullptr) << "the active did not stay the active";
    const RandomName former = net_.latest_epoch();
    end_active(*active);
    run_for(within);
    EXPECT_NE(net_.latest_epoch(), former)
        << "no other node took over in " << within.count() << " ms";
  }

  RoleNet net_;
  std::vector<std::unique_ptr<RoleNode>> nodes_;
  NodeRole::Time faults_end_{};
};

TEST(NodeRoleSchedules, HaveTheEffectsOfOneActiveAtATime) {
  const size_t schedules = number_from("MILLRACE_CLUSTER_SCHEDULES", 1'000);
  const uint64_t first = number_from("MILLRACE_SEED", 1);
  Campaign campaign("roles in a cluster, random faults",
                    "one active at a time, and soon again one");
  std::map<std::string, uint64_t> counts;
  for (uint64_t seed = first; seed < first + schedules; ++seed) {
    campaign.run(fmt::format("MILLRACE_SEED={} MILLRACE_CLUSTER_SCHEDULES=1", seed), [&] {
      RoleSchedule schedule(seed);
      schedule.play();
      for (const auto& [what, count] : schedule.counts()) counts[what] += count;
    });
    if (testing::Test::HasFailure()) break;
  }
  for (const auto& [what, count] : counts) fmt::print("{} {}\n", count, what);
  if (schedules < 500) return;
  for (const char* const what : {"begins without an answer", "careful starts", "elections", "exits",
                                 "replaced", "stops of effects"}) {
    EXPECT_GT(counts[what], schedules / 5) << what;
  }
  EXPECT_GT(counts["commits"], schedules);
  EXPECT_GT(counts["deposed"], schedules / 50);
}

}  // namespace
}  // namespace millrace
