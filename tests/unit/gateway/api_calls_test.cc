// Each operation of the API is called once, and answers as the OpenAPI document describes it.
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

/// A call that succeeds; without a cluster, a page or a token there is nothing to show.
struct GoodCall {
  const char* method;
  std::string target;
  int status;
  std::string body = "";
};

class ApiCalls : public ApiTest {
 protected:
  /// Makes the call, and notes its operation. ApiTest::call() holds the answer against the
  /// document.
  void expect_answer(const GoodCall& one) {
    const HttpReply reply = call(one.method, one.target, {}, one.body);
    EXPECT_EQ(reply.status, one.status) << one.method << " " << one.target << " " << reply.body;
    called_.insert(answer_check_.operation_of(one.method, one.target));
  }

  std::set<std::string> called_;
};

TEST_F(ApiCalls, AnswerAsTheDocumentDescribesThem) {
  const std::string ns = "/v1/ns/default";
  const std::string order = ns + "/workflows/order";
  const std::string all = ns + "/instances";
  const std::string one = all + "/" + FakeService::kInstance;
  const GoodCall calls[] = {
      {"GET", "/", 404},
      {"GET", "/assets/app.js", 404},
      {"GET", "/ns/default", 404},
      {"GET", "/livez", 200},
      {"GET", "/readyz", 200},
      {"GET", "/activez", 200},
      {"GET", "/metrics", 200},
      {"GET", "/v1/openapi.json", 200},
      {"GET", "/v1/info", 200},
      {"GET", "/v1/cluster", 404},
      {"POST", "/v1/cluster/accept-loss", 404},
      {"DELETE", "/v1/cluster/nodes/01000000000000000000000000000000", 404},
      {"GET", "/v1/verify", 200},
      {"GET", "/v1/series?names=events", 200},
      {"POST", "/v1/lint", 200, kOrder},
      {"POST", "/v1/expressions", 200, R"({"text": "."})"},
      {"GET", "/v1/schema", 200},

      {"POST", "/v1/session", 204},
      {"GET", "/v1/session", 404},
      {"DELETE", "/v1/session", 204},

      {"GET", fmt::format("/v1/tasks/{}/files", FakeService::kInstance), 403},
      {"GET", fmt::format("/v1/tasks/{}/files/note", FakeService::kInstance), 403},
      {"PUT", fmt::format("/v1/tasks/{}/files/out", FakeService::kInstance), 403},
      {"DELETE", fmt::format("/v1/tasks/{}/files/out", FakeService::kInstance), 403},

      {"POST", "/v1/backups", 201},
      {"GET", "/v1/backups/backup-1/chunks/1", 200},
      {"GET", "/v1/backups/backup-1/chunks/3", 204},
      {"DELETE", "/v1/backups/backup-1", 200},

      {"PUT", "/v1/ns/shop", 201, R"({"services": {"a": {"url": "http://a.example"}}})"},
      {"GET", "/v1/ns", 200},
      {"GET", "/v1/ns/shop", 200},
      {"DELETE", "/v1/ns/shop", 200},

      {"PUT", order, 200, kOrder},
      {"GET", ns + "/workflows", 200},
      {"GET", order, 200},
      {"GET", order + "/revisions", 200},
      {"GET", order + "/revisions/1", 200},
      {"GET", order + "/graph", 200},
      {"GET", order + "/input", 200},
      {"POST", order + "/input", 200, "{}"},
      {"POST", order + "/pause", 200},
      {"POST", order + "/resume", 200},
      {"POST", order + "/start", 201, "{}"},

      {"GET", all, 200},
      {"GET", all + "/count", 200},
      {"GET", one, 200},
      {"GET", one + "/history", 200},
      {"GET", one + "/scenario", 200},
      {"GET", one + "/why", 200},
      {"GET", one + "/stream", 200},
      {"GET", one + "/calls", 200},
      {"GET", one + "/children", 200},
      {"POST", one + "/cancel", 200},
      {"POST", one + "/pause", 200},
      {"POST", one + "/resume", 200},
      {"POST", one + "/retry", 200},
      {"POST", one + "/restart", 200},
      {"POST", one + "/rerun?from=wait", 200},
      {"POST", one + "/compensate", 200},
      {"POST", all + "/cancel?all=1", 200},
      {"POST", all + "/pause?all=1", 200},
      {"POST", all + "/resume?all=1", 200},
      {"POST", all + "/retry?all=1", 200},
      {"POST", all + "/restart?all=1", 200},
      {"POST", all + "/rerun?all=1&from=wait", 200},
      {"POST", all + "/compensate?all=1", 200},
      {"POST", all + "/delete", 200, R"({"status": ["failed"]})"},
      {"DELETE", one, 200},

      {"POST", ns + "/events", 202, kEvent},
      {"OPTIONS", ns + "/events", 200},
      {"POST", ns + "/hooks/git?tenant=a", 202, "{}"},
      {"POST", ns + "/callbacks/k.1/complete", 200, "{}"},
      {"POST", ns + "/callbacks/k.1/fail", 200, R"({"code": "card.declined"})"},
      {"POST", ns + "/callbacks/k.1/heartbeat", 200},
      {"GET", ns + "/calls", 200},
      {"POST", fmt::format("{}/calls/{}/complete", ns, FakeService::kTask), 200, "{}"},
      {"POST", fmt::format("{}/calls/{}/fail", ns, FakeService::kTask), 200, R"({"code": "a"})"},
      {"GET", ns + "/find?q=order", 200},
      {"GET", ns + "/listeners", 200},
      {"GET", ns + "/groups", 200},
      {"GET", ns + "/queues", 200},
      {"GET", ns + "/queues/holders?workflow=ship", 200},
      {"DELETE", ns + "/groups/ship:6f1ed002ab5595859014ebf0951522d9", 200},
      {"GET", ns + "/events", 200},
      {"GET", ns + "/events/18", 200},
      {"POST", ns + "/events/18/replay", 202},
      {"GET", ns + "/events/18/why", 200},
      {"POST", ns + "/events/try", 200, kEvent},
      {"POST", ns + "/replays", 202, R"({"first": 1})"},
      {"GET", ns + "/replays", 200},
      {"GET", ns + "/replays/r1", 200},
      {"DELETE", ns + "/replays/r1", 200},
      {"GET", ns + "/dlq", 200},
      {"GET", ns + "/dlq/12", 200},
      {"POST", ns + "/dlq/replay?all=1", 200},
      {"POST", ns + "/dlq/12/replay", 200},
      {"DELETE", ns + "/dlq/11", 200},
      {"DELETE", ns + "/dlq?all=1", 200},
      {"GET", ns + "/schedules", 200},
      {"GET", ns + "/schedules/report", 200},
      {"POST", ns + "/schedules/report/trigger", 201},
      {"GET", ns + "/next", 200},
      {"GET", ns + "/overview", 200},
      {"GET", ns + "/stream?topics=counts", 200},
      {"GET", ns + "/functions", 200},
      {"POST", ns + "/functions/charge/pause", 200},
      {"POST", ns + "/functions/charge/resume", 200},

      {"PUT", ns, 200,
       R"({"hooks": {"git": {"verify": {"form": "github", "secrets": ["key"]},
                             "mapping": {"type": "push"}}}})"},
      {"GET", ns + "/hooks", 200},
      {"GET", ns + "/hooks/git", 200},
      {"POST", ns + "/hooks/git/try", 200, R"({"body": "1"})"},
      {"POST", ns + "/hooks/git/pause", 200},
      {"POST", ns + "/hooks/git/resume", 200},
      {"DELETE", ns + "/hooks/git", 200},
      {"PUT", ns + "/sources/orders", 201, R"({"stream": "ORDERS"})"},
      {"GET", ns + "/sources", 200},
      {"GET", ns + "/sources/orders", 200},
      {"POST", ns + "/sources/orders/try", 200},
      {"POST", ns + "/sources/orders/pause", 200},
      {"POST", ns + "/sources/orders/resume", 200},
      {"DELETE", ns + "/sources/orders", 200},
      {"PUT", ns + "/secrets/key", 201, "s3cr3t"},
      {"GET", ns + "/secrets", 200},
      {"DELETE", ns + "/secrets/key", 200},
  };
  for (const GoodCall& each : calls) expect_answer(each);
  for (int stream = 0; stream < 2; ++stream) service_.await_watcher();
  for (const std::string& owner : {ns, order, one}) {
    expect_answer({"PUT", owner + "/variables/rate", 200, "1"});
    expect_answer({"GET", owner + "/variables", 200});
    expect_answer({"GET", owner + "/variables/rate", 200});
    expect_answer({"DELETE", owner + "/variables/rate", 200});
  }
  expect_answer({"DELETE", order + "?cancel=1", 200});
  EXPECT_EQ(called_, answer_check_.operations())
      << "this test calls each operation once: add a call of the new operation";
}

