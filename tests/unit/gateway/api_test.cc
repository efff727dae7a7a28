// The endpoints, over a real socket, against a service in memory.
#include <gtest/gtest.h>

#include "gateway/server.h"
#include "raw_client.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

constexpr const char* kEvent =
    R"({"specversion":"1.0","id":"1","source":"shop","type":"order.placed","data":{"a":1}})";
constexpr const char* kStructured = "application/cloudevents+json";
constexpr const char* kBatch = "application/cloudevents-batch+json";
constexpr const char* kOrder = "id: order\nstates: []\n";

class Api : public testing::Test {
 protected:
  void SetUp() override {
    auto started = HttpServer::start({.listen = "127.0.0.1:0"}, service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }

  HttpReply call(std::string_view method, std::string_view target, const Headers& headers = {},
                 std::string_view body = "") {
    return request(server_->port(), method, target, headers, body);
  }

  void put_order() {
    ASSERT_EQ(call("PUT", "/v1/ns/default/workflows/order", {}, kOrder).status, 200);
  }

  /// The service's thread ends after the server's: it may owe answers.
  FakeService service_;
  std::unique_ptr<HttpServer> server_;
};

struct Row {
  const char* method;
  std::string target;
  Headers headers;
  std::string body;
  int status;
  std::string expected;  ///< the answer's JSON, or the code of a problem
};

void expect(const Row& row, const HttpReply& reply) {
  const std::string what = std::string(row.method) + " " + row.target + " → " + reply.body;
  EXPECT_EQ(reply.status, row.status) << what;
  if (row.status < 400) {
    EXPECT_EQ(reply.header("Content-Type"), "application/json") << what;
    EXPECT_EQ(reply.json(), Json::parse(row.expected)) << what;
  } else {
    EXPECT_EQ(reply.header("Content-Type"), "application/problem+json") << what;
    EXPECT_EQ(reply.code(), row.expected) << what;
    EXPECT_EQ(reply.json()["status"], row.status) << what;
  }
}

TEST_F(Api, ChecksTheStore) {
  service_.store_report["codes"] = {{"row.key", 1}};
  const HttpReply reply = call("GET", "/v1/verify");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json(), service_.store_report);
}

TEST_F(Api, TakesEventsInAllModesAndRefusesWhatIsNone) {
  const std::string events = "/v1/ns/default/events";
  const Headers structured = {{"Content-Type", kStructured}};
  const Headers batch = {{"Content-Type", kBatch}};
  const Headers binary = {{"ce-specversion", "1.0"},
                          {"ce-id", "2"},
                          {"ce-source", "shop"},
                          {"ce-type", "order.placed"},
                          {"Content-Type", "text/plain"}};
  const std::string one = kEvent;
  const Row rows[] = {
      {"POST", events, structured, one, 202, R"({"accepted":1,"duplicates":0})"},
      {"POST", events, structured, one, 202, R"({"accepted":1,"duplicates":1})"},
      {"POST", events, {}, one, 202, R"({"accepted":1,"duplicates":1})"},
      {"POST", events, binary, "hello", 202, R"({"accepted":1,"duplicates":0})"},
      {"POST", events, batch, "[" + one + "," + one + "]", 202, R"({"accepted":2,"duplicates":2})"},
      {"POST", events, batch, "[]", 202, R"({"accepted":0,"duplicates":0})"},
      {"POST", events, structured, "{", 400, "event.malformed_json"},
      {"POST", events, structured, "{}", 400, "event.missing_attribute"},
      {"POST",
       events,
       {{"Content-Type", "application/cloudevents+avro"}},
       "x",
       415,
       "event.unsupported_format"},
      {"POST", events, structured, std::string(1100000, ' '), 413, "event.too_large"},
      {"POST", "/v1/ns/other/events", structured, one, 404, "namespace.not_found"},
      {"POST", "/v1/ns/a.b/events", structured, one, 400, "request.identifier"},
      {"POST", "/v1/ns/a%20b/events", structured, one, 400, "request.identifier"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  EXPECT_EQ(service_.published().size(), 6);
}

TEST_F(Api, PublishesNothingOfABatchWithAMalformedEventAndNamesIt) {
  const HttpReply reply = call("POST", "/v1/ns/default/events", {{"Content-Type", kBatch}},
                               "[" + std::string(kEvent) + R"(,{"specversion":"1.0"}])");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.code(), "event.missing_attribute");
  EXPECT_TRUE(reply.json()["detail"].get<std::string>().starts_with("[1]: ")) << reply.body;
  EXPECT_TRUE(service_.published().empty());
}

TEST_F(Api, AsksForAnotherTryWhenTheBrokerIsAway) {
  service_.publish_error = Error{"broker.unreachable", "no connection to nats://127.0.0.1:4222"};
  const HttpReply reply = call("POST", "/v1/ns/default/events", {}, kEvent);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.code(), "broker.unreachable");
  EXPECT_EQ(reply.header("Retry-After"), "1");
}

