// `millrace cluster leave`: a cluster of two nodes becomes one server, on one nats-server. Needs
// nats-server 2.10 or newer (tests/brokers/fetch.sh); without it, the test is skipped.
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/found_store.h"
#include "tests/integration/cluster_pair.h"
#include "tests/support/queue_worker.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

/// Each order waits until it is paid, is packed by a worker, and then says so.
constexpr const char* kPackedOrder = R"(
id: order
start: {type: event, event: {type: ordered}}
functions:
- {id: pack, type: knative-namespace, service: pack}
states:
- id: wait
  type: consumeEvent
  event: {type: paid, context: {order: jq(.ordered.id)}}
  transition: pack
- {id: pack, type: action, action: {function: pack}, transition: say}
- {id: say, type: generateEvent, event: {type: delivered, source: /order}}
)";

class ClusterLeave : public ClusterPairOnOneServer {
 protected:
  void SetUp() override {
    ClusterPairOnOneServer::SetUp();
    if (IsSkipped()) return;
    client_ = nats_->client();
    worker_.emplace(nats_->client(), "millrace", "default+pack");
  }

  ProcessEnd leave(size_t index) {
    return node(index).cli({"cluster", "leave", "--data", node(index).data().string()});
  }

  /// The verbs for the folder of a stopped server take that of a stopped node.
  void expect_usable(size_t index) {
    const std::string backup = (folder() / fmt::format("backup-{}", index)).string();
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
             {"verify"}, {"store", "info"}, {"backup", backup}, {"store", "compact"}}) {
      std::vector<std::string> arguments = verb;
      arguments.insert(arguments.end(), {"--data", node(index).data().string()});
      const ProcessEnd end = node(index).cli(arguments);
      EXPECT_EQ(end.code, 0) << verb.back() << ": " << end.errors;
    }
  }

  /// Answers that many tasks, each of which must be another one.
  void pack(int tasks) {
    for (int i = 0; i < tasks; ++i) {
      const auto task = worker_->do_one("1");
      ASSERT_TRUE(task);
      EXPECT_TRUE(packed_.insert(QueueWorker::reply_of(*task)).second) << "packed twice";
    }
  }
  bool has_tasks(uint64_t count) {
    return eventually([&] {
      const Json info = client_->api("STREAM.INFO.MILLRACE_TASKS");
      return info.contains("state") && info.at("state").at("messages") == count;
    });
  }
  /// How many events the orders have generated.
  uint64_t delivered() {
    const Json info = client_->api("STREAM.INFO.MILLRACE_EVENTS",
                                   {{"subjects_filter", "millrace.events.default.delivered"}});
    const Json subjects = info.at("state").value("subjects", Json::object());
    return subjects.value("millrace.events.default.delivered", uint64_t{0});
  }

  std::unique_ptr<RawNatsClient> client_;
  std::optional<QueueWorker> worker_;
  std::set<std::string> packed_;  ///< the subjects for the answers to the tasks
};

TEST_F(ClusterLeave, GivesAServerThatFinishesEachOrderOnce) {
  start_ready(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  node(0).apply(kPackedOrder);
  start_ready(1);
  send(0, "ordered", "order", 0, 10);
  ASSERT_TRUE(node(0).has_instances("workflow=order&status=waiting", 10));
  send(0, "paid", "order", 0, 4);
  pack(2);
  ASSERT_TRUE(node(0).has_instances("workflow=order&status=complete", 2));
  ASSERT_TRUE(has_tasks(2));
  EXPECT_EQ(leave(0).code, 6) << "the folder is in use";
  node(1).stop();
  node(0).stop();
  pack(1);  // no process reads the answer yet
  expect_usable(0);
  expect_usable(1);

  const ProcessEnd left = leave(0);
  ASSERT_EQ(left.code, 0) << left.errors;
  EXPECT_THAT(left.output, HasSubstr("shop"));
  EXPECT_THAT(left.errors, HasSubstr("other nodes of the cluster shop must not start"));
  const ProcessEnd again = leave(0);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.errors, HasSubstr("belongs to no cluster"));

  start_alone(0);
  send(0, "paid", "order", 4, 10);
  pack(7);
  EXPECT_TRUE(node(0).has_instances("workflow=order&status=complete", 10));
  EXPECT_THAT(node(0).instances("workflow=order"), SizeIs(10)) << "no order is started twice";
  EXPECT_TRUE(eventually([&] { return delivered() >= 10; }));
  EXPECT_EQ(delivered(), 10U);
  EXPECT_TRUE(has_tasks(0)) << "no task is sent twice";

  launch(1);
  const ProcessEnd other = node(1).end();
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.errors, HasSubstr("[broker.owner]")) << "the streams belong to the server";
  EXPECT_EQ(node(0).ask("GET", "/readyz").status, 200);
  node(0).stop();
}

TEST_F(ClusterLeave, IsFollowedByAFoundingThatNoNodeOfTheFormerClusterDisturbs) {
  start_ready(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  node(0).apply(kPackedOrder);
  start_ready(1);
  // The log of the former cluster is longer than that of the new one.
  for (int i = 0; i < 40; ++i) send(0, "ordered", "order", i, i + 1);
  ASSERT_TRUE(node(0).has_instances("workflow=order", 40));
  ASSERT_TRUE(has_caught_up());
  node(1).stop();
  node(0).stop();
  ASSERT_EQ(leave(0).code, 0);
  for (const char* const stream : {"MILLRACE_LOG_shop_0", "MILLRACE_SNAPSHOTS_shop"}) {
    client_->api(std::string("STREAM.DELETE.") + stream);
  }
  start(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  send(0, "ordered", "order", 40, 42);

  start(1);
  ASSERT_TRUE(is_not_ready_with(1, "log.diverged")) << node(1).ask("GET", "/readyz").body;
  node(0).kill();
  start(0);
  ASSERT_TRUE(becomes_active(0)) << "the other node has nothing of this log";
  EXPECT_TRUE(node(0).has_instances("workflow=order", 42));
  EXPECT_FALSE(is_active(1));
}

TEST_F(ClusterLeave, IsFollowedByAFoundingThatPublishesTheRowsAgainIfTheyAreGone) {
  start_alone(0);
  node(0).apply(kPackedOrder);
  send(0, "ordered", "order", 0, 5);
  ASSERT_TRUE(node(0).has_instances("workflow=order", 5));
  node(0).stop();
  {
    // An earlier founding has marked the folder, and its snapshot was removed.
    const auto store = Environment::open(node(0).data().string());
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(found_with(**store, base_position({1}, {2})));
  }
  start(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  start_ready(1);
  EXPECT_TRUE(node(1).has_instances("workflow=order", 5));
}

}  // namespace
}  // namespace millrace
