// HttpServer: addresses, malformed requests and slow clients, limits, pipelining, and the stop of
// the server.
#include "gateway/http_server.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/patient_limits.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {
namespace {

std::unique_ptr<HttpServer> start(Service& service, TransportLimits limits = {}) {
  auto started =
      HttpServer::start({.listen = "127.0.0.1:0", .transport = patient_limits(limits)}, service);
  EXPECT_TRUE(started) << started.error().message;
  return std::move(*started);
}

std::string get(std::string_view target) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", target);
}

TEST(HttpServer, RefusesToListenBeyondLoopbackWithoutAToken) {
  FakeService service;
  struct Row {
    const char* address;
    const char* code;
  };
  const Row rows[] = {
      {"0.0.0.0:0", "gateway.refused_address"},
      {"[::]:0", "gateway.refused_address"},
      {"192.0.2.1:80", "gateway.refused_address"},
      {"8780", "gateway.malformed_address"},
      {"localhost", "gateway.malformed_address"},
      {"localhost:http", "gateway.malformed_address"},
      {"127.0.0.1:99999", "gateway.malformed_address"},
      {"example.org:80", "gateway.malformed_address"},
  };
  for (const Row& row : rows) {
    const auto started = HttpServer::start({.listen = row.address}, service);
    ASSERT_FALSE(started) << row.address;
    EXPECT_EQ(started.error().code, row.code) << row.address;
  }
}

TEST(HttpServer, ListensOnLoopbackIfNoHostIsGiven) {
  FakeService service;
  const auto started = HttpServer::start({.listen = ":0"}, service);
  ASSERT_TRUE(started) << started.error().message;
  const auto taken =
      HttpServer::start({.listen = fmt::format("127.0.0.1:{}", (*started)->port())}, service);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, "gateway.listen");
}

TEST(HttpServer, CanBindItsAddressBeforeItStarts) {
  FakeService service;
  const auto first = start(service);
  const auto taken = HttpServer::bind(fmt::format("localhost:{}", first->port()), false);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, "gateway.listen");
  EXPECT_EQ(HttpServer::bind("0.0.0.0:0", false).error().code, "gateway.refused_address");
  EXPECT_TRUE(HttpServer::bind("0.0.0.0:0", true));
  Result<Descriptor> address = HttpServer::bind("127.0.0.1:0", false);
  ASSERT_TRUE(address);
  const auto started = HttpServer::start({.listen = "127.0.0.1:0"}, *std::move(address), service);
  ASSERT_TRUE(started);
  EXPECT_NE((*started)->port(), 0);
}

TEST(HttpServer, ReportsThatItsPortIsInUse) {
  FakeService service;
  const auto first = start(service);
  const auto second =
      HttpServer::start({.listen = fmt::format("localhost:{}", first->port())}, service);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, "gateway.listen");
}

TEST(HttpServer, AnswersMalformedHttpAndClosesTheConnection) {
  FakeService service;
  const auto server = start(service);
  const std::string head = "POST /v1/ns/default/events HTTP/1.1\r\nHost: localhost\r\n";
  const std::string rows[] = {
      "garbage\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
      "GET  / HTTP/1.1\r\n\r\n",
      "GET / HTTP/3.0\r\n\r\n",
      "GET /a b HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nNo colon\r\n\r\n",
      "GET / HTTP/1.1\r\nSpace : x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
      head + "Content-Length: minus\r\n\r\n",
      head + "Content-Length: -1\r\n\r\n",
      head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
      head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
      head + "Transfer-Encoding: gzip\r\n\r\nabc",
      head + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      head + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
      head + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
      head + "X: a\r\n\tb\r\nContent-Length: 3\r\n\r\nabc",
      "GET /livez HTTP/1.1\r\n\r\n",
      "GET http://other.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "POST /v1/ns/default/events HTTP/1.0\r\nConnection: keep-alive\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
      // A line ends with CR and LF, also in a body in chunks (RFC 9112, sections 2.2 and 7.1).
      "GET /livez HTTP/1.1\nHost: localhost\n\n\r\n\r\n",
      "GET /livez HTTP/1.1\r\nX: a\nHost: localhost\r\n\r\n",
      "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\rY: b\r\n\r\n",
      "GET /livez HTTP/1.1\r\nHost: localhost\r\n Y: b\r\n\r\n",
      std::string("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n", 48),
      head +
          "Transfer-Encoding: \x0b"
          "chunked\r\n\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n3;\nx\r\nabc\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
      // A field after the body is not a part of the head.
      head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 3\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n",
  };
  for (const std::string& bytes : rows) {
    RawClient client(server->port());
    client.send(bytes);
    const auto reply = client.read_reply();
    ASSERT_TRUE(reply) << bytes;
    EXPECT_EQ(reply->status, 400) << bytes;
    EXPECT_EQ(reply->code(), "request.malformed") << bytes;
    EXPECT_EQ(reply->header("Connection"), "close") << bytes;
    client.finish_sending();
    EXPECT_TRUE(client.is_closed()) << bytes;
  }
  EXPECT_TRUE(service.published().empty());
}

