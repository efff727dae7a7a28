// The routes of the server, of schedules, listeners and groups.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class SystemRoutes : public ApiTest {};

TEST_F(SystemRoutes, ReturnsTheReportOfTheStoreCheck) {
  service_.store_report["codes"] = {{"row.key", 1}};
  const HttpReply reply = call("GET", "/v1/verify");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json(), service_.store_report);
}

TEST_F(SystemRoutes, ShowsAndTriggersSchedules) {
  const std::string item =
      R"("workflow":"report","paused":false,"cron":"CRON_TZ=Europe/Vienna 0 7 * * *",
                              "zone":"Europe/Vienna","nextTick":"2021-09-01T05:00:00.000Z")";
  const std::string schedules = "/v1/ns/default/schedules";
  const Row rows[] = {
      {"GET", schedules, {}, "", 200, "{\"items\":[{" + item + "}],\"next\":null}"},
      {"GET",
       schedules + "/report",
       {},
       "",
       200,
       "{" + item + R"(,"upcoming":["2021-09-01T05:00:00.000Z","2021-09-02T05:00:00.000Z"]})"},
      {"GET", schedules + "/order", {}, "", 404, "schedule.not_found"},
      {"GET", "/v1/ns/nowhere/schedules", {}, "", 404, "namespace.not_found"},
      {"POST", schedules + "/order/trigger", {}, "", 404, "schedule.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  const HttpReply triggered = call("POST", schedules + "/report/trigger");
  EXPECT_EQ(triggered.status, 201);
  EXPECT_EQ(triggered.json(), (Json{{"id", FakeService::kInstance}}));
  EXPECT_EQ(triggered.header("Location"),
            std::string("/v1/ns/default/instances/") + FakeService::kInstance);
}

TEST_F(SystemRoutes, ShowsHealthInfoListenersGroupsAndMetrics) {
  const Row rows[] = {
      {"GET", "/livez", {}, "", 200, R"({"status":"alive"})"},
      {"GET", "/readyz", {}, "", 200, R"({"status":"ready"})"},
      {"GET", "/activez", {}, "", 200, R"({"status":"active"})"},
      {"GET", "/v1/cluster", {}, "", 404, "cluster.none"},
      {"POST", "/v1/cluster/accept-loss", {}, "", 404, "cluster.none"},
      {"DELETE", "/v1/cluster/nodes/01", {}, "", 404, "cluster.none"},
      {"GET", "/v1/info", {}, "", 200, R"({"version":"test"})"},
      {"GET",
       "/v1/ns/default/listeners?limit=3",
       {},
       "",
       200,
       R"({"items":[{"kind":"start","workflow":"order","type":"order.placed",
           "context":{"source":{"equals":"shop"}}}],"next":null,"complete":true,"looked":0})"},
      {"GET",
       "/v1/ns/default/groups?limit=3",
       {},
       "",
       200,
       R"({"items":[{"id":"ship:6f1ed002ab5595859014ebf0951522d9","workflow":"ship",
           "correlate":{"order":"o-1"},
           "entries":[{"type":"paid","waiting":1,"first":{"sequence":79,"id":"pay-1"}},
                      {"type":"packed","waiting":0}],
           "expiresAt":"2021-09-01T12:00:00.000Z"}],"next":null})"},
      {"GET",
       "/v1/ns/default/queues?limit=3&workflow=ship",
       {},
       "",
       200,
       fmt::format(R"({{"items":[{{"kind":"starts","workflow":"ship","reason":"concurrency",
           "key":"c-1","limit":1,"held":1,"queued":2,"workflowPaused":true,"holdersPaused":true,
           "next":{{"instance":"{0}","since":"2021-09-01T12:00:00.000Z","priority":-1}},
           "holder":{{"instance":"{0}","since":"2021-09-01T11:00:00.000Z"}}}}],"next":null}})",
                   FakeService::kInstance)},
      {"GET", "/v1/ns/default/queues?workflow=none", {}, "", 404, "workflow.not_found"},
      {"GET",
       "/v1/ns/default/queues/holders?workflow=ship",
       {},
       "",
       200,
       fmt::format(R"({{"items":[{{"key":null,"instance":"{}","since":"2021-09-01T11:00:00.000Z",
           "paused":true,"waitsFor":"throttle"}}],"next":null}})",
                   FakeService::kInstance)},
      {"GET", "/v1/ns/default/queues/holders?workflow=none", {}, "", 404, "workflow.not_found"},
      {"GET", "/v1/ns/default/queues/holders", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/default/queues/holders?workflow=a&image=b", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/default/queues/holders?service=a&key=c-1", {}, "", 400, "request.parameter"},
      {"DELETE",
       "/v1/ns/default/groups/ship%3A6f1ed002ab5595859014ebf0951522d9",
       {},
       "",
       200,
       R"({"id":"ship:6f1ed002ab5595859014ebf0951522d9","dropped":1})"},
      {"GET", "/v1/ns/default/groups?attribute=a", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/default/groups?value=a", {}, "", 400, "request.parameter"},
      {"DELETE", "/v1/ns/default/groups/ship", {}, "", 404, "group.not_found"},
      {"DELETE", "/v1/ns/nowhere/groups/ship", {}, "", 404, "namespace.not_found"},
      {"GET", "/favicon.ico", {}, "", 404, "request.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  ASSERT_EQ(call("GET", "/v1/ns/default/queues/holders?service=bank&key=%22c-1%22&limit=7&cursor=x")
                .status,
            200);
  const HolderFilter holders = service_.last_holder_filter();
  EXPECT_EQ(holders.service, "bank");
  EXPECT_EQ(holders.key, Json("c-1"));
  EXPECT_EQ(holders.limit, 7U);
  EXPECT_EQ(holders.cursor, "x");
  for (const char* const list : {"listeners", "groups", "queues"}) {
    EXPECT_EQ(call("GET", fmt::format("/v1/ns/default/{}?limit=7", list)).status, 200);
    EXPECT_EQ(service_.last_limit(), 7U) << list;
    EXPECT_EQ(call("GET", fmt::format("/v1/ns/default/{}", list)).status, 200);
    EXPECT_EQ(service_.last_limit(), 50U) << list;
  }
  const HttpReply metrics = call("GET", "/metrics");
  EXPECT_EQ(metrics.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_TRUE(metrics.body.starts_with("millrace_events_total 3\n")) << metrics.body;

  for (const char* const code :
       {"broker.unreachable", "starting", "store.full", "store.corrupt", "store.damaged_row"}) {
    service_.ready_status = fail(code, "waiting");
    const HttpReply reply = call("GET", "/readyz");
    EXPECT_EQ(reply.status, 503) << code;
    EXPECT_EQ(reply.code(), code);
    EXPECT_EQ(reply.header("Retry-After"), "1") << code;
    EXPECT_EQ(call("GET", "/activez").code(), code);
  }
  EXPECT_EQ(call("GET", "/livez").status, 200);
}

TEST_F(SystemRoutes, AnswersHeadWithTheHeadersOfGet) {
  const HttpReply get = call("GET", "/v1/ns");
  const HttpReply head = call("HEAD", "/v1/ns");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), get.header("Content-Length"));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(call("HEAD", "/nothing").status, 404);
}

TEST_F(SystemRoutes, ReadsTheConditionsOnListenersFromTheParameters) {
  const std::string listeners = "/v1/ns/default/listeners";
  EXPECT_EQ(call("GET", listeners + "?kind=start&type=paid&workflow=order&attribute=orderid"
                                    "&value=o+1&limit=7&cursor=c")
                .status,
            200);
  const ListenerFilter filter = service_.last_listener_filter();
  EXPECT_EQ(filter.kind, ListenerFilter::Kind::kStart);
  EXPECT_EQ(filter.type, "paid");
  EXPECT_EQ(filter.workflow, "order");
  EXPECT_EQ(filter.attribute, "orderid");
  EXPECT_EQ(filter.value, "o 1");
  EXPECT_EQ(filter.limit, 7U);
  EXPECT_EQ(filter.cursor, "c");
  for (const char* const wrong : {"?kind=timer", "?attribute=a&value=%ff"}) {
    EXPECT_EQ(call("GET", listeners + wrong).code(), "request.parameter") << wrong;
  }
}

}  // namespace
}  // namespace millrace