TEST_F(Api, ShakesHandsWithAWebhooksSender) {
  const HttpReply asked =
      call("OPTIONS", "/v1/ns/default/events",
           {{"WebHook-Request-Origin", "emitter.example"}, {"WebHook-Request-Rate", "120"}});
  EXPECT_EQ(asked.status, 200);
  EXPECT_EQ(asked.header("WebHook-Allowed-Origin"), "emitter.example");
  EXPECT_EQ(asked.header("WebHook-Allowed-Rate"), "*");
  EXPECT_EQ(asked.header("Allow"), "POST, OPTIONS");

  const HttpReply plain = call("OPTIONS", "/v1/ns/default/events");
  EXPECT_EQ(plain.status, 200);
  EXPECT_EQ(plain.header("WebHook-Allowed-Origin"), "");
}

TEST_F(Api, KeepsNamespacesAndWorkflows) {
  const std::string order = "/v1/ns/default/workflows/order";
  const Row rows[] = {
      {"GET", "/v1/ns", {}, "", 200, R"({"items":[{"name":"default"}]})"},
      {"PUT", "/v1/ns/shop", {}, "", 201, R"({"name":"shop","created":true})"},
      {"PUT", "/v1/ns/shop", {}, "", 200, R"({"name":"shop","created":false})"},
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
           "paused":false,"states":["wait"]})"},
      {"GET",
       "/v1/ns/default/workflows",
       {},
       "",
       200,
       R"({"items":[{"id":"order","paused":false,"revision":1,"start":"default",
           "updatedAt":"2021-09-01T12:00:00.000Z"}]})"},
      {"GET", order + "/revisions", {}, "", 200, R"({"items":[{"revision":1}]})"},
      {"POST", order + "/start", {}, "", 201, R"({"id":"0190b5a4-7c1e-7f2a-8000-0123456789ab"})"},
      {"DELETE", order, {}, "", 409, "workflow.has_instances"},
      {"DELETE", "/v1/ns/default", {}, "", 409, "namespace.not_empty"},
      {"DELETE", order + "?cancel=1", {}, "", 200, R"({"cancelled":1})"},
      {"DELETE", order, {}, "", 404, "workflow.not_found"},
      {"PATCH", order, {}, "", 405, "request.method_not_allowed"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(Api, GivesEveryFindingOfARefusedDefinition) {
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

TEST_F(Api, GivesTheWarningsOfADefinitionThatItTakes) {
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

TEST_F(Api, StartsWithAnyBodyAsInput) {
  put_order();
  struct Input {
    std::string body;
    Json input;
  };
  const Input rows[] = {
      {"", Json::object()},
      {R"({"a":9007199254740993})", Json::parse(R"({"a":9007199254740993})")},
      {"[1]", Json::array({1})},
      {"\"text\"", "text"},
      {"null", nullptr},
      {"no json", "bm8ganNvbg=="},
      {std::string("\0\xff\x10", 3), "AP8Q"},
  };
  for (const Input& row : rows) {
    EXPECT_EQ(call("POST", "/v1/ns/default/workflows/order/start", {}, row.body).status, 201);
    EXPECT_EQ(service_.starts().back().input, row.input) << row.body;
  }
  const Headers json = {{"Content-Type", "application/json; charset=utf-8"}};
  for (const char* wrong : {"{", "{a: 1}", "no json", "[1,]"}) {
    const HttpReply answer = call("POST", "/v1/ns/default/workflows/order/start", json, wrong);
    EXPECT_EQ(answer.status, 400) << wrong;
    EXPECT_EQ(answer.code(), "json.malformed") << wrong;
  }
  EXPECT_EQ(call("POST", "/v1/ns/default/workflows/order/start", json, R"({"a":1})").status, 201);
  EXPECT_EQ(service_.starts().back().input, (Json{{"a", 1}}));
  EXPECT_EQ(service_.starts().size(), std::size(rows) + 1);
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  const HttpReply refused = call("POST", "/v1/ns/default/workflows/order/start", {}, deep);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.code(), "json.depth");
}

TEST_F(Api, StartsOnceUnderOneIdempotencyKey) {
  put_order();
  const std::string start = "/v1/ns/default/workflows/order/start";
  const Headers key = {{"Idempotency-Key", "k-1"}};
  const HttpReply first = call("POST", start, key, R"({"a":1})");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.header("Location"),
            std::string("/v1/ns/default/instances/") + FakeService::kInstance);
  const HttpReply again = call("POST", start, key, R"({"a":1})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.json(), first.json());
  const HttpReply other = call("POST", start, key, R"({"a":2})");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.code(), "start.conflict");
  EXPECT_EQ(call("POST", start, {{"Idempotency-Key", ""}}).status, 400);
  EXPECT_EQ(call("POST", start, {{"Idempotency-Key", std::string(300, 'k')}}).status, 400);
  EXPECT_EQ(service_.starts().size(), 1);
}

TEST_F(Api, RefusesToStartWhatItCannot) {
  put_order();
  const std::string start = "/v1/ns/default/workflows/order/start";
  const Row rows[] = {
      {"POST", "/v1/ns/default/workflows/none/start", {}, "", 404, "workflow.not_found"},
      {"POST", "/v1/ns/default/workflows/a b/start", {}, "", 400, "request.malformed"},
      {"POST", "/v1/ns/default/workflows/a%2fb/start", {}, "", 400, "request.identifier"},
      {"POST", start + "?wait=soon", {}, "", 400, "duration.malformed"},
      {"POST", start + "?wait=PT61M", {}, "", 400, "request.parameter"},
      {"POST", start + "?wait=P1M", {}, "", 400, "request.parameter"},
      {"POST", start + "?waiting=1&x=2", {}, "", 400, "request.unknown_parameter"},
      {"GET", start, {}, "", 405, "request.method_not_allowed"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  service_.command_error = Error{"busy", "the outbox is full"};
  const HttpReply busy = call("POST", start);
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.header("Retry-After"), "1");
}

TEST_F(Api, AnswersAWaitWithTheEndedInstance) {
  put_order();
  service_.instance_status = "failed";
  service_.wait_outcome = Status();
  for (const auto& [wait, expected] :
       {std::pair("PT10S", 10'000), std::pair("1h", 3'600'000), std::pair("500", 500)}) {
    const HttpReply reply =
        call("POST", std::string("/v1/ns/default/workflows/order/start?wait=") + wait);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.json(), FakeService::instance_json(FakeService::kInstance, "failed"));
    EXPECT_EQ(service_.last_wait(), Duration(expected));
  }
}

TEST_F(Api, SaysThatAWaitTookTooLongAndWhichInstanceItWas) {
  put_order();
  service_.wait_outcome = fail("wait.timeout", "it has not ended");
  const HttpReply reply = call("POST", "/v1/ns/default/workflows/order/start?wait=PT0S");
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.json(), (Json{{"id", FakeService::kInstance}}));
  EXPECT_EQ(reply.header("Millrace-Wait"), "timeout");
  EXPECT_EQ(reply.header("Location"),
            std::string("/v1/ns/default/instances/") + FakeService::kInstance);
}

TEST_F(Api, LetsOthersThroughWhileOneWaits) {
  put_order();
  RawClient waiting(server_->port());
  waiting.send(
      "POST /v1/ns/default/workflows/order/start?wait=1h HTTP/1.1\r\nHost: localhost\r\n\r\n");
  service_.await_waiters(1);
  EXPECT_EQ(call("GET", "/v1/ns").status, 200);
  service_.end_instances("complete");
  const auto reply = waiting.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->json()["status"], "complete");
}

TEST_F(Api, ShowsInstances) {
  const std::string all = "/v1/ns/default/instances";
  const std::string one = all + "/" + FakeService::kInstance;
  const std::string id = FakeService::kInstance;
  const std::string shown = FakeService::instance_json(FakeService::kInstance, "waiting").dump();
  const Row rows[] = {
      {"GET", all, {}, "", 200, R"({"items":[)" + shown + R"(],"next":null})"},
      {"GET", one, {}, "", 200, shown},
      {"GET",
       one + "/history",
       {},
       "",
       200,
       R"({"items":[{"time":"2021-09-01T12:00:00.000Z","kind":"started","state":"",
           "detail":{"by":"call","revision":1}}]})"},
      {"POST", one + "/cancel", {}, "", 200, R"({"cancelled":true,"id":")" + id + R"("})"},
      {"POST", one + "/pause", {}, "", 200, R"({"id":")" + id + R"(","paused":true})"},
      {"POST", one + "/resume", {}, "", 200, R"({"id":")" + id + R"(","resumed":true})"},
      {"POST",
       one + "/retry?extend=1",
       {},
       "",
       200,
       R"({"extend":true,"id":")" + id + R"(","run":1})"},
      {"POST", one + "/restart", {}, "", 200, R"({"id":")" + id + R"(","run":2})"},
      {"POST",
       one + "/rerun?from=pay",
       {},
       "",
       200,
       R"({"from":"pay","id":")" + id + R"(","run":2})"},
      {"POST", one + "/rerun", {}, "", 400, "request.parameter"},
      {"POST", one + "/retry?now=1", {}, "", 400, "request.unknown_parameter"},
      {"POST",
       all + "/pause?workflow=order",
       {},
       "",
       200,
       R"({"done":1,"next":null,"refused":[]})"},
      {"POST", all + "/retry?all=1&limit=7", {}, "", 200, R"({"done":1,"next":null,"refused":[]})"},
      {"POST", all + "/cancel", {}, "", 400, "request.parameter"},
      {"DELETE", one, {}, "", 200, R"({"deleted":true,"id":")" + id + R"("})"},
      {"POST", all + "/12/cancel", {}, "", 404, "instance.not_found"},
      {"GET", all + "/0190b5a4-7c1e-7f2a-8000-000000000000", {}, "", 404, "instance.not_found"},
      {"GET", all + "/12", {}, "", 404, "instance.not_found"},
      {"GET", all + "?status=done", {}, "", 400, "request.parameter"},
      {"GET", all + "?since=yesterday", {}, "", 400, "time.malformed"},
      {"GET", all + "?limit=0", {}, "", 400, "request.parameter"},
      {"GET", all + "?limit=1001", {}, "", 400, "request.parameter"},
      {"GET", all + "?limit=5x", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/none/instances", {}, "", 404, "namespace.not_found"},
      {"POST", one, {}, "", 405, "request.method_not_allowed"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(Api, HandsOnWhichInstancesAreWanted) {
  EXPECT_EQ(call("GET",
                 "/v1/ns/default/instances?workflow=order&status=waiting&limit=7&cursor=c%2B1&"
                 "since=2021-09-01T12:00:00%2B00:00")
                .status,
            200);
  const InstanceFilter filter = service_.last_filter();
  EXPECT_EQ(filter.workflow, "order");
  EXPECT_EQ(filter.statuses, std::vector{InstanceStatus::kWaiting});
  EXPECT_EQ(filter.limit, 7);
  EXPECT_EQ(filter.cursor, "c+1");
  EXPECT_EQ(filter.since, from_millis(1630497600000));
}

TEST_F(Api, DoesABatchAboutThoseInstancesThatTheVerbIsFor) {
  using enum InstanceStatus;
  const std::vector<InstanceStatus> living = {kPending, kRunning, kWaiting, kPaused};
  const std::vector<InstanceStatus> ended = {kComplete, kFailed, kCancelled, kTimedOut};
  const struct {
    const char* target;
    std::vector<InstanceStatus> statuses;
  } rows[] = {
      {"cancel?all=1", living},
      {"pause?workflow=order", {kPending, kRunning, kWaiting}},
      {"resume?all=1", {kPaused}},
      {"retry?since=2021-09-01T12:00:00Z", {kFailed, kTimedOut}},
      {"restart?all=1", ended},
      {"rerun?from=pay&all=1", ended},
      {"cancel?status=failed", {kFailed}},
  };
  for (const auto& row : rows) {
    const HttpReply reply = call("POST", std::string("/v1/ns/default/instances/") + row.target);
    EXPECT_EQ(reply.status, 200) << row.target << reply.body;
    EXPECT_EQ(service_.last_filter().statuses, row.statuses) << row.target;
  }
}

TEST_F(Api, TellsOfSchedulesAndTriggersThem) {
  const std::string item = R"("workflow":"report","cron":"CRON_TZ=Europe/Vienna 0 7 * * *",
                              "zone":"Europe/Vienna","nextTick":"2021-09-01T05:00:00.000Z")";
  const std::string schedules = "/v1/ns/default/schedules";
  const Row rows[] = {
      {"GET", schedules, {}, "", 200, "{\"items\":[{" + item + "}]}"},
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

TEST_F(Api, TellsOfTheServerItself) {
  const Row rows[] = {
      {"GET", "/livez", {}, "", 200, R"({"status":"alive"})"},
      {"GET", "/readyz", {}, "", 200, R"({"status":"ready"})"},
      {"GET", "/v1/info", {}, "", 200, R"({"version":"test"})"},
      {"GET",
       "/v1/ns/default/listeners?limit=3",
       {},
       "",
       200,
       R"({"items":[{"kind":"start","workflow":"order","type":"order.placed",
           "context":{"source":"shop"}}],"next":null,"limit":3})"},
      {"GET",
       "/v1/ns/default/groups?limit=3",
       {},
       "",
       200,
       R"({"items":[{"workflow":"ship","correlate":{"order":"o-1"},
           "entries":[{"type":"paid","waiting":1},{"type":"packed","waiting":0}],
           "expiresAt":"2021-09-01T12:00:00.000Z"}],"next":null,"limit":3})"},
      {"GET",
       "/v1/ns/default/dlq",
       {},
       "",
       200,
       R"({"items":[{"id":"12","reason":"event.time","detail":"no time",
           "time":"2021-09-01T12:00:00.000Z","subject":"millrace.events.default.x","size":3,
           "data":"AP8Q"}],"next":null})"},
      {"GET", "/v1/ns/default/dlq?cursor=throw", {}, "", 500, "internal"},
      {"GET", "/favicon.ico", {}, "", 404, "request.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  const HttpReply metrics = call("GET", "/metrics");
  EXPECT_EQ(metrics.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(metrics.body, "millrace_events_total 3\n");

  for (const char* const code :
       {"broker.unreachable", "starting", "store.full", "store.corrupt", "store.damaged_row"}) {
    service_.ready_status = fail(code, "waiting");
    const HttpReply reply = call("GET", "/readyz");
    EXPECT_EQ(reply.status, 503) << code;
    EXPECT_EQ(reply.code(), code);
    EXPECT_EQ(reply.header("Retry-After"), "1") << code;
  }
  EXPECT_EQ(call("GET", "/livez").status, 200);
}

TEST_F(Api, AnswersHeadWithTheHeadersOfGet) {
  const HttpReply get = call("GET", "/v1/ns");
  const HttpReply head = call("HEAD", "/v1/ns");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), get.header("Content-Length"));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(call("HEAD", "/nothing").status, 404);
}

