// Nodes of a cluster whose log has lost its newest messages, on one nats-server: registered nodes,
// a standby that appends the messages again, and an operator who continues without them. Needs
// nats-server 2.10 or newer (tests/brokers/fetch.sh); without it, the tests are skipped.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/log_stream.h"
#include "broker/node_roll.h"
#include "tests/integration/cluster_pair.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kParcel = R"(
id: parcel
start: {type: event, event: {type: packed}}
states:
- {id: wait, type: consumeEvent, event: {type: sent, context: {parcel: jq(.packed.id)}}}
)";

class ClusterLosses : public ClusterPairOnOneServer {
 protected:
  void SetUp() override {
    ClusterPairOnOneServer::SetUp();
    if (IsSkipped()) return;
    start(0, true);
    ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  }

  /// The registered nodes, as that node knows them.
  std::vector<Json> registered(size_t at) {
    std::vector<Json> found;
    const Json cluster = node(at).get("/v1/cluster");
    for (const Json& one : cluster.at("nodes")) {
      if (one.contains("firstSeen")) found.push_back(one);
    }
    return found;
  }
  std::string id_of(size_t index) {
    return node(index).get("/v1/cluster").at("node").get<std::string>();
  }

  /// Starts node 1, and waits until both nodes know that both are registered.
  void start_second() {
    start_ready(1);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(eventually([&] { return registered(i).size() == 2; }))
          << node(i).process().errors();
    }
  }

  bool has_parcels(size_t at, size_t count) {
    return node(at).has_instances("workflow=parcel", count);
  }
  /// Sends the events `packed` with the numbers from `first` to before `last`.
  void pack(size_t to, int first, int last) { send(to, "packed", "parcel", first, last); }

  /// Keeps the files of the log as they are now. The nats-server is down meanwhile.
  void keep_log() {
    nats_->process().stop();
    replace_folder(kept_log(), log_folder());
    ASSERT_TRUE(nats_->process().start_again());
  }
  /// Starts node 1, keeps the log, and has the active apply ten events `packed` after that.
  void apply_more_than_is_kept() {
    start_second();
    node(0).apply(kParcel);
    keep_log();
    ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
    pack(0, 0, 10);
    ASSERT_TRUE(has_parcels(0, 10));
  }
  /// The active dies with its machine, and the nats-server loses all that keep_log() did not keep,
  /// as after a power cut, while the standby has all commits of the active.
  void lose_log_with_active() {
    ASSERT_TRUE(has_caught_up());
    node(1).process().signal(SIGSTOP);
    node(0).kill();
    nats_->process().kill();
    replace_folder(log_folder(), kept_log());
    ASSERT_TRUE(nats_->process().start_again());
    node(1).process().signal(SIGCONT);
  }

  void delete_log() { nats_->client()->api("STREAM.DELETE." + log_stream("shop").name); }
  bool misses_its_log(size_t at) { return is_not_ready_with(at, "cluster.log_deleted"); }
  /// Waits until the other nodes that this one asks have no active among them.
  bool no_active_answers(size_t at) {
    return eventually([&] {
      const Json cluster = node(at).get("/v1/cluster");
      const Json& nodes = cluster.at("nodes");
      return std::none_of(nodes.begin(), nodes.end(),
                          [](const Json& one) { return one.at("role") == "active"; });
    });
  }

  fs::path log_folder() const { return nats_->store_of(log_stream("shop").name); }
  fs::path kept_log() const { return folder() / "kept-log"; }
};

TEST_F(ClusterLosses, ShowRegisteredNodesThatAreAwayUntilTheyAreRemoved) {
  start_second();
  const std::string active = id_of(0);
  const std::string standby = id_of(1);
  EXPECT_THAT(node(0).cli({"cluster", "remove", active}).errors,
              HasSubstr("is the active of the cluster"));
  EXPECT_THAT(node(0).cli({"cluster", "remove", standby}).errors,
              HasSubstr("answers, so it would be registered again"));
  EXPECT_THAT(node(0).cli({"cluster", "remove", std::string(32, '0')}).errors,
              HasSubstr("has no registered node"));
  node(1).kill();
  ASSERT_TRUE(eventually([&] {
    const std::vector<Json> nodes = registered(0);
    return nodes.size() == 2 && (nodes[0].at("role") == "away" || nodes[1].at("role") == "away");
  })) << node(0).process().errors();
  EXPECT_THAT(node(0).cli({"-o", "table", "cluster", "status"}).output,
              HasSubstr("registered, and without an answer: " + standby));
  EXPECT_EQ(node(0).cli({"cluster", "remove", standby}).code, 0);
  EXPECT_TRUE(eventually([&] { return registered(0).size() == 1; }));
}

