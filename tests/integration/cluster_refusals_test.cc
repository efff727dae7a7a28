// What a node of a cluster refuses at its start, on one nats-server. Needs nats-server 2.10 or
// newer (tests/brokers/fetch.sh); without it, the tests are skipped.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/leader_fault.h"
#include "tests/support/folder.h"
#include "tests/support/millrace_server.h"
#include "tests/support/nats_cluster.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

class ClusterRefusals : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> program = NatsCluster::newest_program();
    if (!program) GTEST_SKIP() << kNeedsNewerServer;
    use("", *program);
  }

  /// Starts the nats-server, and makes the node for it.
  void use(const std::string& configuration, const std::string& program) {
    nats_.emplace(configuration, program);
    node_.emplace(nats_->url());
  }

  /// The file of a key that has this digit 64 times.
  std::string key(char digit = 'a') const {
    const std::filesystem::path file = folder_.path() / std::string(1, digit);
    if (!std::filesystem::exists(file)) {
      std::ofstream(file) << std::string(64, digit);
      std::filesystem::permissions(file, std::filesystem::perms::owner_read);
    }
    return file.string();
  }

  void launch(const std::string& cluster, std::vector<std::string> further = {}, char digit = 'a') {
    if (std::find(further.begin(), further.end(), "--stream-replicas") == further.end()) {
      further.insert(further.end(), {"--stream-replicas", "1"});
    }
    further.insert(further.end(), {"--cluster", cluster, "--secret-key-file", key(digit),
                                   "--advertise", "http://127.0.0.1:1"});
    node_->set_arguments(std::move(further));
    node_->launch();
  }
  /// Starts the node, which must end by itself; what it says at the end.
  std::string refusal(const std::string& cluster, std::vector<std::string> further = {},
                      char digit = 'a') {
    launch(cluster, std::move(further), digit);
    const ProcessEnd end = node_->end();
    EXPECT_EQ(end.code, 1) << end.errors;
    return end.errors;
  }
  /// Founds a cluster with the node, and stops the node.
  void found(const std::string& cluster) {
    launch(cluster, {"--found"});
    node_->wait_until_it_listens();
    EXPECT_TRUE(eventually([&] { return node_->ask("GET", "/activez").status == 200; }))
        << node_->process().errors();
    node_->stop();
  }
  /// Starts the node, and waits until `/readyz` has that code.
  bool is_not_ready_with(const std::string& code) {
    node_->wait_until_it_listens();
    return eventually([&] {
      const HttpReply reply = node_->ask("GET", "/readyz");
      return reply.status == 503 && Json::parse(reply.body).value("code", "") == code;
    });
  }

  Folder folder_;
  std::optional<NatsServer> nats_;
  std::optional<MillraceServer> node_;
};

TEST_F(ClusterRefusals, OfAFolderOfAnotherClusterOrAnotherKey) {
  found("shop");
  const std::string other = refusal("shop2");
  EXPECT_THAT(other, HasSubstr("[store.cluster]"));
  EXPECT_THAT(other, HasSubstr("a node of the cluster shop, and --cluster names shop2"));
  EXPECT_THAT(refusal("shop2", {"--found"}), HasSubstr("[store.cluster]"));
  EXPECT_THAT(refusal("shop", {}, 'b'), HasSubstr("[store.key]"));
  node_->set_arguments({"--secret-key-file", key()});
  node_->launch();
  const ProcessEnd alone = node_->end();
  EXPECT_EQ(alone.code, 1);
  EXPECT_THAT(alone.errors, HasSubstr("[store.cluster]"));
  EXPECT_THAT(alone.errors, HasSubstr("millrace serve --cluster NAME"));
}

TEST_F(ClusterRefusals, OfAnEmptyFolderWithAnotherKey) {
  found("shop");
  node_.emplace(nats_->url());
  launch("shop", {}, 'b');
  EXPECT_TRUE(is_not_ready_with("cluster.key")) << node_->process().errors();
  EXPECT_THAT(node_->ask("GET", "/readyz").body, HasSubstr("--secret-key-file"));
  node_->stop();
}

TEST_F(ClusterRefusals, OfAClusterThatWasNotFounded) {
  launch("shop");
  EXPECT_TRUE(is_not_ready_with("cluster.not_founded")) << node_->process().errors();
  EXPECT_THAT(node_->ask("GET", "/readyz").body, HasSubstr("--found"));
  node_->stop();
}

TEST_F(ClusterRefusals, ToFoundAClusterTwice) {
  found("shop");
  node_.emplace(nats_->url());
  const std::vector<std::string> alone = {"--secret-key-file", key(), "--stream-prefix", "alone"};
  node_->set_arguments(alone);
  node_->start_ready();
  node_->apply("id: one\nstates: [{id: done, type: noop}]\n");
  node_->stop();
  EXPECT_THAT(refusal("shop", {"--found"}), HasSubstr("[cluster.founded]"));
  node_->set_arguments(alone);
  node_->start_ready();  // the folder is still that of a server without a cluster
  node_->stop();
}

TEST_F(ClusterRefusals, OfFewerServersThanReplicas) {
  const std::string said = refusal("shop", {"--found", "--stream-replicas", "3"});
  EXPECT_THAT(said, HasSubstr("[broker.replicas]"));
  EXPECT_THAT(said, HasSubstr("needs 3 NATS servers"));
}

TEST_F(ClusterRefusals, OfALogThatWouldLoseCommits) {
  const std::unique_ptr<RawNatsClient> client = nats_->client();
  client->api(
      "STREAM.CREATE.MILLRACE_LOG_shop_0",
      {{"name", "MILLRACE_LOG_shop_0"}, {"subjects", {"millrace.log.shop.0"}}, {"discard", "old"}});
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>(), std::vector<std::string>{"--found"}}) {
    const std::string said = refusal("shop", flags);
    EXPECT_THAT(said, HasSubstr("[broker.stream]"));
    EXPECT_THAT(said, HasSubstr("discard \"old\" instead of \"new\""));
  }
}

TEST_F(ClusterRefusals, OfAServerThatIsTooOld) {
  const ProcessEnd version = run_process({.command = {"nats-server", "--version"}});
  if (version.output.find("v2.9.") == std::string::npos) {
    GTEST_SKIP() << "the nats-server of this machine is not older than 2.10";
  }
  use("", "nats-server");
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>(), std::vector<std::string>{"--found"}}) {
    EXPECT_THAT(refusal("shop", flags), HasSubstr("[cluster.broker]"));
  }
  const Json streams = nats_->client()->api("STREAM.NAMES");
  EXPECT_THAT(streams.dump(), Not(HasSubstr("MILLRACE_LOG"))) << "nothing was created";
}

}  // namespace
}  // namespace millrace
