// POST /v1/ns/{ns}/hooks/{webhook}: what the service gets, and how its answers are shown.
#include <gmock/gmock.h>

#include "gateway/http_server.h"
#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

using testing::SizeIs;

constexpr const char* kGit = "/v1/ns/default/hooks/git";

class InboundRoutes : public ApiTest {};

TEST_F(InboundRoutes, PassTheBytesTheHeadersAndAllParameters) {
  const std::string body("{ \"a\" : 1 }\n\0\xff", 14);
  const HttpReply reply = call("POST", std::string(kGit) + "?tenant=a&cursor=b",
                               {{"X-Hub-Signature-256", "sha256=00"}}, body);
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.json(), (Json{{"id", "evt-1"}}));
  const auto received = service_.received();
  ASSERT_THAT(received, SizeIs(1));
  EXPECT_EQ(received[0].ns, "default");
  EXPECT_EQ(received[0].name, "git");
  EXPECT_EQ(received[0].body, body);
  EXPECT_EQ(received[0].query.at("tenant"), "a");
  EXPECT_EQ(received[0].query.at("cursor"), "b");
  EXPECT_EQ(*find_header(received[0].headers, "x-hub-signature-256"), "sha256=00");
  EXPECT_EQ(received[0].peer, "127.0.0.1");
}

TEST_F(InboundRoutes, AnswerAChallengeAsText) {
  service_.inbound_answer = InboundAnswer{.id = "", .challenge = "abc"};
  const HttpReply reply = call("POST", kGit, {}, "{}");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "text/plain");
  EXPECT_EQ(reply.body, "abc");
}

TEST_F(InboundRoutes, AnswerErrorsAsProblems) {
  struct ErrorRow {
    const char* code;
    int status;
  };
  for (const ErrorRow& row : {ErrorRow{"mapping.invalid", 422}, ErrorRow{"mapping.failed", 422},
                              ErrorRow{"event.too_large", 413}, ErrorRow{"broker.timeout", 503},
                              ErrorRow{"millrace.quota.eventsPerSecond", 429}}) {
    service_.inbound_answer = fail(row.code, "why");
    const HttpReply reply = call("POST", kGit, {}, "{}");
    EXPECT_EQ(reply.status, row.status) << row.code;
    EXPECT_EQ(reply.code(), row.code);
  }
  EXPECT_EQ(call("PUT", kGit).status, 405);
  EXPECT_EQ(call("POST", kGit, {}, std::string((size_t{1} << 20) + 1, 'a')).status, 413);
}

TEST_F(InboundRoutes, AskASenderToComeAgainLaterIfTheInboundWebhookIsPaused) {
  service_.inbound_answer = fail("hooks.paused", "the inbound webhook is paused");
  const HttpReply reply = call("POST", kGit, {}, "{}");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.code(), "hooks.paused");
  EXPECT_EQ(reply.header("Retry-After"), "60");
}