TEST_F(ClusterLosses, RegisterNoNodeThatHasNothingOfTheLog) {
  ASSERT_TRUE(eventually([&] { return registered(0).size() == 1; }));
  const std::unique_ptr<Connection> connection = nats_->connect();
  std::atomic<int> questions = 0;
  NodeRoll other(*connection, node_roll_subject("shop"), log_key(), [&questions] {
    ++questions;
    return Json{{"node", std::string(32, '1')},
                {"role", "starting"},
                {"address", "http://other:8780"},
                {"position", 0}};
  });
  ASSERT_TRUE(other.answer());
  ASSERT_TRUE(eventually([&] { return questions >= 3; }));
  EXPECT_THAT(registered(0), SizeIs(1));
}

TEST_F(ClusterLosses, AreRestoredByAStandbyWhenAllRegisteredNodesAnswer) {
  apply_more_than_is_kept();
  const std::string first = id_of(0);
  lose_log_with_active();
  ASSERT_TRUE(waits_for_what_is_lost(1)) << node(1).process().errors();
  EXPECT_THAT(node(1).ask("GET", "/readyz").body, HasSubstr(first)) << "it may have more";
  EXPECT_FALSE(is_active(1));

  start(0);
  ASSERT_TRUE(eventually([&] {
    return (is_active(0) || is_active(1)) && is_ready(0) && is_ready(1);
  })) << node(0).process().errors()
      << node(1).process().errors();
  EXPECT_TRUE(node(1).process().error_line("had lost its newest messages"));
  EXPECT_TRUE(has_parcels(0, 10));
  pack(0, 10, 12);
  EXPECT_TRUE(has_parcels(1, 12));
}

TEST_F(ClusterLosses, AreNotRestoredByAnActiveThatWasSuspendedBeforeAllRegisteredNodesAnswer) {
  apply_more_than_is_kept();
  ASSERT_TRUE(has_caught_up());
  const uint64_t epoch = node(0).get("/v1/cluster").at("epoch").get<uint64_t>();
  {
    // As long as another node has more, node 1 does not take over when the active is silent.
    const std::unique_ptr<Connection> connection = nats_->connect();
    NodeRoll other(*connection, node_roll_subject("shop"), log_key(), [epoch] {
      return Json{{"node", "other"}, {"epoch", epoch}, {"position", 1'000'000}};
    });
    ASSERT_TRUE(other.answer());
    node(0).process().signal(SIGSTOP);
    ASSERT_TRUE(waits_for_what_is_lost(1)) << node(1).process().errors();
    node(1).kill();
  }
  nats_->process().kill();
  replace_folder(log_folder(), kept_log());
  ASSERT_TRUE(nats_->process().start_again());
  node(0).process().signal(SIGCONT);
  const auto has_restored = [&] {
    return node(0).process().errors().find("had lost its newest messages") != std::string::npos;
  };
  ASSERT_TRUE(eventually([&] {
    const std::string ready = node(0).ask("GET", "/readyz").body;
    return ready.find("cluster.log_lost") != std::string::npos || has_restored();
  })) << node(0).process().errors();
  {
    const std::unique_ptr<Connection> connection = nats_->connect();
    std::atomic<int> questions = 0;
    NodeRoll other(*connection, node_roll_subject("shop"), log_key(), [&questions] {
      ++questions;
      return Json{{"node", "other"}};
    });
    ASSERT_TRUE(other.answer());
    EXPECT_TRUE(eventually([&] { return questions >= 5; })) << "node 0 asks for what others have";
  }
  EXPECT_FALSE(has_restored()) << "node 1 may have more";

  start(1);
  ASSERT_TRUE(eventually([&] { return has_restored() && is_ready(0) && is_ready(1); }))
      << node(0).process().errors();
  EXPECT_TRUE(has_parcels(1, 10));
}