TEST_F(ApiCalls, AreRefusedIfTheDocumentDoesNotDescribeThem) {
  const auto fault = [&](const char* method, const char* target, int status, const char* type,
                         const char* body) {
    HttpReply reply{.status = status, .body = body};
    if (*type != 0) reply.headers.emplace_back("Content-Type", type);
    return answer_check_.fault_of(method, target, reply);
  };
  constexpr const char* kJson = "application/json";
  EXPECT_EQ(fault("GET", "/livez", 200, kJson, R"({"status": "alive"})"), "");
  EXPECT_NE(fault("GET", "/livez", 200, kJson, R"({"status": "dead"})"), "");
  EXPECT_NE(fault("GET", "/livez", 200, kJson, R"({"status": "alive", "more": 1})"), "");
  EXPECT_NE(fault("GET", "/livez", 200, "text/plain", R"({"status": "alive"})"), "");
  EXPECT_NE(fault("GET", "/livez", 201, kJson, R"({"status": "alive"})"), "");
  EXPECT_NE(fault("GET", "/nothing", 200, kJson, "{}"), "");
  EXPECT_NE(fault("OPTIONS", "/v1/ns/a/events", 200, kJson, "{}"), "");
  constexpr const char* kProblem = "application/problem+json";
  const auto problem_of = [](const char* code) {
    return fmt::format(
        R"({{"type":"about:blank","title":"","status":404,"code":"{}","detail":""}})", code);
  };
  const std::string known = problem_of("namespace.not_found");
  const std::string unknown = problem_of("namespace.lost");
  EXPECT_EQ(fault("GET", "/v1/ns/a", 404, kProblem, known.c_str()), "");
  EXPECT_NE(fault("GET", "/v1/ns/a", 404, kProblem, unknown.c_str()), "");
}

}  // namespace
}  // namespace millrace
