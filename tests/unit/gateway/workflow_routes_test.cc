// The routes of namespaces and workflows.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class WorkflowRoutes : public ApiTest {};

/// The item of a list of namespaces.
std::string space(const char* name) {
  return fmt::format(R"({{"name":"{}","createdAt":"2021-09-01T12:00:00.000Z"}})", name);
}

TEST_F(WorkflowRoutes, ManagesNamespacesAndWorkflows) {
  const std::string order = "/v1/ns/default/workflows/order";
  const Row rows[] = {
      {"GET", "/v1/ns", {}, "", 200, R"({"items":[)" + space("default") + R"(],"next":null})"},
      {"PUT", "/v1/ns/shop", {}, "", 201, R"({"name":"shop","created":true})"},
      {"PUT", "/v1/ns/shop", {}, "", 200, R"({"name":"shop","created":false})"},
      {"GET",
       "/v1/ns/shop",
       {},
       "",
       200,
       R"({"name":"shop","createdAt":"2021-09-01T12:00:00.000Z","quotas":{"instances":{"limit":10,"used":3},
           "eventsPerSecond":{"limit":"unlimited","overHttp":20000}},
        "evaluations":{"fast":{"waiting":0,"running":1},"slow":{"waiting":5,"running":4}}})"},
      {"GET", "/v1/ns/none", {}, "", 404, "namespace.not_found"},
      {"GET",
       "/v1/ns?limit=1",
       {},
       "",
       200,
       R"({"items":[)" + space("default") + R"(],"next":"default"})"},
      {"GET",
       "/v1/ns?cursor=default",
       {},
       "",
       200,
       R"({"items":[)" + space("shop") + R"(],"next":null})"},
      {"PUT", "/v1/ns/a.b", {}, "", 400, "request.identifier"},
      {"PUT", "/v1/ns/shop", {}, std::string(70'000, ' '), 413, "request.body_too_large"},
      {"PUT", "/v1/ns/shop", {}, "{", 400, "json.malformed"},
      {"DELETE", "/v1/ns/shop", {}, "", 200, R"({"cancelled":0})"},
      {"DELETE", "/v1/ns/shop", {}, "", 404, "namespace.not_found"},

      {"GET", order, {}, "", 404, "workflow.not_found"},
      {"PUT",
       order + "?dry_run=1",
       {},
       kOrder,
       200,
       R"({"id":"order","changed":true,"dryRun":true})"},
      {"GET", order, {}, "", 404, "workflow.not_found"},
      {"PUT", order, {}, kOrder, 200, R"({"id":"order","revision":1,"changed":true})"},
      {"PUT", order, {}, kOrder, 200, R"({"id":"order","revision":1,"changed":false})"},
      {"PUT",
       order + "?dry_run=true",
       {},
       kOrder,
       200,
       R"({"id":"order","changed":false,"dryRun":true})"},
      {"PUT", order + "?dry_run=yes", {}, kOrder, 400, "request.parameter"},
      {"PUT", "/v1/ns/none/workflows/order?dry_run=1", {}, kOrder, 404, "namespace.not_found"},
      {"PUT", "/v1/ns/default/workflows/other", {}, kOrder, 422, "workflow.id_mismatch"},
      {"PUT", order, {}, "id: order\nbroken: 1\n", 422, "definition.refused"},
      {"PUT", order, {}, std::string(1100000, ' '), 413, "request.body_too_large"},
      {"GET",
       order,
       {},
       "",
       200,
       R"({"id":"order","revision":1,"definition":"id: order\nstates: []\n","start":"default",
           "paused":false,"name":"","description":"","version":"",
           "updatedAt":"2021-09-01T12:00:00.000Z","states":[{"id":"wait","type":"noop"}]})"},
      {"GET",
       "/v1/ns/default/workflows",
       {},
       "",
       200,
       R"({"items":[{"id":"order","name":"","paused":false,"revision":1,"start":"default",
           "updatedAt":"2021-09-01T12:00:00.000Z"}],"next":null})"},
      {"GET",
       order + "/revisions",
       {},
       "",
       200,
       R"({"items":[{"revision":1,"createdAt":"2021-09-01T12:00:00.000Z",
           "definition":"id: order"}],"next":null})"},
      {"GET", order + "/revisions?limit=0", {}, "", 400, "request.parameter"},
      {"GET",
       order + "/revisions?texts=false",
       {},
       "",
       200,
       R"({"items":[{"revision":1,"createdAt":"2021-09-01T12:00:00.000Z"}],"next":null})"},
      {"GET", order + "/revisions?texts=maybe", {}, "", 400, "request.parameter"},
      {"GET",
       order + "/revisions/1",
       {},
       "",
       200,
       R"({"workflow":"order","revision":1,"createdAt":"2021-09-01T12:00:00.000Z",
           "definition":"id: order\nstates: []\n"})"},
      {"GET", order + "/revisions/2", {}, "", 404, "revision.not_found"},
      {"GET", order + "/revisions/0", {}, "", 404, "revision.not_found"},
      {"GET", order + "/revisions/first", {}, "", 404, "revision.not_found"},
      {"GET",
       order + "/graph?revision=1",
       {},
       "",
       200,
       R"({"id":"order","revision":1,"start":{"state":"wait","label":""},
           "limits":[{"kind":"throttle","function":"pay","text":"limit 2, period PT1M","line":2}],
           "states":[{"id":"wait","type":"consumeEvent","line":3,"waits":["paid"],"calls":[]}],
           "ways":[{"from":"wait","to":null,"kind":"transition","label":"","line":3}]})"},
      {"GET",
       order + "/input",
       {},
       "",
       200,
       R"({"schema":{"type":"object"},"from":"check","example":{}})"},
      {"POST", order + "/input", {}, "", 200, R"({"valid":true,"errors":[]})"},
      {"POST", order + "/input", {}, R"({"wrong":1})", 422, "input.refused"},
      {"POST", order + "/input", {}, "{", 400, "json.malformed"},
      {"POST", "/v1/ns/default/workflows/none/input", {}, "{}", 404, "workflow.not_found"},
      {"GET", order + "/graph?revision=2", {}, "", 404, "revision.not_found"},
      {"GET", order + "/graph?revision=0", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/default/workflows/none/graph", {}, "", 404, "workflow.not_found"},
      {"POST", order + "/start", {}, "", 201, R"({"id":"0190b5a4-7c1e-7f2a-8000-0123456789ab"})"},
      {"DELETE", order, {}, "", 409, "workflow.has_instances"},
      {"DELETE", "/v1/ns/default", {}, "", 409, "namespace.not_empty"},
      {"DELETE", order + "?cancel=1&leftovers=1", {}, "", 400, "request.parameter"},
      {"DELETE", "/v1/ns/2?cancel=1&leftovers=1", {}, "", 400, "request.parameter"},
      {"DELETE", order + "?dropCompensations=1", {}, "", 400, "request.parameter"},
      {"DELETE", "/v1/ns/shop?dropCompensations=1", {}, "", 400, "request.parameter"},
      {"DELETE", order + "?cancel=1", {}, "", 200, R"({"cancelled":1})"},
      {"DELETE", order, {}, "", 404, "workflow.not_found"},
      {"PATCH", order, {}, "", 405, "request.method_not_allowed"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(WorkflowRoutes, ReturnsEveryFindingOfARefusedDefinition) {
  const Json errors = Json::parse(R"([{"path":"states[0].broken","line":2,"column":7,
    "message":"there is no such key","code":"definition.unknown_key","severity":"error"}])");
  const HttpReply put = call("PUT", "/v1/ns/default/workflows/order", {}, "id: order\nbroken: 1");
  EXPECT_EQ(put.status, 422);
  EXPECT_EQ(put.json()["errors"], errors);
  EXPECT_FALSE(service_.has_workflow("order"));

  const HttpReply lint = call("POST", "/v1/lint", {}, "id: order\nbroken: 1");
  EXPECT_EQ(lint.status, 422);
  EXPECT_EQ(lint.json()["errors"], errors);
  expect({"POST", "/v1/lint", {}, kOrder, 200, R"({"errors":[]})"},
         call("POST", "/v1/lint", {}, kOrder));
}

TEST_F(WorkflowRoutes, ReturnsTheWarningsOfAnAcceptedDefinition) {
  const std::string text = "id: order\ndoubtful: 1";
  const Json warning = {{"path", "states[0]"},  {"line", 2},
                        {"column", 7},          {"message", "hardly; mend it"},
                        {"code", "lint.doubt"}, {"severity", "warning"}};
  const std::string order = "/v1/ns/default/workflows/order";
  const HttpReply dry = call("PUT", order + "?dry_run=1", {}, text);
  EXPECT_EQ(dry.status, 200);
  EXPECT_EQ(dry.json()["warnings"], Json::array({warning}));
  const HttpReply put = call("PUT", order, {}, text);
  EXPECT_EQ(put.status, 200);
  EXPECT_EQ(put.json()["warnings"], Json::array({warning}));
  const HttpReply lint = call("POST", "/v1/lint", {}, text);
  EXPECT_EQ(lint.status, 200);
  EXPECT_EQ(lint.json()["errors"][0], warning);
  EXPECT_EQ(lint.json()["errors"][1]["severity"], "note");
}

}  // namespace
}  // namespace millrace
