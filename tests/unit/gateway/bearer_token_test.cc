// Which requests a server with a token accepts.
#include <gtest/gtest.h>

#include "gateway/http_server.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/patient_limits.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {
namespace {

constexpr const char* kToken = "correct-horse-battery-staple";

Headers bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

class BearerTokenTest : public testing::Test {
 protected:
  void SetUp() override {
    // A server may listen beyond loopback only with a token.
    auto started = HttpServer::start(
        {.listen = "0.0.0.0:0", .token = BearerToken(kToken), .transport = patient_limits()},
        service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }

  HttpReply call(std::string_view method, std::string_view target, const Headers& headers = {},
                 std::string_view body = "") {
    return request(server_->port(), method, target, headers, body);
  }

  FakeService service_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(BearerTokenTest, AdmitsRequestsThatCarryTheToken) {
  const std::string token = kToken;
  for (const std::string& shown :
       {"Bearer " + token, "bearer " + token, "BEARER   " + token, "Bearer " + token + " "}) {
    EXPECT_EQ(call("GET", "/v1/ns", {{"Authorization", shown}}).status, 200) << shown;
  }
  EXPECT_EQ(call("PUT", "/v1/ns/default/workflows/order", bearer(kToken), "id: order\n").status,
            200);
}

TEST_F(BearerTokenTest, RefusesRequestsWithoutTheToken) {
  for (const char* shown :
       {"", "Bearer", "correct-horse-battery-staple", "Basic correct-horse-battery-staple",
        "Bearercorrect-horse-battery-staple", "Token correct-horse-battery-staple"}) {
    const HttpReply reply = call("GET", "/v1/ns", {{"Authorization", shown}});
    EXPECT_EQ(reply.status, 401) << shown;
    EXPECT_EQ(reply.code(), "token.missing") << shown;
    EXPECT_EQ(reply.header("WWW-Authenticate"), R"(Bearer realm="millrace")") << shown;
    EXPECT_EQ(reply.header("Content-Type"), "application/problem+json") << shown;
  }
  EXPECT_EQ(call("GET", "/v1/ns").code(), "token.missing");
}

TEST_F(BearerTokenTest, RefusesAnotherTokenWithoutRepeatingIt) {
  for (const char* shown :
       {"correct-horse-battery-stapl", "correct-horse-battery-staple1",
        "Correct-horse-battery-staple", "correct-horse-battery-staple, x", "x"}) {
    const HttpReply reply = call("GET", "/v1/ns", bearer(shown));
    EXPECT_EQ(reply.status, 401) << shown;
    EXPECT_EQ(reply.code(), "token.wrong") << shown;
    EXPECT_EQ(reply.header("WWW-Authenticate"),
              R"(Bearer realm="millrace", error="invalid_token")");
    EXPECT_EQ(reply.body.find("staple"), std::string::npos) << reply.body;
  }
}

TEST_F(BearerTokenTest, IsRequiredByAllRoutesButTheOpenOnes) {
  struct Row {
    const char* method;
    const char* target;
    int status;
  };
  const Row rows[] = {
      {"GET", "/", 404},
      {"GET", "/assets/app.js", 404},
      {"GET", "/ns/default/instances", 404},
      {"GET", "/livez", 200},
      {"GET", "/readyz", 200},
      {"HEAD", "/readyz", 200},
      {"GET", "/activez", 200},
      {"GET", "/v1/openapi.json", 200},
      {"OPTIONS", "/v1/ns/default/events", 200},
      {"POST", "/v1/ns/default/hooks/git", 202},
      {"GET", "/v1/tasks/0190b5a4-7c1e-7f2a-8000-0123456789ab/files", 403},
      {"GET", "/v1/tasks/0190b5a4-7c1e-7f2a-8000-0123456789ab/files/note", 403},
      {"PUT", "/v1/tasks/0190b5a4-7c1e-7f2a-8000-0123456789ab/files/out", 403},
      {"POST", "/v1/ns/default/callbacks/k.1/complete", 200},
      {"POST", "/v1/ns/default/callbacks/k.1/fail", 400},
      {"POST", "/v1/ns/default/callbacks/k.1/heartbeat", 200},
      {"GET", "/v1/ns/default/callbacks/k.1/complete", 405},
      {"POST", "/v1/ns/default/callbacks/k.1", 404},
      {"GET", "/v1/ns/default/callbacks/k.1", 404},
      {"GET", "/v1/ns/default/callbacks", 401},
      {"POST", "/v1/ns/default/callbacks/k.1/none", 401},
      {"GET", "/v1/ns/default/calls", 401},
      {"POST", "/v1/ns/default/calls/0190b5a4-7c1e-7f2a-8000-0123456789ac/complete", 401},
      {"POST", "/v1/ns/default/calls/0190b5a4-7c1e-7f2a-8000-0123456789ac/fail", 401},
      {"GET", "/metrics", 401},
      {"GET", "/v1/info", 401},
      {"GET", "/v1/cluster", 401},
      {"POST", "/v1/cluster/accept-loss", 401},
      {"DELETE", "/v1/cluster/nodes/01000000000000000000000000000000", 401},
      {"GET", "/v1/ns", 401},
      {"GET", "/v1/ns/shop", 401},
      {"PUT", "/v1/ns/shop", 401},
      {"DELETE", "/v1/ns/shop", 401},
      {"POST", "/v1/ns/default/events", 401},
      {"GET", "/v1/ns/default/events", 401},
      {"GET", "/v1/ns/default/events/18", 401},
      {"POST", "/v1/ns/default/events/18/replay", 401},
      {"POST", "/v1/ns/default/replays", 401},
      {"DELETE", "/v1/ns/default/replays/r1", 401},
      {"GET", "/v1/ns/default/hooks", 401},
      {"GET", "/v1/ns/default/hooks/git", 401},
      {"POST", "/v1/ns/default/hooks/git/pause", 401},
      {"POST", "/v1/ns/default/hooks/git/resume", 401},
      {"DELETE", "/v1/ns/default/hooks/git", 401},
      {"GET", "/v1/ns/default/sources", 401},
      {"PUT", "/v1/ns/default/sources/orders", 401},
      {"DELETE", "/v1/ns/default/sources/orders", 401},
      {"DELETE", "/v1/ns/default/groups/g", 401},
      {"GET", "/v1/ns/default/queues", 401},
      {"GET", "/v1/ns/default/queues/holders", 401},
      {"GET", "/v1/ns/default/events/18/why", 401},
      {"POST", "/v1/ns/default/events/try", 401},
      {"GET", "/v1/ns/default/instances/0190b5a4-7c1e-7f2a-8000-0123456789ab/why", 401},
      {"GET", "/v1/ns/default/instances/0190b5a4-7c1e-7f2a-8000-0123456789ab/scenario", 401},
      {"GET", "/v1/ns/default/workflows", 401},
      {"PUT", "/v1/ns/default/workflows/order", 401},
      {"GET", "/v1/ns/default/workflows/order/graph", 401},
      {"POST", "/v1/ns/default/workflows/order/start", 401},
      {"GET", "/v1/ns/default/instances", 401},
      {"GET", "/v1/ns/default/instances/count", 401},
      {"GET", "/v1/ns/default/instances/12/calls", 401},
      {"GET", "/v1/ns/default/instances/12/children", 401},
      {"GET", "/v1/ns/default/workflows/order/revisions/1", 401},
      {"GET", "/v1/ns/default/find?q=order", 401},
      {"POST", "/v1/ns/default/instances/delete", 401},
      {"GET", "/v1/ns/default/variables/a", 401},
      {"GET", "/v1/ns/default/secrets", 401},
      {"GET", "/v1/ns/default/schedules", 401},
      {"GET", "/v1/ns/default/listeners", 401},
      {"GET", "/v1/ns/default/dlq", 401},
      {"DELETE", "/v1/ns/default/dlq?all=1", 401},
      {"POST", "/v1/ns/default/dlq/12/replay", 401},
      {"GET", "/v1/ns/default/next", 401},
      {"GET", "/v1/ns/default/overview", 401},
      {"GET", "/v1/series", 401},
      {"GET", "/v1/ns/default/stream", 401},
      {"GET", "/v1/ns/default/functions", 401},
      {"POST", "/v1/lint", 401},
      {"POST", "/v1/expressions", 401},
      {"GET", "/v1/schema", 401},
      {"POST", "/v1/ns/default/workflows/order/input", 401},
      {"POST", "/v1/session", 401},
      {"GET", "/v1/session", 401},
      {"DELETE", "/v1/session", 401},
      {"POST", "/v1/backups", 401},
      {"GET", "/v1/backups/backup-1/chunks/1", 401},
      {"DELETE", "/v1/backups/backup-1", 401},
      // Without a token, the server does not show which routes exist.
      {"GET", "/nothing", 401},
      {"DELETE", "/livez", 405},  // its path has only routes that need no token
      {"POST", "/", 401},
      {"GET", "/v1/ns?colour=red", 401},
  };
  for (const Row& row : rows) {
    const HttpReply reply = call(row.method, row.target);
    EXPECT_EQ(reply.status, row.status) << row.method << " " << row.target << " " << reply.body;
  }
  EXPECT_TRUE(service_.published().empty());
}

TEST_F(BearerTokenTest, IsCheckedBeforeABodyIsRead) {
  RawClient client(server_->port());
  client.send(
      "PUT /v1/ns/default/workflows/order HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n");
  const auto reply = client.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 401);
  EXPECT_EQ(reply->header("Connection"), "close");
}

TEST_F(BearerTokenTest, IsCheckedBeforeTheSizeOfABody) {
  const std::string head =
      "POST /v1/ns/default/events HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Length: 99999999999\r\n";
  RawClient stranger(server_->port());
  stranger.send(head + "\r\n");
  EXPECT_EQ(stranger.read_reply()->code(), "token.missing");
  RawClient known(server_->port());
  known.send(head + fmt::format("Authorization: Bearer {}\r\n\r\n", kToken));
  EXPECT_EQ(known.read_reply()->code(), "request.body_too_large");
}

TEST_F(BearerTokenTest, IsSentOnce) {
  const std::pair<std::string, std::string> right = bearer(kToken).front();
  EXPECT_EQ(call("GET", "/v1/ns", {right, {"Authorization", "Bearer x"}}).code(),
            "request.malformed");
}

TEST_F(BearerTokenTest, AllowsEveryHostButNoForeignOrigin) {
  RawClient client(server_->port());
  const std::string token = fmt::format("Authorization: Bearer {}\r\n\r\n", kToken);
  client.send("GET /v1/ns HTTP/1.1\r\nHost: millrace.example:8780\r\n" + token);
  EXPECT_EQ(client.read_reply()->status, 200);
  client.send("GET /v1/ns HTTP/1.1\r\nHost: a.example\r\nOrigin: http://b.example\r\n" + token);
  EXPECT_EQ(client.read_reply()->code(), "request.origin");
}

TEST_F(BearerTokenTest, CanBeReplacedWhileMillraceRuns) {
  RawClient client(server_->port());
  const std::string request =
      fmt::format("GET /v1/ns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", kToken);
  client.send(request);
  EXPECT_EQ(client.read_reply()->status, 200);
  server_->replace_token(BearerToken("another-token-altogether"));
  client.send(request);
  EXPECT_EQ(client.read_reply()->code(), "token.wrong")
      << "the new token applies to open connections too";
  EXPECT_EQ(call("GET", "/v1/ns", bearer("another-token-altogether")).status, 200);
}

}  // namespace
}  // namespace millrace
