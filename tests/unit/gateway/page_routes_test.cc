// The page over a real socket: what a server answers, with and without a token, and on each node of
// a cluster.
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "gateway/http_server.h"
#include "gateway/routes.h"
#include "tests/support/answer_check.h"
#include "tests/unit/gateway/fake_node_front.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/page_fixture.h"
#include "tests/unit/gateway/patient_limits.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {
namespace {

class PageRoutes : public testing::Test {
 protected:
  void start(const std::optional<BearerToken>& token) {
    server_.reset();
    auto started = HttpServer::start({.listen = "127.0.0.1:0",
                                      .token = token,
                                      .page = kFixturePage,
                                      .transport = patient_limits()},
                                     service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
  }

  HttpReply call(std::string_view method, std::string_view target, const Headers& headers = {}) {
    HttpReply reply = request(server_->port(), method, target, headers);
    EXPECT_EQ(answer_check_.fault_of(method, target, reply), "") << method << " " << target;
    return reply;
  }

  FakeService service_;
  std::unique_ptr<HttpServer> server_;
  AnswerCheck answer_check_{api_document()};
};

TEST_F(PageRoutes, AnswerWithAndWithoutATokenAndHideNoCall) {
  struct Row {
    const char* method;
    const char* target;
    int status;
    int status_without_token;  ///< of a server that requires one
    const char* body;          ///< null: any
  };
  const Row rows[] = {
      {"GET", "/", 200, 200, "<!doctype html>"},
      {"HEAD", "/", 200, 200, ""},
      {"GET", "/?utm=1", 200, 200, "<!doctype html>"},
      {"GET", "/assets/app-1A2B3C4D.js", 200, 200, "let a = 1"},
      {"GET", "/assets/app-0.js", 404, 404, nullptr},
      {"GET", "/ns/shop?status=failed", 302, 302, ""},
      {"POST", "/", 405, 401, nullptr},
      {"DELETE", "/ns/shop", 405, 401, nullptr},
      {"GET", "/index.html", 404, 401, nullptr},
      {"GET", "/livez", 200, 200, nullptr},
      {"GET", "/v1/ns", 200, 401, nullptr},
  };
  for (const bool has_token : {false, true}) {
    start(has_token ? std::optional(BearerToken("correct-horse-battery-staple")) : std::nullopt);
    for (const Row& row : rows) {
      const HttpReply reply = call(row.method, row.target);
      EXPECT_EQ(reply.status, has_token ? row.status_without_token : row.status) << row.target;
      if (row.body != nullptr) {
        EXPECT_EQ(reply.body, row.body) << row.target;
      }
      EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff") << row.target;
    }
  }
}

TEST_F(PageRoutes, KeepTheConnectionAfterAnAnswerWithoutABody) {
  start({});
  RawClient client(server_->port());
  const std::string head = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  client.send(head + "Accept-Encoding: gzip\r\n\r\n");
  const HttpReply first = client.read_reply().value_or(HttpReply{});
  EXPECT_EQ(first.body, "html-gz");
  client.send(fmt::format("{}Accept-Encoding: gzip\r\nIf-None-Match: {}\r\n\r\n", head,
                          first.header("ETag")));
  const HttpReply second = client.read_reply().value_or(HttpReply{});
  EXPECT_EQ(second.status, 304);
  EXPECT_EQ(second.header("Content-Length"), "");
  client.send(head + "\r\n");
  EXPECT_EQ(client.read_reply().value_or(HttpReply{}).body, "<!doctype html>");
}

TEST_F(PageRoutes, AreOpenToALinkOfAnotherSiteAndTheCallsAreNot) {
  start({});
  const Headers link = {{"Sec-Fetch-Site", "cross-site"}};
  EXPECT_EQ(call("GET", "/", link).status, 200);
  EXPECT_EQ(call("GET", "/ns/default", link).status, 302);
  EXPECT_EQ(call("GET", "/v1/ns", link).code(), "request.origin");
}

TEST_F(PageRoutes, AreAnsweredByANodeThatIsNotTheActive) {
  FakeNodeFront front("n2");
  Result<Descriptor> address = HttpServer::bind("127.0.0.1:0", false);
  ASSERT_TRUE(address);
  NodeFront& its_front = front;
  auto standby = HttpServer::start(
      {.listen = "127.0.0.1:0", .page = kFixturePage, .transport = patient_limits()},
      *std::move(address), its_front);
  ASSERT_TRUE(standby) << standby.error().message;
  EXPECT_EQ(request((*standby)->port(), "GET", "/").body, "<!doctype html>");
  EXPECT_EQ(request((*standby)->port(), "GET", "/v1/ns").code(), "cluster.no_active");
}

}  // namespace
}  // namespace millrace