TEST_F(Api, KeepsTheBytesAndTheContentTypeOfVariables) {
  const std::string bytes("\0\xff{\r\n", 5);
  const std::string owners[] = {"", "/workflows/order",
                                "/instances/" + std::string(FakeService::kInstance)};
  for (const std::string& owner : owners) {
    const std::string list = "/v1/ns/default" + owner + "/variables";
    const HttpReply put = call("PUT", list + "/logo", {{"Content-Type", "image/png; a=b"}}, bytes);
    EXPECT_EQ(put.status, 200) << put.body;
    EXPECT_EQ(put.json(), (Json{{"key", "logo"}, {"size", 5}, {"contentType", "image/png; a=b"}}));
    const HttpReply got = call("GET", list + "/logo");
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.header("Content-Type"), "image/png; a=b");
    EXPECT_EQ(got.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(got.header("Content-Security-Policy"), "sandbox; default-src 'none'")
        << "a page that somebody stored must not act as one of ours";
    EXPECT_EQ(got.body, bytes);
    EXPECT_EQ(call("PUT", list + "/a.b-c_D9", {}, "").status, 200) << "no bytes are some as well";
    EXPECT_EQ(call("GET", list + "/a.b-c_D9").header("Content-Type"), "application/octet-stream");
    EXPECT_EQ(call("GET", list + "?limit=1").json()["next"], "a.b-c_D9");
    EXPECT_EQ(call("GET", list + "?cursor=a.b-c_D9").json()["items"][0]["key"], "logo");
    EXPECT_EQ(call("DELETE", list + "/logo").json(), (Json{{"key", "logo"}, {"deleted", true}}));
    EXPECT_EQ(call("GET", list + "/logo").code(), "variable.not_found");
    EXPECT_EQ(call("DELETE", list + "/logo").status, 404);
  }
}

