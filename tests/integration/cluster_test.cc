// A cluster of three NATS servers: each stream has three replicas, and one server may fail.
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"
#include "tests/support/nats_cluster.h"

namespace millrace {
namespace {

constexpr const char* kClusterOrder = R"(id: order
start: {type: event, event: {type: ordered}}
states:
  - id: pay
    type: consumeEvent
    event: {type: paid, context: {order: 'jq(.ordered.id)'}}
    transition: tell
  - id: tell
    type: generateEvent
    event: {type: shipped, source: shop, data: 'jq(.paid)'}
)";

std::string cluster_event(std::string_view id, std::string_view type, std::string_view order = "") {
  return fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/s","type":"{}","order":"{}",)"
                     R"("data":{{"id":"{}"}}}})",
                     id, type, order, id);
}

TEST(Cluster, SurvivesTheLossOfTheStreamLeader) {
  NatsCluster cluster;
  MillraceServer millrace(cluster.urls(), {{"MILLRACE_STREAM_REPLICAS", "3"}});
  millrace.start_ready();
  millrace.apply(kClusterOrder);

  // One server may fail only when the other two have all data.
  const auto first = cluster.connect();
  ASSERT_TRUE(eventually([&] { return NatsCluster::is_whole(*first); }));
  const Json info = NatsCluster::stream_info(*first, "MILLRACE_EVENTS").value();
  EXPECT_EQ(info["config"]["num_replicas"], 3);
  const std::optional<size_t> leader = NatsCluster::leader_of(*first, "MILLRACE_EVENTS");
  ASSERT_TRUE(leader);
  const size_t killed = *leader;
  NatsServer& other_server = cluster.server((killed + 1) % NatsCluster::kServers);
  const auto other = other_server.client();
  other->subscribe("millrace.events.default.shipped");

  const auto post = [&](std::string_view body) {
    return eventually([&] { return millrace.ask("POST", "events", body).status == 202; });
  };
  ASSERT_TRUE(post(cluster_event("before", "ordered")));
  ASSERT_TRUE(millrace.has_instances("status=waiting", 1));
  cluster.server(killed).process().kill();
  ASSERT_TRUE(post(cluster_event("after", "ordered")));
  ASSERT_TRUE(post(cluster_event("before-paid", "paid", "before")));
  ASSERT_TRUE(post(cluster_event("after-paid", "paid", "after")));
  ASSERT_TRUE(millrace.has_instances("status=complete", 2));
  EXPECT_TRUE(eventually([&] { return millrace.ask("GET", "/readyz").status == 200; }));

  // Each event is in the stream once. An event whose acknowledgement came late is sent again, so a
  // subscriber may receive it twice.
  std::set<std::string> shipped;
  while (shipped.size() < 2) {
    const auto message = other->next(kPatience);
    ASSERT_TRUE(message);
    shipped.insert(parse_json(message->data).value()["data"]["id"].get<std::string>());
  }
  EXPECT_THAT(shipped, testing::ElementsAre("after-paid", "before-paid"));
  const std::string subject = "millrace.events.default.shipped";
  const auto connection = other_server.connect();
  // A subscriber receives a message before the stream has it on two servers.
  Json stored;
  EXPECT_TRUE(eventually([&] {
    const Json filter = {{"subjects_filter", subject}};
    stored = NatsCluster::stream_info(*connection, "MILLRACE_EVENTS", filter).value();
    return stored["state"]["subjects"][subject] == 2;
  })) << stored;
  EXPECT_EQ(millrace.items("instances").size(), 2u);
  EXPECT_EQ(millrace.get("/v1/info")["broker"]["losses"].size(), 0u);

  // The killed server starts again and catches up.
  ASSERT_TRUE(cluster.server(killed).process().start_again());
  EXPECT_TRUE(eventually([&] { return NatsCluster::is_whole(*connection); }));
}

}  // namespace
}  // namespace millrace
