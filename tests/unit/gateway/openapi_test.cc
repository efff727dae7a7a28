// The OpenAPI document: it has each route, its references lead to something, and a server and the
// command line give the same document.
#include "gateway/openapi.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "language/error_table.h"
#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

/// Expects that each reference in `part` leads to something in the document.
void expect_references(const Json& document, const Json& part) {
  if (part.is_object() && part.contains("$ref")) {
    const auto to = part.at("$ref").get<std::string>();
    EXPECT_TRUE(document.contains(Json::json_pointer(to.substr(1)))) << to;
  }
  if (!part.is_structured()) return;
  for (const Json& one : part) expect_references(document, one);
}

TEST(OpenApi, HasEachRouteWithItsParametersBodiesAndAnswers) {
  const Json document = api_document();
  expect_references(document, document);
  size_t operations = 0;
  for (const Json& path : document.at("paths")) operations += path.size();
  FakeService service;
  const Router router = make_router(service, {}, [] { return std::string(); });
  EXPECT_EQ(operations, router.routes().size());

  const Json& start = document.at("paths").at("/v1/ns/{ns}/workflows/{workflow}/start").at("post");
  EXPECT_EQ(start.at("operationId"), "startInstance");
  EXPECT_EQ(start.at("tags"), Json::array({"workflows"}));
  std::set<std::string> parameters;
  for (const Json& one : start.at("parameters")) {
    parameters.insert(one.at("in").get<std::string>() + " " + one.at("name").get<std::string>());
    EXPECT_EQ(one.at("required"), one.at("in") == "path");
  }
  EXPECT_THAT(parameters, ElementsAre("header Idempotency-Key", "header Millrace-Retry", "path ns",
                                      "path workflow", "query executionTimeout", "query runTimeout",
                                      "query taskTimeout", "query wait"));
  std::set<std::string> statuses;
  for (const auto& [status, answer] : start.at("responses").items()) statuses.insert(status);
  EXPECT_THAT(statuses, ElementsAre("200", "201", "202", "400", "403", "404", "409", "422", "429",
                                    "default"));
  EXPECT_TRUE(start.at("requestBody").at("content").contains("application/json"));
  EXPECT_EQ(start.at("requestBody").at("required"), false);
}

TEST(OpenApi, ListsTheCodesOfTheErrorsOfACall) {
  const Json document = api_document();
  const Json& paths = document.at("paths");
  const Json& start = paths.at("/v1/ns/{ns}/workflows/{workflow}/start").at("post");
  const Json& conflict = start.at("responses").at("409");
  const Json& problem = conflict.at("content").at("application/problem+json").at("schema");
  EXPECT_EQ(problem.at("allOf").at(1).at("properties").at("code").at("enum"),
            Json::array({"direktiv.mutex", "millrace.concurrency.limit",
                         "millrace.concurrency.skipped", "start.conflict"}));
  for (const std::string_view code : common_errors()) {
    EXPECT_NE(find_error(code), nullptr) << code;
  }
  FakeService service;
  const Router router = make_router(service, {}, [] { return std::string(); });
  for (const Route& route : router.routes()) {
    for (const std::string& entry : route.errors) {
      EXPECT_EQ(common_errors().count(entry), 0U) << route.operation << ": any route has " << entry;
    }
    EXPECT_GE(own_errors(route).size(), route.errors.size())
        << route.operation << ": a prefix stands for no code";
    for (const std::string_view code : own_errors(route)) {
      const ErrorEntry* const found = find_error(code);
      EXPECT_TRUE(found != nullptr && found->status != 0)
          << route.operation << ": " << code << " has no HTTP status in the error table";
    }
  }
}

TEST(OpenApi, HasTheHeadersOfAnAnswerFromACopyForEachReadThatMayBeStale) {
  FakeService service;
  const Router router = make_router(service, {}, [] { return std::string(); });
  const Json document = api_document();
  size_t reads = 0;
  for (const Route& route : router.routes()) {
    if (route.method != "GET" || route.answer_status != 200) continue;
    const Json& operation = document.at("paths").at(route.path).at("get");
    const Json& answer = operation.at("responses").at("200");
    const Json headers = answer.value("headers", Json::object());
    const bool has_parameter =
        std::find(route.query.begin(), route.query.end(), "stale") != route.query.end();
    EXPECT_EQ(has_parameter, static_cast<bool>(route.read)) << route.operation;
    EXPECT_EQ(headers.contains("Millrace-Stale"), has_parameter) << route.operation;
    EXPECT_EQ(headers.contains("Millrace-Position"), has_parameter) << route.operation;
    reads += has_parameter ? 1 : 0;
  }
  EXPECT_EQ(reads, 29U);
}

