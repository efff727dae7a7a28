// The verbs of the noun `cluster`.
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/http_server.h"
#include "tests/support/process.h"
#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_node_front.h"
#include "tests/unit/gateway/fake_node_store.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/patient_limits.h"

namespace millrace {
namespace {

/// A node without faults.
Json healthy_node(const std::string& name, const std::string& role) {
  return {{"node", name},       {"role", role},
          {"epoch", 7},         {"position", 1204},
          {"committed", 1203},  {"behindCommits", 0},
          {"behindSeconds", 0}, {"clockOffsetSeconds", 0.02},
          {"version", "0.1.0"}, {"address", "http://" + name + ":8780"}};
}

Json shop_cluster(Json nodes) {
  return {{"cluster", "shop"},
          {"node", "db1"},
          {"role", "standby"},
          {"epoch", 7},
          {"active", {{"node", "db1"}, {"address", "http://db1:8780"}}},
          {"nodes", std::move(nodes)}};
}

class ClusterVerbs : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    Result<Descriptor> address = HttpServer::bind("127.0.0.1:0", false);
    ASSERT_TRUE(address);
    NodeFront& front = front_;
    auto started = HttpServer::start({.listen = "127.0.0.1:0", .transport = patient_limits()},
                                     *std::move(address), front);
    ASSERT_TRUE(started) << started.error().message;
    node_ = *std::move(started);
    alone_ = env_["MILLRACE_URL"];
    env_["MILLRACE_URL"] = "http://127.0.0.1:" + std::to_string(node_->port());
  }

  void show(Json cluster) { front_.set({.cluster = std::move(cluster)}); }

  FakeNodeFront front_{"db1"};
  std::unique_ptr<HttpServer> node_;
  std::string alone_;  ///< the URL of a server that is not part of a cluster
};

TEST_F(ClusterVerbs, ShowsTheNodesAndWhetherTheClusterIsHealthy) {
  Json behind = healthy_node("db2", "standby");
  behind["position"] = 1190;
  behind["behindCommits"] = 14;
  behind["behindSeconds"] = 0.3;
  behind["clockOffsetSeconds"] = -0.1;
  const Json cluster = shop_cluster(Json::array({healthy_node("db1", "active"), behind}));
  show(cluster);
  expect_outputs({
      {{"cluster", "status"},
       "NODE  ROLE     EPOCH  POSITION  COMMITTED  BEHIND    CLOCK  VERSION  ADDRESS\n"
       "db1   active   7      1204      1203       -         0.0s   0.1.0    http://db1:8780\n"
       "db2   standby  7      1190      1203       14, 0.3s  -0.1s  0.1.0    http://db2:8780\n"
       "cluster shop: healthy: db1 is the active, and one standby could take over\n"},
      {{"cluster", "status", "-o", "name"}, "db1\ndb2\n"},
  });
  EXPECT_EQ(Json::parse(run({"cluster", "status", "-o", "json"}).out), cluster);
}