TEST(HttpServer, LimitsTheSizeOfHeadersAndBodies) {
  FakeService service;
  const auto server = start(service);
  struct Row {
    std::string bytes;
    int status;
    const char* code;
  };
  const std::string head = "POST /v1/lint HTTP/1.1\r\nHost: localhost\r\n";
  const Row rows[] = {
      {"GET /livez HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", 431,
       "request.headers_too_large"},
      {"GET /" + std::string(200'000, 'x') + " HTTP/1.1\r\n\r\n", 431, "request.headers_too_large"},
      {head + "Content-Length: 99999999999\r\n\r\n", 413, "request.body_too_large"},
      {head + "Content-Length: 1048577\r\n\r\n", 413, "request.body_too_large"},
      {head + "Content-Length: 2000000\r\n\r\n" + std::string(2'000'000, 'x'), 413,
       "request.body_too_large"},
      {head + "Content-Length: 2000000\r\nExpect: 100-continue\r\n\r\n", 413,
       "request.body_too_large"},
      {head + "Transfer-Encoding: chunked\r\n\r\n100001\r\n", 413, "request.body_too_large"},
      {"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx", 413,
       "request.body_too_large"},
      {"GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "request.host"},
  };
  for (const Row& row : rows) {
    RawClient client(server->port());
    client.send(row.bytes);
    const auto reply = client.read_reply();
    ASSERT_TRUE(reply) << row.bytes.substr(0, 200);
    EXPECT_EQ(reply->status, row.status) << row.bytes.substr(0, 200);
    EXPECT_EQ(reply->code(), row.code) << row.bytes.substr(0, 200);
  }
}

TEST(HttpServer, ReadsBodiesInChunksAndBodiesAfterExpectContinue) {
  FakeService service;
  const auto server = start(service);
  RawClient client(server->port());
  const std::string head = "POST /v1/lint HTTP/1.1\r\nHost: localhost\r\n";
  client.send(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nid:\r\n2;x=y\r\n a\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_reply()->status, 200);
  client.send(head + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_reply()->status, 100);
  client.send("id: b");
  EXPECT_EQ(client.read_reply()->status, 200);
  // Only a line of the headers must not begin with a blank.
  client.send(head + "Content-Length: 8\r\n\r\nid: b\r\n ");
  EXPECT_EQ(client.read_reply()->status, 200);
}

TEST(HttpServer, TakesNoHeadersFromBehindABody) {
  FakeService service;
  const auto server = start(service);
  RawClient client(server->port());
  client.send(
      "POST /v1/ns/default/events HTTP/1.1\r\nHost: localhost\r\nce-specversion: 1.0\r\n"
      "ce-id: 1\r\nce-source: /shop\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nce-type: paid\r\n\r\n");
  const auto reply = client.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 400);
  EXPECT_EQ(reply->code(), "event.missing_attribute");
  EXPECT_TRUE(service.published().empty());
}

TEST(HttpServer, ClosesTheConnectionsOfSlowClients) {
  FakeService service;
  const auto server =
      start(service, {.first_byte = Duration(50), .header = Duration(50), .body = Duration(50)});
  for (const char* beginning :
       {"", "G", "GET /livez HTTP/1.1\r\nHost: loc",
        "POST /v1/lint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nid:"}) {
    RawClient client(server->port());
    client.send(beginning);
    EXPECT_TRUE(client.is_closed()) << beginning;
  }
}

TEST(HttpServer, ClosesAConnectionWhoseHeadersNeverEnd) {
  FakeService service;
  const auto server = start(service, {.header = Duration(100)});
  RawClient client(server->port());
  client.send("GET /livez HTTP/1.1\r\n");
  std::jthread sender([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) client.send("X: y\r\n");
  });
  // Either the time limit or the size limit of the headers ends the connection.
  const auto reply = client.read_reply();
  EXPECT_TRUE(!reply || reply->status == 431);
}

TEST(HttpServer, IgnoresARequestWithATruncatedBody) {
  FakeService service;
  const auto server = start(service);
  RawClient client(server->port());
  client.send("POST /v1/lint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nid:");
  client.finish_sending();
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  FakeService service;
  const auto server = start(service);
  RawClient client(server->port());
  client.send(get("/livez") + get("/v1/ns") + get("/nothing") + get("/v1/info"));
  client.finish_sending();
  EXPECT_EQ(client.read_reply()->json()["status"], "alive");
  EXPECT_TRUE(client.read_reply()->json().contains("items"));
  EXPECT_EQ(client.read_reply()->status, 404);
  EXPECT_EQ(client.read_reply()->json()["version"], "test");
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, KeepsAConnectionOpenUnlessTheClientAsksToCloseIt) {
  FakeService service;
  const auto server = start(service);
  RawClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send(get("/v1/ns"));
    EXPECT_EQ(client.read_reply()->status, 200);
  }
  client.send("GET /v1/ns HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read_reply()->status, 200);
  EXPECT_TRUE(client.is_closed());

  RawClient old(server->port());
  old.send("GET /v1/ns HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_reply()->status, 200);
  EXPECT_TRUE(old.is_closed());
}

TEST(HttpServer, ServesAHundredConnectionsAtOnce) {
  FakeService service;
  const auto server = start(service);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(std::make_unique<RawClient>(server->port()));
  for (auto& client : clients) client->send(get("/v1/ns"));
  for (auto& client : clients) EXPECT_EQ(client->read_reply()->status, 200);
}

TEST(HttpServer, ClosesAnIdleConnectionAfterItsIdleTime) {
  FakeService service;
  const auto server = start(service, {.idle = Duration(50)});
  RawClient client(server->port());
  client.send(get("/livez"));
  EXPECT_EQ(client.read_reply()->status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, ClosesTheConnectionThatHasBeenIdleLongestForANewOne) {
  FakeService service;
  const auto server = start(service, {.connections = 2});
  RawClient first(server->port());
  RawClient second(server->port());
  for (RawClient* client : {&first, &second}) {
    client->send(get("/livez"));
    EXPECT_EQ(client->read_reply()->status, 200);
  }
  RawClient third(server->port());
  third.send(get("/v1/ns"));
  EXPECT_EQ(third.read_reply()->status, 200);
  EXPECT_TRUE(first.is_closed());
  second.send(get("/v1/ns"));
  EXPECT_EQ(second.read_reply()->status, 200);
}

TEST(HttpServer, LetsNoClientThatSendsNothingKeepOthersOut) {
  FakeService service;
  const auto server = start(service, {.connections = 2, .probe_connections = 1});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<RawClient>(server->port()));
    silent.back()->send("GET /v1/ns HT");
  }
  EXPECT_EQ(request(server->port(), "GET", "/v1/ns").status, 200);
  EXPECT_EQ(request(server->port(), "GET", "/readyz").status, 200);
}

TEST(HttpServer, LetsNoClientThatReadsNoAnswersKeepOthersOutWithoutTheToken) {
  FakeService service;
  const auto started = HttpServer::start(
      {.listen = "127.0.0.1:0",
       .token = BearerToken("the-token"),
       .transport = patient_limits({.connections = 1, .probe_connections = 0, .socket_bytes = 1})},
      service);
  ASSERT_TRUE(started) << started.error().message;
  const uint16_t port = (*started)->port();
  RawClient stranger(port);
  std::string requests;
  for (int i = 0; i < 1'000; ++i) requests += get("/v1/ns");
  stranger.send(requests);
  EXPECT_EQ(request(port, "GET", "/v1/ns", {{"Authorization", "Bearer the-token"}}).status, 200);
}

class HttpServerWaitTest : public testing::Test {
 protected:
  void SetUp() override {
    server_ = start(service_, {.connections = 2, .probe_connections = 0, .long_waits = 2});
    ASSERT_EQ(
        request(server_->port(), "PUT", "/v1/ns/default/workflows/order", {}, "id: order\n").status,
        200);
  }

  static constexpr const char* kStart =
      "POST /v1/ns/default/workflows/order/start?wait=1h HTTP/1.1\r\nHost: localhost\r\n\r\n";

  /// Sends a start that waits; returns when `waiters` requests wait in all.
  void begin(RawClient& client, size_t waiters = 1) {
    client.send(kStart);
    service_.await_waiters(waiters);
  }
  /// Starts the server again with these limits, and with the workflow.
  void restart(const TransportLimits& limits) { server_ = start(service_, limits); }

  FakeService service_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerWaitTest, AnswersAWaitingRequestWhenTheHttpServerStops) {
  RawClient client(server_->port());
  begin(client);
  auto stopped = std::async(std::launch::async, [&] { server_->stop(); });
  const auto reply = client.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->code(), "stopping");
  EXPECT_TRUE(client.is_closed());
  client.finish_sending();
  stopped.get();
  // The answer of the service comes too late and is ignored.
  service_.end_instances("complete");
  server_.reset();
}

TEST_F(HttpServerWaitTest, RefusesAConnectionWhileTheRequestsOfAllOthersAreHandled) {
  RawClient first(server_->port());
  begin(first, 1);
  RawClient second(server_->port());
  begin(second, 2);
  RawClient third(server_->port());
  const auto refused = third.read_reply();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->code(), "busy");
  EXPECT_EQ(refused->header("Retry-After"), "1");
  service_.end_instances("complete");
  EXPECT_EQ(first.read_reply()->status, 200);
  EXPECT_EQ(request(server_->port(), "GET", "/livez").status, 200);
}