TEST_F(InboundRoutes, ListShowPauseAndDelete) {
  ASSERT_EQ(call("PUT", "/v1/ns/default", {}, R"({"lifecycle": true, "hooks": {"git": {
                  "verify": {"form": "github", "secrets": ["key"]},
                  "mapping": {"type": "push"}}}})")
                .status,
            200);
  const Json item = call("GET", "/v1/ns/default/hooks").json()["items"][0];
  EXPECT_EQ(item["name"], "git");
  EXPECT_EQ(item["path"], kGit);
  EXPECT_EQ(item["accepted"], 2);
  EXPECT_EQ(item["lastRefusal"]["msg"], "no secret fits the signature");
  EXPECT_EQ(call("GET", kGit).json()["settings"]["mapping"]["type"], "push");
  const struct {
    const char* verb;
    bool paused;
    bool changed;
  } rows[] = {{"pause", true, true}, {"pause", true, false}, {"resume", false, true}};
  for (const auto& row : rows) {
    const Json answer = call("POST", std::string(kGit) + "/" + row.verb).json();
    EXPECT_EQ(answer, (Json{{"name", "git"}, {"paused", row.paused}, {"changed", row.changed}}));
    EXPECT_EQ(call("GET", kGit).json()["paused"], row.paused);
  }
  EXPECT_EQ(call("DELETE", kGit).json(), (Json{{"name", "git"}, {"deleted", true}}));
  EXPECT_EQ(call("GET", "/v1/ns/default").json()["settings"]["lifecycle"], true);
  for (const auto& [method, path] : {std::pair("GET", ""), std::pair("DELETE", ""),
                                     std::pair("POST", "/pause"), std::pair("POST", "/resume")}) {
    const HttpReply reply = call(method, std::string(kGit) + path);
    EXPECT_EQ(reply.status, 404) << method << path;
    EXPECT_EQ(reply.code(), "hooks.not_found") << method << path;
  }
  EXPECT_EQ(call("GET", "/v1/ns/nowhere/hooks").code(), "namespace.not_found");
}

TEST_F(InboundRoutes, TryARequestThatIsDescribed) {
  const std::string path = std::string(kGit) + "/try";
  EXPECT_EQ(call("POST", path, {}, "{}").code(), "hooks.not_found");
  ASSERT_EQ(call("PUT", "/v1/ns/default", {}, R"({"hooks": {"git": {
                  "verify": {"form": "github", "secrets": ["key"]},
                  "mapping": {"type": "push"}}}})")
                .status,
            200);
  const HttpReply reply = call("POST", path, {},
                               R"({"headers": {"X-Signature": "a", "X-Kind": ["b", "c"]},
                                   "query": {"tenant": "t"}, "base64": "AP8="})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json()["signature"], (Json{{"fits", true}}));
  EXPECT_EQ(reply.json()["event"]["type"], "push");
  const auto received = service_.received();
  ASSERT_THAT(received, SizeIs(1));
  EXPECT_EQ(received[0].name, "git");
  EXPECT_EQ(received[0].body, std::string("\0\xff", 2));
  EXPECT_EQ(received[0].query.at("tenant"), "t");
  EXPECT_EQ(received[0].headers, (Headers{{"X-Kind", "b"}, {"X-Kind", "c"}, {"X-Signature", "a"}}));
  for (const char* const body :
       {"[]", R"({"headers": []})", R"({"headers": {"a": 5}})", R"({"headers": {"a": [5]}})",
        R"({"query": {"a": []}})", R"({"query": 5})", R"({"body": 5})", R"({"base64": "%"})",
        R"({"boddy": ""})"}) {
    EXPECT_EQ(call("POST", path, {}, body).code(), "request.parameter") << body;
  }
}

TEST_F(InboundRoutes, RefuseWithoutAReasonAndEndTheConnection) {
  service_.inbound_answer = fail("hooks.refused", "the request is not accepted");
  const HttpReply reply = call("POST", kGit, {}, "{}");
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.code(), "hooks.refused");
  EXPECT_EQ(reply.json()["detail"], "the request is not accepted");
  EXPECT_EQ(reply.header("Connection"), "close");
}

TEST(InboundRefusal, HasNoAnswerWhileTooManyAnswersAreHeldBack) {
  FakeService service;
  service.inbound_answer = fail("hooks.refused", "the request is not accepted");
  // The held answer ends with the server, long before its time.
  const auto server = *HttpServer::start(
      {.listen = "127.0.0.1:0",
       .transport = patient_limits(
           {.stop_grace = Duration(0), .wrong_token = std::chrono::hours(1), .held_answers = 0})},
      service);
  constexpr const char* kRequest =
      "POST /v1/ns/default/hooks/git HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
  RawClient refused(server->port());
  refused.send(kRequest);
  EXPECT_FALSE(refused.read_reply()) << "the connection is closed without an answer";
  server->stop();
}

}  // namespace
}  // namespace millrace
