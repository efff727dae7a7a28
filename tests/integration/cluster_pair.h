// ClusterPair: a test with two nodes of the cluster `shop`. The test starts the NATS servers, and
// each node when it needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/seal.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/folder.h"
#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"
#include "tests/support/nats_cluster.h"
#include "tests/support/nats_fixture.h"

namespace millrace {

class ClusterPair : public testing::Test {
 protected:
  /// Makes the key and the two nodes, in place of those before. `urls`: of the NATS servers.
  /// `options`: further ones of each node.
  void make_nodes(const std::string& urls, std::vector<std::string> options = {},
                  const std::string& program = millrace_program()) {
    nodes_.clear();
    options_ = std::move(options);
    std::filesystem::remove(key());
    std::ofstream(key()) << std::string(64, 'a');
    std::filesystem::permissions(key(), std::filesystem::perms::owner_read);
    for (size_t i = 0; i < ports_.size(); ++i) {
      nodes_.push_back(
          std::make_unique<MillraceServer>(urls, std::map<std::string, std::string>(), program));
    }
  }
  /// The nodes end before the NATS servers do.
  void TearDown() override { nodes_.clear(); }

  std::string key() const { return (folder_.path() / "key").string(); }
  /// The key of the answers of the nodes to one another.
  std::string log_key() const { return std::string(Seal::read(key()).value().log_key()); }
  std::filesystem::path folder() const { return folder_.path(); }
  MillraceServer& node(size_t index) { return *nodes_[index]; }
  /// The options of each node from its next start on, besides those that each has.
  void set_options(std::vector<std::string> options) { options_ = std::move(options); }

  /// The replicas of the streams, from the next start of a node on.
  void set_replicas(int replicas) { replicas_ = std::to_string(replicas); }

  /// What is added to the environment of each node from its next start on.
  void set_environment(std::map<std::string, std::string> environment) {
    environment_ = std::move(environment);
  }

  /// Starts the node, and waits for nothing.
  void launch(size_t index, bool founds = false) {
    const uint16_t port = ports_[index].port();
    std::vector<std::string> arguments = {
        "--cluster",         "shop",
        "--secret-key-file", key(),
        "--advertise",       fmt::format("http://127.0.0.1:{}", port),
        "--stream-replicas", replicas_};
    arguments.insert(arguments.end(), options_.begin(), options_.end());
    if (founds) arguments.emplace_back("--found");
    node(index).set_port(port);
    node(index).set_arguments(arguments);
    node(index).launch(environment_);
  }
  /// Starts the node, and waits until it listens.
  void start(size_t index, bool founds = false) {
    launch(index, founds);
    node(index).wait_until_it_listens();
  }
  /// Starts the node, and waits until it is ready.
  void start_ready(size_t index, bool founds = false) {
    start(index, founds);
    const auto has_ended = [&] { return node(index).process().wait(Duration(0)).has_value(); };
    ASSERT_TRUE(eventually([&] { return is_ready(index) || has_ended(); }));
    ASSERT_FALSE(has_ended()) << node(index).process().errors();
  }
  /// Starts a server without a cluster with the folder of the node, and waits until it is ready.
  void start_alone(size_t index) {
    node(index).set_arguments({"--secret-key-file", key()});
    node(index).start_ready();
  }

  bool is_ready(size_t index) { return node(index).ask("GET", "/readyz").status == 200; }
  bool is_active(size_t index) { return node(index).ask("GET", "/activez").status == 200; }
  /// Waits until the node is not ready, and says so with that code.
  bool is_not_ready_with(size_t index, const std::string& code) {
    return eventually([&] {
      const HttpReply ready = node(index).ask("GET", "/readyz");
      return ready.status == 503 && ready.json().value("code", "") == code;
    });
  }
  /// Waits until the node says that the log has lost messages that a node has.
  bool waits_for_what_is_lost(size_t index) { return is_not_ready_with(index, "cluster.log_lost"); }
  /// The last message of the log that the node has applied.
  uint64_t position_of(size_t index) { return own_number(index, "position"); }
  /// The latest commit that the folder of the node has.
  uint64_t committed_by(size_t index) { return own_number(index, "committed"); }
  /// Waits until node 1 has what node 0 has of the log now.
  bool has_caught_up() {
    const uint64_t all = position_of(0);
    return eventually([&] { return position_of(1) >= all; });
  }
  bool becomes_active(size_t index) {
    return eventually([&] { return is_active(index) && is_ready(index); });
  }

  /// Sends the events TYPE-FIRST to TYPE-(LAST-1) to a node. Each has its number as the context
  /// attribute of that name, and as the member `id` of its data.
  void send(size_t to, const std::string& type, const std::string& attribute, int first, int last) {
    for (int id = first; id < last; ++id) {
      const Json event = {{"specversion", "1.0"},
                          {"id", fmt::format("{}-{}", type, id)},
                          {"source", "/test"},
                          {"type", type},
                          {attribute, std::to_string(id)},
                          {"data", {{"id", std::to_string(id)}}}};
      const HttpReply reply = node(to).ask("POST", "events", event.dump(),
                                           {{"Content-Type", "application/cloudevents+json"}});
      ASSERT_LT(reply.status, 300) << reply.body;
    }
  }

 private:
  uint64_t own_number(size_t index, const char* name) {
    return node(index).get("/v1/cluster").at("nodes").at(0).at(name).get<uint64_t>();
  }

  Folder folder_;
  std::vector<HeldPort> ports_ = std::vector<HeldPort>(2);
  std::string replicas_ = "1";
  std::vector<std::string> options_;
  std::map<std::string, std::string> environment_;
  std::vector<std::unique_ptr<MillraceServer>> nodes_;
};

/// The same on one NATS server. Without a nats-server of 2.10 or newer, the test is skipped.
class ClusterPairOnOneServer : public ClusterPair {
 protected:
  void SetUp() override {
    const std::optional<std::string> program = NatsCluster::newest_program();
    if (!program) GTEST_SKIP() << kNeedsNewerServer;
    nats_.emplace("", *program);
    make_nodes(nats_->url());
  }

  std::optional<NatsServer> nats_;
};

}  // namespace millrace
