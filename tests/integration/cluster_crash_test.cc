// The process of a node of a cluster dies when it passes a crash point of a cluster
// (os/crash_point.h) for the first time, with MILLRACE_HITS=3 also for the second and the third
// time. The other node takes over in place of a restart. tests/simulation does so in each type of
// state; here are real processes, the log and the snapshots on a NATS server, and commits and
// chunks of several messages. Needs nats-server 2.10 or newer (tests/brokers/fetch.sh); without it,
// the tests are skipped.
#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/log_row.h"
#include "os/crash_point.h"
#include "tests/integration/cluster_pair.h"
#include "tests/integration/environment_number.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/all_rows.h"
#include "tests/support/campaign.h"
#include "tests/support/nats_cluster.h"

namespace millrace {
namespace {

using testing::SizeIs;

constexpr int kKilledAtPoint = 128 + SIGKILL;
constexpr int kTickets = 12;

/// Each ticket waits until it is closed, and counts then.
constexpr const char* kCounted = R"(
id: ticket
start: {type: event, event: {type: opened}}
states:
- id: wait
  type: consumeEvent
  event: {type: closed, context: {ticket: jq(.opened.id)}}
  transition: say
- {id: say, type: generateEvent, event: {type: counted, source: /ticket, data: jq(.opened)}}
)";
constexpr const char* kCount = R"(
id: count
start: {type: event, event: {type: counted}}
states: [{id: done, type: noop}]
)";

/// Of the messages of the NATS server: so small that a large value has more parts than the log
/// takes without an acknowledgement.
constexpr const char* kSmallMessages = "max_payload: 32000\n";
constexpr size_t kLargeBytes = 300'000;
constexpr int kLargeValues = 6;  ///< so many that a snapshot has several chunks

class ClusterCrash : public ClusterPair, public testing::WithParamInterface<CrashPointName> {
 protected:
  void SetUp() override {
    program_ = NatsCluster::newest_program();
    if (!program_) GTEST_SKIP() << kNeedsNewerServer;
  }
  void TearDown() override {
    ClusterPair::TearDown();
    nats_.reset();
  }

  /// Two nodes that are down. The first one has founded the cluster with a store of several chunks.
  void prepare() {
    ClusterPair::TearDown();
    nats_.emplace(kSmallMessages, *program_);
    make_nodes(nats_->url(), {"--takeover-after", "1s"}, MILLRACE_FAULTS_PROGRAM);
    start_alone(0);
    node(0).apply(kCounted);
    node(0).apply(kCount);
    for (int i = 0; i < kLargeValues; ++i) ASSERT_TRUE(put_large(0, i));
    node(0).stop();
    start_ready(0, true);
    ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  }

  /// Launches the node, which dies at that passing of the point.
  void launch_to_crash(size_t index, const std::string& crash) {
    set_environment({{"MILLRACE_CRASH", crash}});
    launch(index);
    set_environment({});
  }

  /// The first node dies as the active, at that passing of the point; the other one takes over.
  void die_as_active(const std::string& crash, bool takes_snapshots) {
    node(0).stop();
    if (takes_snapshots) {
      // A snapshot is due at each look, and the active takes it because there is no standby.
      set_options({"--takeover-after", "1s", "--snapshot-after", "1"});
      launch_to_crash(0, crash);
    } else {
      start_ready(1);
      ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
      launch_to_crash(0, crash);
      node(0).wait_until_it_listens();
      ASSERT_TRUE(eventually([&] { return is_ready(0); })) << node(0).process().errors();
      node(1).stop();  // the end of its epoch: the other node takes over
      launch(1);
    }
    // Nothing is expected of these calls: the node that gets them may be dead.
    int number = 0;
    const size_t to = takes_snapshots ? 0 : 1;
    ASSERT_TRUE(eventually([&] {
      if (!node(0).is_running()) return true;
      if (!node(to).listens()) return false;
      put_large(to, number++ % kLargeValues);
      ask_for_ticket(to, "opened", number % kTickets);
      return false;
    })) << node(0).process().errors();
    EXPECT_EQ(node(0).end().code, kKilledAtPoint);
    if (takes_snapshots) launch(1);
    node(1).wait_until_it_listens();
  }

