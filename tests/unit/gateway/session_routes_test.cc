// Signing in and out over a real socket, on a server with and without a token, and on the nodes of
// a cluster.
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "gateway/http_server.h"
#include "gateway/routes.h"
#include "tests/support/answer_check.h"
#include "tests/support/process.h"
#include "tests/unit/gateway/fake_node_front.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/patient_limits.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kSignInToken = "correct-horse-battery-staple";
constexpr const char* kOrderOfPage = "/v1/ns/default/workflows/order";

/// The cookie that the answer sets, as a request sends it.
std::string cookie_of(const HttpReply& reply) {
  const std::string set = reply.header("Set-Cookie");
  return set.substr(0, set.find(';'));
}

class SessionRoutes : public testing::Test {
 protected:
  void start(const std::optional<BearerToken>& token) {
    server_.reset();
    auto started = HttpServer::start(options_with(token), service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
  }

  HttpServer::Options options_with(const std::optional<BearerToken>& token) {
    return {.listen = "127.0.0.1:0",
            .token = token,
            .session_realm = "orders",
            .transport = patient_limits()};
  }

  HttpReply call(uint16_t port, std::string_view method, std::string_view target,
                 const Headers& headers = {}, std::string_view body = "") {
    HttpReply reply = request(port, method, target, headers, body);
    EXPECT_EQ(answer_check_.fault_of(method, target, reply), "") << method << " " << target;
    return reply;
  }
  HttpReply call(std::string_view method, std::string_view target, const Headers& headers = {},
                 std::string_view body = "") {
    return call(server_->port(), method, target, headers, body);
  }

  HttpReply sign_in(uint16_t port) {
    return call(port, "POST", "/v1/session",
                {{"Authorization", std::string("Bearer ") + kSignInToken}});
  }

  FakeService service_;
  std::unique_ptr<HttpServer> server_;
  AnswerCheck answer_check_{api_document()};
};

TEST_F(SessionRoutes, ExchangeTheTokenForACookie) {
  start(BearerToken(kSignInToken));
  EXPECT_EQ(call("GET", "/v1/session").code(), "token.missing");
  EXPECT_EQ(call("POST", "/v1/session").code(), "token.missing");
  EXPECT_EQ(call("POST", "/v1/session", {{"Authorization", "Bearer x"}}).code(), "token.wrong");

  const HttpReply signed_in = sign_in(server_->port());
  EXPECT_EQ(signed_in.status, 204);
  EXPECT_THAT(signed_in.header("Set-Cookie"),
              StartsWith(fmt::format("millrace-{}=", server_->port())));
  EXPECT_THAT(signed_in.header("Set-Cookie"), EndsWith("; Path=/; HttpOnly; SameSite=Strict"));
  EXPECT_EQ(signed_in.header("Set-Cookie").find(kSignInToken), std::string::npos);

  const HttpReply by_token =
      call("GET", "/v1/session", {{"Authorization", std::string("Bearer ") + kSignInToken}});
  EXPECT_EQ(by_token.json(), Json::parse(R"({"scopes": ["admin"], "namespaces": ["*"]})"));
  const Headers session = {{"Cookie", cookie_of(signed_in)}};
  EXPECT_EQ(call("GET", "/v1/ns", session).status, 200);
  const HttpReply shown = call("GET", "/v1/session", session);
  EXPECT_EQ(shown.status, 200);
  EXPECT_TRUE(shown.json().contains("until"));
  EXPECT_EQ(call("GET", "/v1/ns", {{"Cookie", cookie_of(shown)}}).status, 200) << "it is renewed";
}

TEST_F(SessionRoutes, RefuseChangesThatAnotherPageCouldSend) {
  start(BearerToken(kSignInToken));
  const std::string cookie = cookie_of(sign_in(server_->port()));
  const std::string order = "id: order\nstates: []\n";
  EXPECT_EQ(call("PUT", kOrderOfPage, {{"Cookie", cookie}}, order).code(), "request.page");
  EXPECT_EQ(
      call("PUT", kOrderOfPage,
           {{"Cookie", cookie}, {"Millrace-Page", "1"}, {"Origin", "http://evil.example"}}, order)
          .code(),
      "request.origin");
  EXPECT_FALSE(service_.has_workflow("order"));
  EXPECT_EQ(call("PUT", kOrderOfPage,
                 {{"Cookie", cookie},
                  {"Millrace-Page", "1"},
                  {"Origin", fmt::format("http://localhost:{}", server_->port())}},
                 order)
                .status,
            200);
  EXPECT_TRUE(service_.has_workflow("order"));
}

TEST_F(SessionRoutes, EndASessionBySigningOutAndByAnotherToken) {
  start(BearerToken(kSignInToken));
  const std::string first = cookie_of(sign_in(server_->port()));
  const std::string second = cookie_of(sign_in(server_->port()));
  const HttpReply out = call("DELETE", "/v1/session", {{"Cookie", first}, {"Millrace-Page", "1"}});
  EXPECT_EQ(out.status, 204);
  EXPECT_THAT(out.header("Set-Cookie"), StartsWith(fmt::format("millrace-{}=;", server_->port())));
  EXPECT_THAT(out.header("Set-Cookie"), HasSubstr("Max-Age=0"));
  EXPECT_EQ(call("GET", "/v1/ns", {{"Cookie", first}}).code(), "session.ended");
  EXPECT_EQ(call("GET", "/v1/ns", {{"Cookie", second}}).status, 200);

  server_->replace_token(BearerToken("another-token-altogether"));
  EXPECT_EQ(call("GET", "/v1/ns", {{"Cookie", second}}).code(), "session.ended");
}

TEST_F(SessionRoutes, CloseTheStreamsOfASessionThatHasEndedBeforeTheyGetAnotherByte) {
  start(BearerToken(kSignInToken));
  const std::string cookie = cookie_of(sign_in(server_->port()));
  const auto open = [&](RawClient& client, const Headers& headers) {
    client.send(
        request_text(server_->port(), "GET", "/v1/ns/default/stream?topics=counts", headers, ""));
    const auto sink = service_.await_watcher();
    EXPECT_TRUE(client.read_reply(true));
    return sink;
  };
  RawClient by_cookie(server_->port());
  RawClient by_token(server_->port());
  const auto of_cookie = open(by_cookie, {{"Cookie", cookie}});
  const auto of_token = open(by_token, {{"Authorization", std::string("Bearer ") + kSignInToken}});
  const auto ends = [](const LiveSink& answer) {
    return eventually([&] { return !answer.is_open(); });
  };
  const auto message = std::make_shared<const std::string>("data: {}\n\n");
  of_cookie->send(message);
  EXPECT_EQ(by_cookie.read_bytes(message->size()), *message);

  ASSERT_EQ(call("DELETE", "/v1/session", {{"Cookie", cookie}, {"Millrace-Page", "1"}}).status,
            204);
  of_cookie->send(message);
  EXPECT_EQ(by_cookie.read_bytes(1), "");
  EXPECT_TRUE(by_cookie.is_closed());
  EXPECT_TRUE(ends(*of_cookie));
  of_token->send(message);
  EXPECT_EQ(by_token.read_bytes(message->size()), *message);

  // With another token they end at once, and not only when a message comes.
  server_->replace_token(BearerToken("another-token-altogether"));
  EXPECT_TRUE(by_token.is_closed());
  EXPECT_TRUE(ends(*of_token));
}

TEST_F(SessionRoutes, NeedNoSignInWithoutAToken) {
  start({});
  EXPECT_EQ(call("GET", "/v1/session").code(), "session.none");
  for (const char* const method : {"POST", "DELETE"}) {
    const HttpReply reply = call(method, "/v1/session", {{"Cookie", "millrace-8780=x"}});
    EXPECT_EQ(reply.status, 204) << method;
    EXPECT_EQ(reply.header("Set-Cookie"), "") << method;
  }
}

TEST_F(SessionRoutes, AreAcceptedByEachNodeOfTheClusterAndEndedAtTheActive) {
  start(BearerToken(kSignInToken));
  FakeNodeFront front("n2");
  front.set({.active_url = fmt::format("http://127.0.0.1:{}", server_->port())});
  Result<Descriptor> address = HttpServer::bind("127.0.0.1:0", true);
  ASSERT_TRUE(address);
  HttpServer::Options options = options_with(BearerToken(kSignInToken));
  options.transport.active_answer = kPatience;
  NodeFront& its_front = front;
  auto standby = HttpServer::start(std::move(options), *std::move(address), its_front);
  ASSERT_TRUE(standby) << standby.error().message;
  const uint16_t port = (*standby)->port();

  const std::string cookie = cookie_of(sign_in(port));
  EXPECT_EQ(call(port, "GET", "/v1/ns", {{"Cookie", cookie}}).status, 200);
  EXPECT_EQ(call(port, "PUT", kOrderOfPage, {{"Cookie", cookie}}, "x").code(), "request.page");
  EXPECT_EQ(call(port, "PUT", kOrderOfPage, {{"Cookie", cookie}, {"Millrace-Page", "1"}},
                 "id: order\nstates: []\n")
                .status,
            200);
  const HttpReply out =
      call(port, "DELETE", "/v1/session", {{"Cookie", cookie}, {"Millrace-Page", "1"}});
  EXPECT_EQ(out.status, 204);
  EXPECT_THAT(out.header("Set-Cookie"), StartsWith(fmt::format("millrace-{}=;", port)));
  EXPECT_EQ(call(port, "GET", "/v1/ns", {{"Cookie", cookie}}).code(), "session.ended");
}

TEST_F(SessionRoutes, OfOneProcessAreNotThoseOfAnotherWithoutACluster) {
  const auto cookie_of_a_new_process = [&] {
    HttpServer::Options options = options_with(BearerToken(kSignInToken));
    options.session_realm = "";
    auto started = HttpServer::start(std::move(options), service_);
    EXPECT_TRUE(started);
    server_ = *std::move(started);
    return cookie_of(sign_in(server_->port()));
  };
  const std::string first = cookie_of_a_new_process();
  EXPECT_EQ(call("GET", "/v1/ns", {{"Cookie", first}}).status, 200);
  cookie_of_a_new_process();
  EXPECT_EQ(call("GET", "/v1/ns", {{"Cookie", first}}).code(), "session.ended");
}

}  // namespace
}  // namespace millrace