TEST_F(Api, SendsNoHeaderThatAStoredContentTypeWouldBegin) {
  for (const char* const stored : {"text/plain\r\nSet-Cookie: a=b", "", "no type", "text/\xff"}) {
    service_.keep("odd", {.content_type = stored, .bytes = "v"});
    const HttpReply got = call("GET", "/v1/ns/default/variables/odd");
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.header("Content-Type"), "application/octet-stream") << stored;
    EXPECT_EQ(got.header("Set-Cookie"), "");
    EXPECT_EQ(got.body, "v");
  }
}

TEST_F(Api, RefusesVariablesThatAreNone) {
  const std::string list = "/v1/ns/default/variables";
  const std::string longest(kMaxVariableKey, 'x');
  const Row rows[] = {
      {"PUT", list + "/1st", {}, "1", 400, "request.identifier"},
      {"PUT", list + "/a%20b", {}, "1", 400, "request.identifier"},
      {"PUT", list + "/" + longest + "x", {}, "1", 400, "request.identifier"},
      {"PUT", list + "/a", {{"Content-Type", "png"}}, "1", 400, "request.content_type"},
      {"PUT",
       list + "/a",
       {},
       std::string(kMaxVariableBytes + 1, 'x'),
       413,
       "request.body_too_large"},
      {"GET", list + "?cursor=%FF", {}, "", 400, "request.parameter"},
      {"GET", list + "?limit=0", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/other/variables", {}, "", 404, "namespace.not_found"},
      {"GET", "/v1/ns/default/instances/x/variables", {}, "", 404, "instance.not_found"},
      {"POST", list + "/a", {}, "1", 405, "request.method_not_allowed"},
  };
  for (const Row& row : rows) {
    expect(row, call(row.method, row.target, row.headers, row.body));
  }
  EXPECT_EQ(call("PUT", list + "/" + longest, {}, std::string(kMaxVariableBytes, 'x')).status, 200);
}

TEST_F(Api, TakesSecretsAndNeverGivesThemBack) {
  const std::string list = "/v1/ns/default/secrets";
  const std::string value = "s3cr3t-\xc3\xa9\n";
  const Row rows[] = {
      {"PUT", list + "/token", {}, value, 201, R"({"name":"token","created":true})"},
      {"PUT", list + "/token", {}, value, 200, R"({"name":"token","created":false})"},
      {"GET", list, {}, "", 200, R"({"items":[{"name":"token"}],"next":null})"},
      {"GET", list + "/token", {}, "", 405, "request.method_not_allowed"},
      {"PUT", list + "/a%20b", {}, value, 400, "request.identifier"},
      {"PUT", list + "/token", {}, "\xff" + value, 422, "secret.not_text"},
      {"PUT",
       list + "/token",
       {},
       std::string(kMaxSecretBytes + 1, 'x'),
       413,
       "request.body_too_large"},
      {"PUT", "/v1/ns/other/secrets/token", {}, value, 404, "namespace.not_found"},
      {"GET", list + "?cursor=%FF", {}, "", 400, "request.parameter"},
  };
  for (const Row& row : rows) {
    const HttpReply reply = call(row.method, row.target, row.headers, row.body);
    expect(row, reply);
    EXPECT_EQ(reply.body.find("s3cr3t"), std::string::npos) << row.target;
  }
  EXPECT_EQ(service_.known_secrets().at("token"), value) << "byte for byte";
  EXPECT_EQ(call("DELETE", list + "/token").json(), (Json{{"name", "token"}, {"deleted", true}}));
  EXPECT_EQ(call("DELETE", list + "/token").code(), "secret.not_found");
}

}  // namespace
}  // namespace millrace
