// A cluster that is founded with the folder of a server without one, and nodes that join by a
// snapshot, on one nats-server. Needs nats-server 2.10 or newer (tests/brokers/fetch.sh); without
// it, the tests are skipped.
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/log_stream.h"
#include "tests/integration/cluster_pair.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::SizeIs;

/// Each ticket waits until it is closed.
constexpr const char* kTicket = R"(
id: ticket
start: {type: event, event: {type: opened}}
states:
- id: wait
  type: consumeEvent
  event: {type: closed, context: {ticket: jq(.opened.id)}}
)";

class ClusterSnapshotsTest : public ClusterPairOnOneServer {
 protected:
  /// Where the log begins, as node 0 has trimmed it; 0: it has not.
  uint64_t begin_of_log() {
    const std::string log = node(0).process().errors();
    const std::string_view words = "the log of the cluster begins at message ";
    const size_t at = log.rfind(words);
    return at == std::string::npos ? 0 : std::stoull(log.substr(at + words.size()));
  }
};

TEST_F(ClusterSnapshotsTest, FoundAClusterWithTheStoreOfAServerWithoutOne) {
  start_alone(0);
  node(0).apply(kTicket);
  send(0, "opened", "ticket", 0, 20);
  ASSERT_TRUE(node(0).has_instances("workflow=ticket", 20));
  node(0).stop();

  start_ready(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  EXPECT_THAT(node(0).instances("workflow=ticket"), SizeIs(20));
  send(0, "closed", "ticket", 0, 5);
  ASSERT_TRUE(node(0).has_instances("workflow=ticket&status=complete", 5));
  start_ready(1);
  EXPECT_TRUE(node(1).process().error_line("the snapshot is loaded"));
  node(0).kill();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_THAT(node(1).instances("workflow=ticket"), SizeIs(20));
  send(1, "closed", "ticket", 5, 20);
  EXPECT_TRUE(node(1).has_instances("workflow=ticket&status=complete", 20));

  start_ready(0, true);
  for (const auto& entry : fs::directory_iterator(node(0).data())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("replaced-"))
        << "the log has what its folder lacks";
  }
  EXPECT_THAT(node(0).instances("workflow=ticket"), SizeIs(20));
}

TEST_F(ClusterSnapshotsTest, BringBackANodeThatWasAwayWhileTheLogWasTrimmed) {
  // A snapshot is due at each look, and rests a millisecond.
  set_options({"--snapshot-after", "1", "--broker-sync-interval", "1ms"});
  start_ready(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  node(0).apply(kTicket);
  send(0, "opened", "ticket", 0, 10);
  start_ready(1);
  const uint64_t position = position_of(1);
  node(1).stop();
  send(0, "opened", "ticket", 10, 30);
  // A snapshot is due when the log behind the newest one has as many bytes as the store, so each
  // write replaces the one before.
  std::minstd_rand random(1);
  ASSERT_TRUE(eventually([&] {
    std::string value(size_t{100} << 10, ' ');
    for (char& byte : value) byte = static_cast<char>(random() % 256);
    EXPECT_LT(node(0).ask("PUT", "variables/large", value).status, 300);
    return begin_of_log() > position + 100;
  })) << node(0).process().errors();
  const Json cluster = node(0).get("/v1/cluster");
  EXPECT_GE(cluster.at("snapshots").at("count"), 2) << cluster;
  ASSERT_TRUE(node(0).has_instances("workflow=ticket", 30));

  start_ready(1);
  EXPECT_TRUE(node(1).process().error_line("its files are in"));
  node(0).kill();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_TRUE(node(1).has_instances("workflow=ticket", 30));
  send(1, "closed", "ticket", 0, 30);
  EXPECT_TRUE(node(1).has_instances("workflow=ticket&status=complete", 30));
}

TEST_F(ClusterSnapshotsTest, AreTakenForANodeThatCannotJoinWithoutOne) {
  start_ready(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  node(0).apply(kTicket);
  send(0, "opened", "ticket", 0, 10);
  ASSERT_TRUE(node(0).has_instances("workflow=ticket", 10));
  // An operator has removed messages of the log, of which there is no snapshot.
  nats_->client()->api("STREAM.PURGE." + log_stream("shop").name, {{"seq", position_of(0)}});
  start_ready(1);
  node(0).kill();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_TRUE(node(1).has_instances("workflow=ticket", 10));
}

TEST_F(ClusterSnapshotsTest, HaveAnActiveAfterTheShortestSilence) {
  set_options({"--takeover-after", "500ms"});
  start_ready(0, true);
  EXPECT_TRUE(becomes_active(0)) << node(0).process().errors();
}

}  // namespace
}  // namespace millrace
