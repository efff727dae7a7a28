#include "gateway/gateway_metrics.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/process.h"
#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(GatewayMetrics, ArePrintedWithTheirHelpAndTheirType) {
  GatewayFigures figures{.connections = 3, .memory_refused = 5, .handed_on = {1, 4, 2}};
  figures.lanes = {{"reads", {.waiting = 7, .running = 2, .refused = 9}}, {"events", {}}};
  const std::string text = to_prometheus(figures);
  EXPECT_THAT(text, HasSubstr("# HELP millrace_http_connections Open HTTP connections.\n"
                              "# TYPE millrace_http_connections gauge\n"
                              "millrace_http_connections 3\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_http_memory_refused_total 5\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_http_handed_on 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_http_handed_on_total 4\n"));
  EXPECT_THAT(text, HasSubstr("\nmillrace_http_handed_on_refused_total 2\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE millrace_http_requests_waiting gauge\n"
                              "millrace_http_requests_waiting{lane=\"reads\"} 7\n"
                              "millrace_http_requests_waiting{lane=\"events\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("millrace_http_requests_refused_total{lane=\"reads\"} 9\n"));
}

class GatewayMetricsTest : public testing::Test {
 protected:
  void start(const TransportLimits& limits) {
    auto started =
        HttpServer::start({.listen = "127.0.0.1:0", .transport = patient_limits(limits)}, service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
    ASSERT_EQ(ask("PUT", "/v1/ns/default/workflows/order", kOrder).status, 200);
  }
  HttpReply ask(const char* method, const std::string& target, std::string_view body = "") {
    return request(server_->port(), method, target, {}, body);
  }
  /// The value of a metric.
  uint64_t value(const std::string& name) {
    const std::string text = "\n" + ask("GET", "/metrics").body;
    const size_t at = text.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name << text;
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 2));
  }

  FakeService service_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(GatewayMetricsTest, FollowTheMetricsOfTheService) {
  start({});
  const HttpReply reply = ask("GET", "/metrics");
  EXPECT_EQ(reply.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(reply.body, testing::StartsWith("millrace_events_total 3\n"));
  EXPECT_GE(value("millrace_http_connections"), 1U);
}

TEST_F(GatewayMetricsTest, CountWaitsAndRefusedWaits) {
  start({.long_waits = 1});
  RawClient waiting(server_->port());
  waiting.send(
      "POST /v1/ns/default/workflows/order/start?wait=1h HTTP/1.1\r\nHost: localhost\r\n\r\n");
  service_.await_waiters(1);
  EXPECT_EQ(value("millrace_http_waits"), 1U);
  EXPECT_EQ(ask("POST", "/v1/ns/default/workflows/order/start?wait=1h").status, 503);
  EXPECT_EQ(value("millrace_http_waits_refused_total"), 1U);
}

TEST_F(GatewayMetricsTest, CountNoWaitOfAClientThatHungUpAndGiveItsPlaceToAnother) {
  using Client = std::unique_ptr<RawClient>;
  constexpr size_t kPlaces = 20;
  const std::string target = "/v1/ns/default/workflows/order/start?wait=1h";
  const std::string wait = fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\n\r\n", target);
  const std::pair<const char*, void (*)(Client&)> ways[] = {
      {"closes", [](Client& client) { client.reset(); }},
      {"resets", [](Client& client) { client->reset_connection(); }},
      {"finishes sending, and reads on",
       [](Client& client) {
         client->finish_sending();
         EXPECT_TRUE(client->is_closed()) << "no answer comes";
       }},
  };
  start({.long_waits = kPlaces});
  size_t waits = 0;
  // The service never answers a wait, so nothing else than the hang-up frees its place.
  for (const auto& [way, hang_up] : ways) {
    std::vector<Client> clients(kPlaces);
    for (Client& client : clients) {
      client = std::make_unique<RawClient>(server_->port());
      client->send(wait);
    }
    waits += kPlaces;
    service_.await_waiters(waits);
    EXPECT_EQ(value("millrace_http_waits"), kPlaces) << way;
    EXPECT_EQ(ask("POST", target).status, 503) << way;
    for (Client& client : clients) hang_up(client);
    EXPECT_TRUE(eventually([&] { return value("millrace_http_waits") == 0; })) << way;
  }
  EXPECT_EQ(value("millrace_http_waits_refused_total"), std::size(ways));
}

TEST_F(GatewayMetricsTest, CountStreamsAndRefusedStreams) {
  start({.streams = 1});
  RawClient client(server_->port());
  client.send(request_text(server_->port(), "GET", "/v1/ns/default/stream?topics=counts", {}, ""));
  const auto sink = service_.await_watcher();
  EXPECT_EQ(value("millrace_http_streams"), 1U);
  EXPECT_EQ(ask("GET", "/v1/ns/default/stream?topics=counts").status, 503);
  EXPECT_EQ(value("millrace_http_streams_refused_total"), 1U);
}

TEST_F(GatewayMetricsTest, CountConnectionsThatAreClosedOrRefusedForOthers) {
  start({.connections = 1, .probe_connections = 1});
  const uint64_t before = value("millrace_http_connections_closed_total");
  RawClient idle(server_->port());
  EXPECT_GT(value("millrace_http_connections_closed_total"), before);
  EXPECT_TRUE(idle.is_closed());
}

TEST_F(GatewayMetricsTest, ShowTheBytesOfASlowBodyUntilAnotherRequestNeedsThem) {
  constexpr size_t kMebibyte = size_t{1} << 20;
  start({.memory_bytes = kMebibyte, .slow_transfer = Duration(0)});
  RawClient slow(server_->port());
  slow.send(
      fmt::format("PUT /v1/ns/default/variables/a HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  kMebibyte, std::string(kMebibyte - 1, 'x')));
  while (value("millrace_http_memory_bytes") < kMebibyte - (64 << 10) - 1) {
  }
  EXPECT_EQ(ask("PUT", "/v1/ns/default/variables/b", std::string(kMebibyte, 'x')).status, 200);
  EXPECT_TRUE(slow.is_closed());
  EXPECT_EQ(ask("PUT", "/v1/ns/default/variables/b", std::string(2 * kMebibyte, 'x')).status, 503);
  EXPECT_EQ(value("millrace_http_memory_refused_total"), 1U);
}

}  // namespace
}  // namespace millrace
