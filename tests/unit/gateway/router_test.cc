#include "gateway/router.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gateway/admission.h"
#include "gateway/problem.h"

namespace millrace {
namespace {

Router two_routes() {
  Router router;
  router.add({.method = "GET", .path = "/v1/ns/{ns}/workflows", .query = {"limit", "q"}});
  router.add({.method = "GET", .path = "/v1/ns/{ns}/workflows/{workflow}"});
  router.add({.method = "PUT", .path = "/v1/ns/{ns}/workflows/{workflow}"});
  return router;
}

TEST(Router, GivesThePartsOfThePathAndTheParametersDecoded) {
  struct Row {
    const char* target;
    const char* path;
    std::map<std::string, std::string, std::less<>> parts;
    std::map<std::string, std::string, std::less<>> query;
  };
  const Row rows[] = {
      {"/v1/ns/a/workflows", "/v1/ns/{ns}/workflows", {{"ns", "a"}}, {}},
      {"/v1/ns/a/workflows?", "/v1/ns/{ns}/workflows", {{"ns", "a"}}, {}},
      {"/v1/ns/%61%2Fb/workflows", "/v1/ns/{ns}/workflows", {{"ns", "a/b"}}, {}},
      {"/v1/ns/a/workflows?limit=5&q=a+b%26c",
       "/v1/ns/{ns}/workflows",
       {{"ns", "a"}},
       {{"limit", "5"}, {"q", "a b&c"}}},
      {"/v1/ns/a/workflows?q", "/v1/ns/{ns}/workflows", {{"ns", "a"}}, {{"q", ""}}},
      {"http://localhost:1/v1/ns/a/workflows", "/v1/ns/{ns}/workflows", {{"ns", "a"}}, {}},
      {"/v1/ns/a/workflows/b",
       "/v1/ns/{ns}/workflows/{workflow}",
       {{"ns", "a"}, {"workflow", "b"}},
       {}},
  };
  const Router router = two_routes();
  for (const Row& row : rows) {
    const auto outcome = router.find("GET", row.target);
    const auto* found = std::get_if<Router::Found>(&outcome);
    ASSERT_NE(found, nullptr) << row.target;
    EXPECT_EQ(found->route->path, row.path) << row.target;
    EXPECT_EQ(found->request.parts, row.parts) << row.target;
    EXPECT_EQ(found->request.query, row.query) << row.target;
  }
}

TEST(Router, SaysWhatIsWrongWithAnyOtherRequest) {
  struct Row {
    const char* method;
    const char* target;
    unsigned status;
    const char* code;
  };
  const Row rows[] = {
      {"GET", "/", 404, "request.not_found"},
      {"GET", "", 404, "request.not_found"},
      {"OPTIONS", "*", 404, "request.not_found"},
      {"GET", "/v1/ns/a/workflow", 404, "request.not_found"},
      {"GET", "/v1/ns/a/workflows/", 404, "request.not_found"},
      {"GET", "/v1/ns//workflows", 404, "request.not_found"},
      {"GET", "/v1/ns/a/workflows/b/c", 404, "request.not_found"},
      {"get", "/v1/ns/a/workflows", 405, "request.method_not_allowed"},
      {"POST", "/v1/ns/a/workflows", 405, "request.method_not_allowed"},
      {"GET", "/v1/ns/%zz/workflows", 400, "request.malformed_target"},
      {"GET", "/v1/ns/a%2/workflows", 400, "request.malformed_target"},
      {"GET", "/v1/ns/a/workflows?limit=%", 400, "request.malformed_target"},
      {"GET", "/v1/ns/a/workflows?limits=1", 400, "request.unknown_parameter"},
      {"GET", "/v1/ns/a/workflows?q=1&q=2", 400, "request.parameter"},
  };
  const Router router = two_routes();
  for (const Row& row : rows) {
    const auto outcome = router.find(row.method, row.target);
    const auto* refusal = std::get_if<Response>(&outcome);
    ASSERT_NE(refusal, nullptr) << row.target;
    EXPECT_EQ(refusal->status, row.status) << row.target;
    EXPECT_EQ(Json::parse(refusal->body)["code"], row.code) << row.target;
  }
}

TEST(Router, NamesEveryUnknownParameterAndThoseThatThereAre) {
  const auto outcome = two_routes().find("GET", "/v1/ns/a/workflows?limits=1&Q=2");
  const std::string detail = Json::parse(std::get<Response>(outcome).body)["detail"];
  EXPECT_EQ(detail, "unknown: \"limits\", \"Q\"; GET /v1/ns/a/workflows here takes limit, q");
}

TEST(Router, ListsTheMethodsThatAPathTakes) {
  const auto outcome = two_routes().find("DELETE", "/v1/ns/a/workflows/b");
  const std::string* allow = find_header(std::get<Response>(outcome).headers, "Allow");
  ASSERT_NE(allow, nullptr);
  EXPECT_EQ(*allow, "GET, HEAD, PUT");
}

TEST(Router, TakesHeadWhereItTakesGet) {
  const auto outcome = two_routes().find("HEAD", "/v1/ns/a/workflows");
  EXPECT_TRUE(std::get<Router::Found>(outcome).head);
  EXPECT_EQ(std::get<Router::Found>(outcome).request.method, "GET");
}

TEST(Router, ShowsLittleOfALongTarget) {
  std::string target = "/v1/ns/" + std::string(4'000, 'a') + "/workflows?x=1";
  for (int i = 0; i < 500; ++i) target += fmt::format("&unknown{}=1", i);
  const auto outcome = two_routes().find("GET", target);
  EXPECT_LE(std::get<Response>(outcome).body.size(), 1'000U);
}

TEST(Problem, HasAStatusForEveryCodeOfTheService) {
  struct Row {
    const char* code;
    unsigned status;
  };
  const Row rows[] = {
      {"namespace.not_found", 404},
      {"workflow.not_found", 404},
      {"instance.not_found", 404},
      {"namespace.not_empty", 409},
      {"workflow.has_instances", 409},
      {"start.conflict", 409},
      {"busy", 503},
      {"stopping", 503},
      {"broker.unreachable", 503},
      {"broker.too_large", 413},
      {"store.full", 503},
      {"store.corrupt", 500},
      {"event.time", 400},
      {"event.too_large", 413},
      {"event.unsupported_format", 415},
      {"definition.refused", 422},
      {"json.malformed", 400},
      {"what.nobody.knows", 500},
      {"events", 500},
  };
  for (const Row& row : rows) EXPECT_EQ(status_of(row.code), row.status) << row.code;
}

TEST(Problem, IsJsonWhateverBytesAreInItsMessage) {
  const Response response = problem(Error{"busy", "\xff"}, Json::array({1}));
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["type"], "about:blank");
  EXPECT_EQ(body["title"], "Service Unavailable");
  EXPECT_EQ(body["status"], 503);
  EXPECT_EQ(body["detail"], "\xef\xbf\xbd");
  EXPECT_EQ(body["errors"], Json::array({1}));
  EXPECT_EQ(*find_header(response.headers, "Content-Type"), "application/problem+json");
  EXPECT_EQ(*find_header(response.headers, "Retry-After"), "1");
}

TEST(Admission, IsForRequestsThatNameThisMachine) {
  const Headers rows[] = {
      {},  // HTTP/1.0
      {{"Host", "127.0.0.1:8780"}},
      {{"Host", "127.9.9.9"}},
      {{"host", "LocalHost:1"}},
      {{"Host", "[::1]:8780"}},
      {{"Host", "millrace.localhost"}},
      {{"Host", "Millrace.internal:80"}},
      {{"Host", "localhost:8780"}, {"Origin", "http://localhost:8780"}},
      {{"Host", "localhost"}, {"Content-Encoding", "identity"}},
  };
  for (const Headers& row : rows) EXPECT_TRUE(admit(row, {"millrace.internal"}, false));
}

TEST(Admission, IsNotForWhatAWebPageCouldSend) {
  struct Row {
    Headers headers;
    const char* code;
  };
  const Row rows[] = {
      {{{"Host", "evil.example:8780"}}, "request.host"},
      {{{"Host", "127.0.0.1.evil.example"}}, "request.host"},
      {{{"Host", "127.0.0"}}, "request.host"},
      {{{"Host", "localhost.evil.example"}}, "request.host"},
      {{{"Host", ""}}, "request.host"},
      {{{"Host", "localhost:8780"}, {"Origin", "http://evil.example"}}, "request.origin"},
      {{{"Host", "localhost:8780"}, {"Origin", "http://localhost:9999"}}, "request.origin"},
      {{{"Host", "localhost:8780"}, {"Origin", "null"}}, "request.origin"},
      {{{"Host", "localhost"}, {"Host", "localhost"}}, "request.malformed"},
      {{{"Host", "localhost"}, {"Content-Encoding", "gzip"}}, "request.content_encoding"},
  };
  for (const Row& row : rows) {
    const Status status = admit(row.headers, {}, false);
    ASSERT_FALSE(status) << row.headers[0].second;
    EXPECT_EQ(status.error().code, row.code) << row.headers[0].second;
  }
}

}  // namespace
}  // namespace millrace