TEST_F(ClusterLosses, AreAcceptedByAnOperatorIfARegisteredNodeDoesNotComeBack) {
  apply_more_than_is_kept();
  EXPECT_THAT(node(1).cli({"cluster", "take-over", "--accept-loss"}).errors,
              HasSubstr("does not wait for a log that has lost something"));
  const std::string first = id_of(0);
  lose_log_with_active();
  ASSERT_TRUE(waits_for_what_is_lost(1)) << node(1).process().errors();

  const ProcessEnd accepted = node(1).cli({"-o", "table", "cluster", "take-over", "--accept-loss"});
  EXPECT_EQ(accepted.code, 0) << accepted.errors;
  EXPECT_THAT(accepted.output, HasSubstr("lost: what node " + first));
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_TRUE(has_parcels(1, 10)) << "the folder of node 1 had all";
  EXPECT_GT(node(1).get("/v1/cluster").at("epoch").get<uint64_t>(), 1'000U);
  pack(1, 10, 12);
  EXPECT_TRUE(has_parcels(1, 12));

  // A node with an empty folder loads the base, or follows the log behind it.
  fs::remove_all(node(0).data());
  start_ready(0);
  EXPECT_TRUE(has_parcels(0, 12));
  node(1).kill();
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  EXPECT_TRUE(has_parcels(0, 12));
}

TEST_F(ClusterLosses, LoseNoCommitIfThePowerOfAllFails) {
  apply_more_than_is_kept();
  ASSERT_TRUE(has_caught_up());
  node(0).kill();
  node(1).kill();
  nats_->process().kill();
  replace_folder(log_folder(), kept_log());
  ASSERT_TRUE(nats_->process().start_again());

  start(1);
  ASSERT_TRUE(waits_for_what_is_lost(1)) << node(1).process().errors();
  EXPECT_FALSE(is_active(1)) << "the other node may have more";
  start(0);
  ASSERT_TRUE(eventually([&] {
    return (is_active(0) || is_active(1)) && is_ready(0) && is_ready(1);
  })) << node(0).process().errors()
      << node(1).process().errors();
  EXPECT_THAT(node(0).process().errors() + node(1).process().errors(),
              HasSubstr("continues with a snapshot of its rows"));
  EXPECT_TRUE(has_parcels(0, 10));
  EXPECT_TRUE(has_parcels(1, 10));
  pack(0, 10, 12);
  EXPECT_TRUE(has_parcels(1, 12));
  node(is_active(0) ? 0 : 1).kill();
  ASSERT_TRUE(eventually([&] { return is_active(0) || is_active(1); }));
}

TEST_F(ClusterLosses, DoNotDelayATakeoverIfNothingIsLostAndANodeIsAway) {
  start_second();
  node(0).kill();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_THAT(registered(1), SizeIs(2));
}

TEST_F(ClusterLosses, GiveACopyOfAFolderAnotherIdIfBothNodesRun) {
  const std::string first = id_of(0);
  fs::create_directories(node(1).data());
  fs::copy_file(node(0).data() / "node", node(1).data() / "node");
  start(1);
  ASSERT_TRUE(eventually([&] { return registered(0).size() == 2; })) << node(1).process().errors();
  EXPECT_TRUE(node(1).process().error_line("this node takes another id"));
  EXPECT_EQ(id_of(0), first) << "the active keeps the id";
  EXPECT_NE(id_of(1), first);
}

TEST_F(ClusterLosses, AreAcceptedByAnOperatorIfTheLogWasDeleted) {
  start_second();
  node(0).apply(kParcel);
  pack(0, 0, 10);
  ASSERT_TRUE(has_parcels(0, 10));
  delete_log();
  ASSERT_TRUE(misses_its_log(1)) << node(1).ask("GET", "/readyz").body;
  EXPECT_THAT(node(1).cli({"cluster", "take-over", "--accept-loss"}).errors,
              HasSubstr("is still the active"));
  node(0).kill();
  ASSERT_TRUE(no_active_answers(1));
  EXPECT_FALSE(is_active(1));
  const uint64_t before = committed_by(1);

  const ProcessEnd accepted = node(1).cli({"-o", "table", "cluster", "take-over", "--accept-loss"});
  EXPECT_EQ(accepted.code, 0) << accepted.errors;
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_TRUE(eventually([&] { return committed_by(1) > before; })) << "each epoch has a commit";
  EXPECT_TRUE(has_parcels(1, 10));
  pack(1, 10, 12);
  EXPECT_TRUE(has_parcels(1, 12));

  start_ready(0);
  EXPECT_TRUE(has_parcels(0, 12));
  node(1).kill();
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  EXPECT_TRUE(has_parcels(0, 12));
}

TEST_F(ClusterLosses, AreAcceptedIfAllNodesStartAfterTheLogWasDeleted) {
  start_second();
  node(0).apply(kParcel);
  pack(0, 0, 10);
  ASSERT_TRUE(has_parcels(0, 10));
  ASSERT_TRUE(has_caught_up());
  node(1).kill();
  pack(0, 10, 12);
  ASSERT_TRUE(has_parcels(0, 12));
  node(0).kill();
  delete_log();
  start(0);
  start(1);
  ASSERT_TRUE(misses_its_log(0)) << node(0).ask("GET", "/readyz").body;
  ASSERT_TRUE(misses_its_log(1)) << node(1).ask("GET", "/readyz").body;
  EXPECT_GT(position_of(0), position_of(1)) << "so an operator sees which node has most";
  EXPECT_THAT(registered(0), SizeIs(2));

  EXPECT_EQ(node(0).cli({"cluster", "take-over", "--accept-loss"}).code, 0);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  // Node 1 loads a snapshot, because the log no longer has what it lacks.
  ASSERT_TRUE(eventually([&] { return is_ready(1); })) << node(1).process().errors();
  EXPECT_TRUE(has_parcels(1, 12));
  pack(1, 12, 14);
  EXPECT_TRUE(has_parcels(0, 14));
}

}  // namespace
}  // namespace millrace