TEST(OpenApi, NeedsATokenForEveryCallButTheOpenOnes) {
  const Json document = api_document();
  EXPECT_TRUE(document.at("security").at(0).contains("bearer"));
  std::set<std::string> open;
  for (const Json& path : document.at("paths")) {
    for (const Json& operation : path) {
      if (operation.contains("security")) open.insert(operation.at("operationId"));
    }
  }
  EXPECT_THAT(open,
              ElementsAre("beatTask", "completeTask", "deleteWrittenFiles", "failTask",
                          "getActiveness", "getLiveness", "getOpenApi", "getPage", "getPageFile",
                          "getReadiness", "greetWebhookSender", "listCallFiles", "readCallFile",
                          "receiveWebhook", "redirectToPage", "writeCallFile"));
}

class OpenApiRoute : public ApiTest {};

TEST_F(OpenApiRoute, SaysWhichParametersAndBodiesACallNeeds) {
  std::set<std::string> needed;
  const Json document = api_document();
  for (const Json& path : document.at("paths")) {
    for (const Json& operation : path) {
      const std::string name = operation.at("operationId");
      for (const Json& one : operation.at("parameters")) {
        const bool is_optional = one.at("in") == "path" || !one.at("required").get<bool>();
        if (!is_optional) needed.insert(name + " " + one.at("name").get<std::string>());
      }
      if (!operation.contains("requestBody")) continue;
      if (operation.at("requestBody").at("required").get<bool>()) needed.insert(name + " body");
    }
  }
  EXPECT_THAT(needed,
              ElementsAre("applySource body", "applyWorkflow body", "beginReplay body",
                          "deleteInstances body", "failAcceptedTask body", "failTask body",
                          "find q", "lintDefinition body", "publishEvents body",
                          "rerunInstance from", "rerunInstances from", "tryEvent body",
                          "tryExpression body", "tryInboundWebhook body", "watchNamespace topics"));
  const std::string ns = "/v1/ns/default";
  const std::string rerun = ns + "/instances/0190b5a4-7c1e-7f2a-8000-0123456789ab/rerun";
  EXPECT_EQ(call("GET", ns + "/find").status, 400);
  EXPECT_EQ(call("POST", rerun).status, 400);
  EXPECT_EQ(call("GET", ns + "/stream").status, 400);
  for (const char* const path : {"/replays", "/instances/delete", "/events", "/events/try"}) {
    const int status = call("POST", ns + path).status;
    EXPECT_TRUE(status >= 400 && status < 500) << path << " " << status;
  }
}

TEST_F(OpenApiRoute, SaysWhichLimitsACallAccepts) {
  std::map<std::string, Json> limits;
  const Json document = api_document();
  for (const Json& path : document.at("paths")) {
    for (const Json& operation : path) {
      for (const Json& one : operation.at("parameters")) {
        if (one.at("name") == "limit")
          limits[operation.at("operationId").get<std::string>()] = one.at("schema");
      }
    }
  }
  struct Case {
    std::string operation;
    std::string path;
    int most;
  };
  const std::vector<Case> cases = {{"listInstances", "/instances", 1000},
                                   {"listEvents", "/events", 1000},
                                   {"explainEvent", "/events/18/why", 100}};
  for (const Case& one : cases) {
    EXPECT_EQ(limits[one.operation],
              (Json{{"type", "integer"}, {"minimum", 1}, {"maximum", one.most}}))
        << one.operation;
    const std::string with = "/v1/ns/default" + one.path + "?limit=";
    EXPECT_EQ(call("GET", with + std::to_string(one.most)).status, 200) << one.operation;
    EXPECT_EQ(call("GET", with + std::to_string(one.most + 1)).status, 400) << one.operation;
  }
  for (const auto& [operation, schema] : limits) {
    EXPECT_TRUE(schema.contains("maximum")) << operation;
  }
}

TEST_F(OpenApiRoute, AnswersWithTheDocumentThatTheCommandLinePrints) {
  const HttpReply reply = call("GET", "/v1/openapi.json");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "application/json");
  EXPECT_EQ(reply.json(), api_document());
}

}  // namespace
}  // namespace millrace
