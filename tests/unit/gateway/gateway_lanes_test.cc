// The lanes of the gateway: a lane that is busy or full holds up no other lane.
#include "gateway/gateway_lanes.h"

#include <future>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

TEST(GatewayLanes, RunEachLaneWhileTheOthersAreBusy) {
  GatewayLanes lanes({});
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  const auto never = [](const Error& error) { ADD_FAILURE() << error.message; };
  for (const char* client : {"a", "b", "c"}) {
    for (const Lane busy_lane : {Lane::kRead, Lane::kCommand, Lane::kEvent, Lane::kDefinition,
                                 Lane::kBroker, Lane::kFile}) {
      lanes.run(
          busy_lane, {client, ""}, [released] { released.wait(); }, never);
    }
  }
  std::promise<void> probed;
  lanes.run(
      Lane::kProbe, {"a", ""}, [&] { probed.set_value(); }, never);
  probed.get_future().get();
  release.set_value();
  lanes.stop();
}

TEST(GatewayLanes, GiveProbesTheirTurnBesideManyRequestsForMetricsOfTheSameClient) {
  LaneQueue<std::string> queue;
  const auto push = [&](const std::string& path) {
    Request request;
    request.path = path;
    request.client = "192.0.2.1";
    queue.push(source_of(request), path, 100);
  };
  for (int i = 0; i < 50; ++i) push("/metrics");
  push("/readyz");
  EXPECT_EQ(queue.pop()->work, "/metrics");
  EXPECT_EQ(queue.pop()->work, "/readyz");
}

TEST(GatewayLanes, GiveRequestsOfANamespaceTurnsByItsName) {
  Request request;
  request.path = "/v1/ns/shop/instances";
  request.client = "192.0.2.1";
  request.parts.emplace("ns", "shop");
  EXPECT_EQ(source_of(request).ns, "shop");
  EXPECT_EQ(source_of(request).client, "192.0.2.1");
}

TEST(GatewayLanes, RefuseWorkForWhichALaneHasNoPlaceAndCountIt) {
  GatewayLanes lanes({.reads = {.threads = 1, .waiting = 0}});
  std::promise<void> runs;
  std::promise<void> release;
  std::vector<std::string> refused;
  const auto note = [&](const Error& error) {
    refused.push_back(error.code + ": " + error.message);
  };
  lanes.run(
      Lane::kRead, {"a", ""},
      [&] {
        runs.set_value();
        release.get_future().wait();
      },
      note);
  runs.get_future().wait();
  lanes.run(
      Lane::kRead, {"b", ""}, [] { ADD_FAILURE(); }, note);
  EXPECT_THAT(refused, ElementsAre("busy: too many requests wait in the lane reads; retry later"));
  for (const auto& [lane, counts] : lanes.figures()) {
    EXPECT_EQ(counts.refused, lane == "reads" ? 1U : 0U) << lane;
    EXPECT_EQ(counts.running, lane == "reads" ? 1U : 0U) << lane;
  }
  release.set_value();
  lanes.stop();
}

TEST(GatewayLanes, DropWaitingWorkWhenTheyStop) {
  GatewayLanes lanes({.reads = {.threads = 1, .waiting = 5}});
  std::promise<void> runs;
  std::promise<void> release;
  const auto never = [](const Error& error) { ADD_FAILURE() << error.message; };
  lanes.run(
      Lane::kRead, {"a", ""},
      [&] {
        runs.set_value();
        release.get_future().wait();
      },
      never);
  runs.get_future().wait();
  const auto held = std::make_shared<int>();
  lanes.run(
      Lane::kRead, {"a", ""}, [held] { ADD_FAILURE(); }, never);
  auto stopped = std::async(std::launch::async, [&] { lanes.stop(); });
  while (held.use_count() > 1) std::this_thread::yield();
  release.set_value();
  stopped.get();
}

class DefinitionLane : public ApiTest {
 protected:
  /// Sends a definition to be checked, without reading the answer.
  std::unique_ptr<RawClient> lint() {
    auto client = std::make_unique<RawClient>(server_->port());
    client->send("POST /v1/lint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nid: a\n");
    return client;
  }
};

TEST_F(DefinitionLane, HoldsUpNoOtherRequest) {
  service_.hold_checks();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(lint());
  service_.await_checks(1);
  EXPECT_EQ(call("GET", "/readyz").status, 200);
  EXPECT_EQ(call("GET", "/metrics").status, 200);
  EXPECT_EQ(call("GET", "/v1/ns").status, 200);
  EXPECT_EQ(call("PUT", "/v1/ns/default/secrets/key", {}, "s3cr3t").status, 201);
  EXPECT_EQ(call("POST", "/v1/ns/default/events", {{"Content-Type", kStructured}}, kEvent).status,
            202);
  service_.release_checks();
  for (auto& client : clients) EXPECT_EQ(client->read_reply()->status, 200);
}

TEST(DefinitionLaneLimits, RefuseAFurtherDefinitionWith503) {
  FakeService service;
  const auto started = HttpServer::start(
      {.listen = "127.0.0.1:0",
       .transport =
           patient_limits({.definitions = {.threads = 1, .waiting = 0, .running_per_client = 1}})},
      service);
  ASSERT_TRUE(started);
  const uint16_t port = (*started)->port();
  service.hold_checks();
  auto first = std::async(std::launch::async,
                          [&] { return request(port, "POST", "/v1/lint", {}, "id: a\n"); });
  service.await_checks(1);
  const HttpReply refused = request(port, "POST", "/v1/lint", {}, "id: a\n");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.code(), "busy");
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(request(port, "GET", "/v1/ns").status, 200);
  service.release_checks();
  EXPECT_EQ(first.get().status, 200);
}

}  // namespace
}  // namespace millrace