  /// The other node dies while it loads the snapshot with which the cluster was founded. It loads
  /// it again, and takes over.
  void die_while_joining(const std::string& crash) {
    launch_to_crash(1, crash);
    EXPECT_EQ(node(1).end().code, kKilledAtPoint);
    start_ready(1);
    EXPECT_TRUE(node(1).process().error_line("the snapshot is loaded"));
    node(0).kill();
  }

  /// Each ticket is there once, and counts once.
  void expect_each_once() {
    ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
    send(1, "opened", "ticket", 0, kTickets);
    ASSERT_TRUE(node(1).has_instances("workflow=ticket", kTickets));
    send(1, "closed", "ticket", 0, kTickets);
    ASSERT_TRUE(node(1).has_instances("workflow=ticket&status=complete", kTickets));
    EXPECT_TRUE(node(1).has_instances("workflow=count&status=complete", kTickets));
    EXPECT_THAT(node(1).instances("workflow=count"), SizeIs(kTickets));
    EXPECT_TRUE(node(1).items("dlq").empty());
  }

  /// The node that has died follows again. Each end of a process checks its folder.
  void expect_equal_stores() {
    const auto position = std::pair(Table::kMeta, std::string(kLogKey));
    EXPECT_TRUE(eventually([&] {
      for (const size_t index : {1U, 0U}) {
        if (!node(index).is_running()) start(index);
        if (!eventually([&] { return is_ready(index); })) return false;
      }
      // The active may commit between the two ends.
      node(0).process().signal(SIGKILL);
      node(1).process().signal(SIGKILL);
      node(0).kill();
      node(1).kill();
      const RowsByKey one = rows_in_folder(node(0).data());
      const RowsByKey other = rows_in_folder(node(1).data());
      if (one.at(position) != other.at(position)) return false;
      EXPECT_TRUE(one == other);
      return true;
    }));
  }

 private:
  bool put_large(size_t to, int number) {
    std::string value(kLargeBytes, ' ');
    for (char& byte : value) byte = static_cast<char>(bytes_() % 256);
    return node(to).ask("PUT", fmt::format("variables/large{}", number), value).status < 300;
  }

  void ask_for_ticket(size_t to, const std::string& type, int id) {
    node(to).ask("POST", "events",
                 dump_json({{"specversion", "1.0"},
                            {"id", fmt::format("{}-{}", type, id)},
                            {"source", "/test"},
                            {"type", type},
                            {"ticket", std::to_string(id)},
                            {"data", {{"id", std::to_string(id)}}}}),
                 {{"Content-Type", "application/cloudevents+json"}});
  }

  std::optional<std::string> program_;
  std::optional<NatsServer> nats_;
  std::minstd_rand bytes_{1};
};

TEST_P(ClusterCrash, LosesAndRepeatsNothing) {
  const auto [point, name] = GetParam();
  Campaign campaign(fmt::format("cluster crash points: {}, two processes", name),
                    "each event once, equal and sound stores");
  // A process opens one epoch.
  const bool is_once = point == CrashPoint::kEpochOpened || point == CrashPoint::kActive;
  const auto hits = static_cast<int>(is_once ? 1 : number_from("MILLRACE_HITS", 1));
  for (int hit = 1; hit <= hits && !HasFailure(); ++hit) {
    const std::string crash = fmt::format("{}:{}", name, hit);
    campaign.run(crash, [&, at = point] {
      ASSERT_NO_FATAL_FAILURE(prepare());
      if (at == CrashPoint::kSnapshotLoading) {
        die_while_joining(crash);
      } else {
        die_as_active(crash,
                      at == CrashPoint::kSnapshotPart || at == CrashPoint::kSnapshotComplete);
      }
      if (HasFatalFailure()) return;
      ASSERT_NO_FATAL_FAILURE(expect_each_once());
      expect_equal_stores();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ClusterCrash, testing::ValuesIn(kClusterCrashPoints),
                         [](const auto& one) {
                           std::string name(one.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace millrace