TEST_F(ClusterVerbs, ShowsTheRegisteredNodesThatAreAway) {
  const Json away = {{"node", "db3"},
                     {"role", "away"},
                     {"address", "http://db3:8780"},
                     {"firstSeen", "2021-09-01T12:00:00.000Z"}};
  show(shop_cluster(
      Json::array({healthy_node("db1", "active"), healthy_node("db2", "standby"), away})));
  const CommandOutput printed = run({"cluster", "status"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(
      printed.out,
      testing::HasSubstr(
          "db3   away     -      -         -          -       -      -        http://db3:8780\n"));
  EXPECT_THAT(printed.out,
              testing::EndsWith("cluster shop: healthy: db1 is the active, and one standby could "
                                "take over\nregistered, and without an answer: db3; start them "
                                "again, or, if a node does not exist any more, end its "
                                "registration by `millrace cluster remove`\n"));
}

TEST_F(ClusterVerbs, NamesTheReasonOfEachNodeIfThereIsNoActive) {
  Json waits = healthy_node("db1", "starting");
  waits["error"] = {{"code", "cluster.log_deleted"}, {"detail", "the broker has no stream"}};
  Json cluster = shop_cluster(Json::array({waits}));
  cluster.erase("active");
  show(cluster);
  EXPECT_THAT(run({"cluster", "status"}).out,
              testing::EndsWith("cluster shop: not healthy: node db1, which answers, knows no "
                                "active; db1: the broker has no stream\n"));
  // The active has died, and the standby has not taken over yet.
  show(shop_cluster(Json::array({{{"node", "db1"}, {"role", "away"}, {"address", "http://db1:1"}},
                                 healthy_node("db2", "standby")})));
  EXPECT_THAT(run({"cluster", "status"}).out,
              testing::HasSubstr("not healthy: db1 was the active, and is not now: another node "
                                 "takes over, if it can\n"));
}

TEST_F(ClusterVerbs, RemovesANodeThatDoesNotAnswer) {
  front_.set({.may_serve = true, .is_active = true});
  node_->serve(service_);
  const std::string known = "01" + std::string(30, '0');
  const std::string other = "02" + std::string(30, '0');
  ASSERT_TRUE(eventually([&] { return run({"cluster", "remove", known}).code == 0; }));
  EXPECT_EQ(run({"cluster", "remove", known, "-o", "name"}).out, known + "\n");
  EXPECT_GE(front_.noted(), 2) << "the node knows at once which nodes are registered";
  EXPECT_THAT(run({"cluster", "remove", other}).err,
              testing::HasSubstr("the cluster has another registered node"));
  front_.set({.may_serve = true,
              .is_active = true,
              .may_remove = fail("cluster.node_answers", "the node answers")});
  EXPECT_THAT(run({"cluster", "remove", known}).err, testing::HasSubstr("the node answers"));
  EXPECT_EQ(run({"cluster", "remove", known, "--force"}).code, 0);
}

TEST_F(ClusterVerbs, ContinuesWithoutWhatIsLostAndSaysWhatThatIs) {
  const CommandOutput unsaid = run({"cluster", "take-over"});
  EXPECT_EQ(unsaid.code, 2);
  EXPECT_THAT(unsaid.err, testing::HasSubstr("--accept-loss"));
  const CommandOutput refused = run({"cluster", "take-over", "--accept-loss"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, testing::HasSubstr("the log has lost nothing"));
  const Json loss = {{"node", "db2"},
                     {"epoch", 7},
                     {"position", 100},
                     {"why", "the log ends at message 100"},
                     {"missing",
                      {{{"node", "db1"},
                        {"address", "http://db1:8780"},
                        {"fromEpoch", 7},
                        {"toEpoch", 8},
                        {"fromSequence", 101},
                        {"toSequence", 120}}}},
                     {"away", {{{"node", "db3"}, {"address", "http://db3:8780"}}}}};
  front_.set({.loss = loss});
  expect_outputs({
      {{"cluster", "take-over", "--accept-loss"},
       "node db2 continues with epoch 7, at position 100 of the log, in some seconds: see "
       "`millrace "
       "cluster status`\n"
       "the log ends at message 100\n"
       "lost: messages 101 to 120, epochs 7 to 8, which node db1 at http://db1:8780 has\n"
       "lost: what node db3 at http://db3:8780, which does not answer, has more\n"},
      {{"cluster", "take-over", "--accept-loss", "-o", "name"}, "db2\n"},
  });
  EXPECT_EQ(Json::parse(run({"cluster", "take-over", "--accept-loss", "-o", "json"}).out), loss);
}

TEST_F(ClusterVerbs, SaysWhatIsNotHealthy) {
  const Json active = healthy_node("db1", "active");
  const Json standby = healthy_node("db2", "standby");
  Json slow = standby;
  slow["behindSeconds"] = 42.5;
  Json fast = standby;
  fast["clockOffsetSeconds"] = -3.5;
  Json refused = standby;
  refused["error"] = {{"code", "cluster.clock"}, {"detail", "the clock is not compared yet"}};
  Json without_active = shop_cluster(Json::array({standby}));
  without_active.erase("active");
  const std::string alone = "no standby could take over if the active failed\n";
  const std::pair<Json, std::string> rows[] = {
      {shop_cluster(Json::array({active, standby, healthy_node("db3", "standby")})),
       "healthy: db1 is the active, and 2 standbys could take over\n"},
      {without_active, "not healthy: node db1, which answers, knows no active\n"},
      {shop_cluster(Json::array({active})), "not healthy: " + alone},
      {shop_cluster(Json::array({active, healthy_node("db2", "starting")})),
       "not healthy: db2: starts; " + alone},
      {shop_cluster(Json::array({active, slow})),
       "not healthy: db2: is 42.5s behind the log; " + alone},
      {shop_cluster(Json::array({active, fast})),
       "not healthy: db2: has a clock that is -3.5s off; " + alone},
      {shop_cluster(Json::array({active, refused})),
       "not healthy: db2: the clock is not compared yet; " + alone},
      {shop_cluster(Json::array({active, standby, slow})),
       "not healthy: db2: is 42.5s behind the log\n"},
  };
  for (const auto& [cluster, line] : rows) {
    show(cluster);
    const CommandOutput printed = run({"cluster", "status"});
    EXPECT_EQ(printed.code, 0) << line;
    EXPECT_THAT(printed.out, testing::EndsWith("\ncluster shop: " + line));
  }
}

TEST_F(ClusterVerbs, ShowsTheSnapshots) {
  const std::pair<Json, std::string> rows[] = {
      {Json::object(), "one standby could take over\n"},
      {{{"count", 0}, {"logBytes", 1'572'864}}, "\nsnapshots: none; the log has 1.5 MiB\n"},
      {{{"count", 3},
        {"logBytes", 0},
        {"newest", {{"id", "a"}, {"position", 17}, {"ageSeconds", 90}, {"bytes", 5}}}},
       "\nsnapshots: 3, the newest 90 s ago at position 17; the log has 0.0 MiB\n"},
      {{{"count", 0}, {"error", {{"code", "broker.refused"}, {"detail", "there is no room"}}}},
       "\nsnapshots: there is no room [broker.refused]\n"},
  };
  Json cluster =
      shop_cluster(Json::array({healthy_node("db1", "active"), healthy_node("db2", "standby")}));
  for (const auto& [snapshots, line] : rows) {
    cluster["snapshots"] = snapshots;
    show(cluster);
    EXPECT_THAT(run({"cluster", "status"}).out, testing::EndsWith(line));
  }
}

TEST_F(ClusterVerbs, SaysThatAServerIsNotPartOfACluster) {
  env_["MILLRACE_URL"] = alone_;
  const CommandOutput printed = run({"cluster", "status"});
  EXPECT_EQ(printed.code, 3);
  EXPECT_EQ(printed.err,
            "millrace: this server is not part of a cluster; `millrace serve --cluster` starts one "
            "that is\n");
}

TEST_F(ClusterVerbs, ReadFromTheFolderOfAStandbyIfTheAnswerMayBeStale) {
  const FakeNodeStore store;
  front_.set({.store = &store});
  const CommandOutput copy = run({"--stale", "-o", "json", "instance", "get", kId});
  EXPECT_EQ(copy.code, 0) << copy.err;
  EXPECT_EQ(Json::parse(copy.out).at("status"), "paused");
  EXPECT_THAT(copy.err, testing::HasSubstr("not the active: 2.3 s old"));
  const CommandOutput list = run({"instance", "list", "--stale", "-o", "json"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_EQ(run({"instance", "get", kId}).code, 1) << "there is no active";

  const CommandOutput command = run({"--stale", "instance", "cancel", kId});
  EXPECT_EQ(command.code, 2);
  EXPECT_THAT(command.err, testing::HasSubstr("only for commands that read"));
  const CommandOutput other = run({"--stale", "event", "list"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, testing::HasSubstr("unknown parameters: \"stale\""));

  env_["MILLRACE_URL"] = alone_;
  const CommandOutput alone = run({"--stale", "-o", "json", "instance", "get", kId});
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(Json::parse(alone.out).at("status"), "waiting");
  EXPECT_EQ(alone.err, "");
}

}  // namespace
}  // namespace millrace