TEST_F(HttpServerWaitTest, KeepsConnectionsForProbes) {
  restart({.connections = 2, .probe_connections = 1});
  RawClient first(server_->port());
  begin(first, 1);
  RawClient second(server_->port());
  begin(second, 2);
  RawClient silent(server_->port());
  for (const char* probe : {"/livez", "/readyz", "/activez", "/metrics"}) {
    const HttpReply reply = request(server_->port(), "GET", probe);
    EXPECT_EQ(reply.status, 200) << probe;
    EXPECT_EQ(reply.header("Connection"), "close") << probe;
  }
  EXPECT_TRUE(silent.is_closed());
  const HttpReply refused = request(server_->port(), "GET", "/v1/ns");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.code(), "busy");
}

TEST_F(HttpServerWaitTest, RefusesAWaitForWhichThereIsNoPlaceBeforeItStartsAnInstance) {
  restart({.long_waits = 1});
  RawClient first(server_->port());
  begin(first);
  const HttpReply refused =
      request(server_->port(), "POST", "/v1/ns/default/workflows/order/start?wait=1h");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.code(), "busy");
  EXPECT_EQ(service_.starts().size(), 1U);
  EXPECT_EQ(request(server_->port(), "POST", "/v1/ns/default/workflows/order/start").status, 201);
}

TEST_F(HttpServerWaitTest, EndsAWaitingRequestWhenItsClientDisconnects) {
  // A byte of a further request makes no difference.
  for (const char* const further : {"", "G"}) {
    restart({.connections = 1, .probe_connections = 0});
    auto client = std::make_unique<RawClient>(server_->port());
    begin(*client);
    client->send(further);
    client.reset();
    // The limit is one connection; the one that waited is released.
    HttpReply reply;
    do reply = request(server_->port(), "GET", "/livez");
    while (reply.status != 200);
    EXPECT_EQ(reply.status, 200);
    service_.end_instances("complete");
  }
}

TEST_F(HttpServerWaitTest, DoesNotEndAWaitingRequestAtAPipelinedRequest) {
  RawClient client(server_->port());
  begin(client);
  client.send(get("/livez"));
  service_.end_instances("complete");
  EXPECT_EQ(client.read_reply()->json()["status"], "complete");
  EXPECT_EQ(client.read_reply()->json()["status"], "alive");
}

TEST(HttpServer, FinishesRunningRequestsBeforeItStops) {
  FakeService service;
  const auto server = start(service, {.stop_grace = kPatience});
  service.hold();
  RawClient client(server->port());
  client.send("PUT /v1/ns/shop HTTP/1.1\r\nHost: localhost\r\n\r\n");
  service.await_held();
  auto stopped = std::async(std::launch::async, [&] { server->stop(); });
  // Waits until the server accepts no new connection; then the answer is released.
  while (request(server->port(), "GET", "/livez").status == 200) {
  }
  service.release();
  EXPECT_EQ(client.read_reply()->status, 201);
  client.finish_sending();
  stopped.get();
}

TEST(HttpServer, RefusesRunningRequestsAfterTheGracePeriodOfAStop) {
  FakeService service;
  const auto server = start(service, {.stop_grace = Duration(20)});
  service.hold();
  RawClient client(server->port());
  client.send("PUT /v1/ns/shop HTTP/1.1\r\nHost: localhost\r\n\r\n");
  service.await_held();
  auto stopped = std::async(std::launch::async, [&] { server->stop(); });
  const auto reply = client.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->code(), "stopping");
  client.finish_sending();
  stopped.get();
  service.release();
}

TEST(HttpServer, CanBeStoppedTwiceAndWithIdleConnections) {
  FakeService service;
  const auto server = start(service);
  RawClient idle(server->port());
  idle.send(get("/livez"));
  EXPECT_EQ(idle.read_reply()->status, 200);
  server->stop();
  EXPECT_TRUE(idle.is_closed());
  server->stop();
}

}  // namespace
}  // namespace millrace
