// The routes of instances.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class InstanceRoutes : public ApiTest {};

TEST_F(InstanceRoutes, ShowsAndControlsInstances) {
  const std::string all = "/v1/ns/default/instances";
  const std::string one = all + "/" + FakeService::kInstance;
  const std::string id = FakeService::kInstance;
  const std::string shown = FakeService::instance_json(FakeService::kInstance, "waiting").dump();
  const std::string head = FakeService::instance_head(FakeService::kInstance).dump();
  const Row rows[] = {
      {"GET",
       all,
       {},
       "",
       200,
       R"({"items":[)" + head + R"(],"next":null,"complete":true,"looked":1})"},
      {"GET", one, {}, "", 200, shown},
      {"GET",
       one + "/history",
       {},
       "",
       200,
       R"({"items":[{"number":1,"time":"2021-09-01T12:00:00.000Z","kind":"started","state":"",
           "detail":{"by":"call","revision":1}}],"next":null})"},
      {"GET", one + "/history?order=sideways", {}, "", 400, "request.parameter"},
      {"GET", one + "/history?data=maybe", {}, "", 400, "request.parameter"},
      {"GET", one + "/history?limit=1001", {}, "", 400, "request.parameter"},
      {"POST", one + "/cancel", {}, "", 200, R"({"cancelled":true,"id":")" + id + R"("})"},
      {"POST", one + "/pause", {}, "", 200, R"({"id":")" + id + R"(","paused":true})"},
      {"POST", one + "/resume", {}, "", 200, R"({"id":")" + id + R"(","resumed":true})"},
      {"POST", one + "/retry?extend=1", {}, "", 200, R"({"id":")" + id + R"(","run":1})"},
      {"POST", one + "/restart", {}, "", 200, R"({"id":")" + id + R"(","run":2})"},
      {"POST", one + "/rerun?from=pay", {}, "", 200, R"({"id":")" + id + R"(","run":2})"},
      {"POST", one + "/rerun", {}, "", 400, "request.parameter"},
      {"POST", one + "/compensate?past=1", {}, "", 200, R"({"id":")" + id + R"(","left":1})"},
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
  EXPECT_EQ(service_.last_rerun().state, "pay");
  EXPECT_TRUE(service_.last_compensate().past);
  EXPECT_EQ(call("POST", one + "/retry?extend=1").status, 200);
  EXPECT_TRUE(service_.last_retry().extend);
}

TEST_F(InstanceRoutes, ReadsTheFilterOfAListFromTheParameters) {
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

TEST_F(InstanceRoutes, ReadsEveryConditionOfAList) {
  using enum InstanceStatus;
  const std::string target =
      std::string(
          "/v1/ns/default/instances?status=failed,timedout,failed&until=2021-09-01T12:00:00Z"
          "&endedSince=2021-09-01T12:00:01Z&endedUntil=2021-09-01T12:00:02Z&id=0190b5a4&key=o-1&"
          "correlation=c-1&state=pay&error=payment.*"
          "&has=retrying,calls,deadline&waitsFor=paid&order=oldest&parent=") +
      FakeService::kInstance;
  const HttpReply reply = call("GET", target);
  EXPECT_EQ(reply.status, 200) << reply.body;
  const InstanceFilter filter = service_.last_filter();
  EXPECT_EQ(filter.statuses, (std::vector{kFailed, kTimedOut}));
  EXPECT_EQ(filter.since, std::nullopt);
  EXPECT_EQ(filter.until, from_millis(1630497600000));
  EXPECT_EQ(filter.ended_since, from_millis(1630497601000));
  EXPECT_EQ(filter.ended_until, from_millis(1630497602000));
  EXPECT_EQ(filter.id, "0190b5a4");
  EXPECT_EQ(filter.key, "o-1");
  EXPECT_EQ(filter.correlation, "c-1");
  EXPECT_EQ(filter.state, "pay");
  EXPECT_EQ(filter.error, "payment.*");
  EXPECT_EQ(filter.parent, parse_instance_id(FakeService::kInstance).value());
  EXPECT_EQ(filter.traits, (std::vector{InstanceTrait::kRetrying, InstanceTrait::kCalls,
                                        InstanceTrait::kDeadline}));
  EXPECT_EQ(filter.waits_for, "paid");
  EXPECT_EQ(reply.json()["items"][0]["waits"][0]["type"], "paid");
  EXPECT_TRUE(filter.oldest_first);
  const std::string in_state = "/v1/ns/default/instances?state=";
  EXPECT_EQ(call("GET", in_state + "ask").json()["items"][0]["waits"][1]["function"], "remind");
  EXPECT_EQ(call("GET", in_state + "each").json()["items"][0]["waits"][0]["calls"], 12);
  EXPECT_EQ(call("GET", in_state + "rest").json()["items"][0]["waits"][0]["what"], "delay");
  EXPECT_EQ(call("GET", "/v1/ns/default/instances?order=newest").status, 200);
  EXPECT_FALSE(service_.last_filter().oldest_first);
}

TEST_F(InstanceRoutes, RefusesAConditionThatIsNotValid) {
  const std::string all = "/v1/ns/default/instances";
  const Row rows[] = {
      {"GET", all + "?status=failed,", {}, "", 400, "request.parameter"},
      {"GET", all + "?status=failed,done", {}, "", 400, "request.parameter"},
      {"GET", all + "?until=tomorrow", {}, "", 400, "time.malformed"},
      {"GET", all + "?endedSince=yesterday", {}, "", 400, "time.malformed"},
      {"GET", all + "?endedUntil=today", {}, "", 400, "time.malformed"},
      {"GET", all + "?parent=12", {}, "", 400, "id.malformed"},
      {"GET", all + "?has=children", {}, "", 400, "request.parameter"},
      {"GET", all + "?order=sideways", {}, "", 400, "request.parameter"},
      {"GET", all + "?error=" + std::string(257, '*'), {}, "", 400, "request.parameter"},
      {"POST", all + "/cancel?all=1&state=pay", {}, "", 400, "request.unknown_parameter"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(InstanceRoutes, ListsTheCallsAndTheChildrenOfAnInstance) {
  const std::string one = std::string("/v1/ns/default/instances/") + FakeService::kInstance;
  const std::string child = FakeService::instance_head(FakeService::kInstance).dump();
  const Row rows[] = {
      {"GET",
       one + "/calls",
       {},
       "",
       200,
       R"({"items":[{"index":0,"function":"charge","status":"retrying","attempt":2,"task":")" +
           std::string(FakeService::kInstance) + R"("}],"next":null})"},
      {"GET",
       one + "/children",
       {},
       "",
       200,
       R"({"items":[)" + child + R"(],"next":null,"complete":true,"looked":1})"},
      {"GET", one + "/calls?limit=0", {}, "", 400, "request.parameter"},
      {"GET", one + "/children?order=oldest", {}, "", 400, "request.unknown_parameter"},
      {"GET", "/v1/ns/default/instances/12/calls", {}, "", 404, "instance.not_found"},
      {"GET", "/v1/ns/default/instances/12/children", {}, "", 404, "instance.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target));
  for (const char* const list : {"/calls", "/children"}) {
    EXPECT_EQ(call("GET", one + list).status, 200);
    EXPECT_EQ(service_.last_page().limit, 50U) << list;
    EXPECT_EQ(call("GET", one + list + "?limit=7&cursor=3").status, 200);
    EXPECT_EQ(service_.last_page().limit, 7U) << list;
    EXPECT_EQ(service_.last_page().cursor, "3") << list;
  }
}

TEST_F(InstanceRoutes, CountsInstances) {
  const std::string target = "/v1/ns/default/instances/count";
  const Row rows[] = {
      {"GET",
       target + "?by=workflow,status&workflow=order&status=waiting,failed",
       {},
       "",
       200,
       R"({"items":[{"workflow":"order","status":"waiting","count":12},
                    {"workflow":"order","status":"failed","count":1}],
           "next":null,"asOf":"2021-09-01T12:00:00.000Z"})"},
      {"GET", target + "?by=workflow,colour", {}, "", 400, "request.parameter"},
      {"GET", target + "?status=done", {}, "", 400, "request.parameter"},
      {"GET", target + "?limit=7", {}, "", 400, "request.unknown_parameter"},
      {"GET", "/v1/ns/none/instances/count", {}, "", 404, "namespace.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target));
  EXPECT_EQ(call("GET", target + "?by=").status, 200);
  EXPECT_TRUE(service_.last_count_request().by.empty());
  EXPECT_EQ(call("GET", target + "?by=revision,state,workflow,status&status=failed").status, 200);
  const CountRequest request = service_.last_count_request();
  using enum CountField;
  EXPECT_EQ(request.by, (std::vector{kRevision, kState, kWorkflow, kStatus}));
  EXPECT_EQ(request.workflow, "");
  EXPECT_EQ(request.statuses, std::vector{InstanceStatus::kFailed});
}

TEST_F(InstanceRoutes, DeletesTheEndedInstancesThatTheBodySelects) {
  const std::string target = "/v1/ns/default/instances/delete";
  const HttpReply reply = call(
      "POST", target, {},
      R"({"workflow": "order", "status": ["failed", "complete"], "before": "2021-09-01T12:00:00Z"})");
  expect({"POST", target, {}, "", 200, R"({"deleting":true})"}, reply);
  const DeleteInstances deletion = service_.last_deletion();
  EXPECT_EQ(deletion.ns, "default");
  EXPECT_EQ(deletion.workflow, "order");
  EXPECT_EQ(deletion.statuses, (std::vector{InstanceStatus::kFailed, InstanceStatus::kComplete}));
  EXPECT_EQ(deletion.before, from_millis(1630497600000));
  expect({"POST", target, {}, "", 200, R"({"deleting":true})"},
         call("POST", target, {}, R"({"status": ["timedout"]})"));
  EXPECT_EQ(service_.last_deletion().workflow, "");
  EXPECT_EQ(service_.last_deletion().before, std::nullopt);
}

TEST_F(InstanceRoutes, RefusesADeletionWhoseBodySelectsNoEndedInstances) {
  const std::string target = "/v1/ns/default/instances/delete";
  const std::pair<const char*, const char*> rows[] = {
      {"", "json.malformed"},
      {"[]", "request.parameter"},
      {"{}", "request.parameter"},
      {R"({"status": []})", "request.parameter"},
      {R"({"status": "failed"})", "request.parameter"},
      {R"({"status": ["failed", "waiting"]})", "request.parameter"},
      {R"({"status": ["failed", 7]})", "request.parameter"},
      {R"({"status": ["failed"], "workflow": ""})", "request.parameter"},
      {R"({"status": ["failed"], "before": 7})", "request.parameter"},
      {R"({"status": ["failed"], "before": "yesterday"})", "time.malformed"},
      {R"({"status": ["failed"], "since": "2021-09-01T12:00:00Z"})", "request.parameter"},
  };
  for (const auto& [body, code] : rows) {
    expect({"POST", target, {}, "", 400, code}, call("POST", target, {}, body));
  }
  EXPECT_TRUE(service_.last_deletion().statuses.empty());
}

TEST_F(InstanceRoutes, AppliesAVerbOnlyToInstancesWithAStatusThatTheVerbIsFor) {
  using enum InstanceStatus;
  const std::vector<InstanceStatus> live = {kPending, kRunning, kWaiting, kPaused};
  const std::vector<InstanceStatus> ended = {kComplete, kFailed, kCancelled, kTimedOut};
  const struct {
    const char* target;
    std::vector<InstanceStatus> statuses;
  } rows[] = {
      {"cancel?all=1", live},
      {"pause?workflow=order", {kPending, kRunning, kWaiting}},
      {"resume?all=1", {kPaused}},
      {"retry?since=2021-09-01T12:00:00Z", {kFailed, kTimedOut}},
      {"restart?all=1", ended},
      {"rerun?from=pay&all=1", ended},
      {"compensate?all=1", {kFailed, kCancelled, kTimedOut}},
      {"cancel?status=failed", {kFailed}},
  };
  for (const auto& row : rows) {
    const HttpReply reply = call("POST", std::string("/v1/ns/default/instances/") + row.target);
    EXPECT_EQ(reply.status, 200) << row.target << reply.body;
    EXPECT_EQ(service_.last_filter().statuses, row.statuses) << row.target;
    const bool is_compensate = std::string_view(row.target).starts_with("compensate");
    const std::vector<InstanceTrait> left = {InstanceTrait::kCompensations};
    EXPECT_EQ(service_.last_filter().traits, is_compensate ? left : std::vector<InstanceTrait>())
        << row.target;
  }
}

TEST_F(InstanceRoutes, DropsThePendingStartsWithTheLastPageOfACancel) {
  service_.pending_starts = 2;
  const auto cancel = [&](const std::string& query) {
    const HttpReply reply = call("POST", "/v1/ns/default/instances/cancel?" + query);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return Json::parse(reply.body);
  };
  const Json all = cancel("workflow=order&since=2021-09-01T12:00:00Z");
  EXPECT_EQ(all["done"], 1);
  EXPECT_EQ(all["pendingStarts"], 2);
  const auto drop = service_.last_drop();
  ASSERT_TRUE(drop);
  EXPECT_EQ(drop->ns, "default");
  EXPECT_EQ(drop->workflow, "order");
  EXPECT_EQ(drop->since, parse_rfc3339("2021-09-01T12:00:00Z").value());
  EXPECT_EQ(cancel("all=1")["pendingStarts"], 2);
  EXPECT_EQ(service_.last_drop()->workflow, "");
  EXPECT_FALSE(cancel("workflow=order&status=waiting").contains("pendingStarts"));
  service_.has_further_page = true;
  EXPECT_FALSE(cancel("all=1").contains("pendingStarts")) << "not with the first page";
}

TEST_F(InstanceRoutes, PassesTheParametersOfAPageOfTheHistory) {
  const std::string history =
      std::string("/v1/ns/default/instances/") + FakeService::kInstance + "/history";
  EXPECT_EQ(call("GET", history).status, 200);
  HistoryFilter filter = service_.last_history_filter();
  EXPECT_EQ(filter.limit, 1000U);
  EXPECT_EQ(filter.cursor, "");
  EXPECT_FALSE(filter.newest_first);
  EXPECT_TRUE(filter.data);
  EXPECT_EQ(call("GET", history + "?limit=7&cursor=12&order=newest&data=0").status, 200);
  filter = service_.last_history_filter();
  EXPECT_EQ(filter.limit, 7U);
  EXPECT_EQ(filter.cursor, "12");
  EXPECT_TRUE(filter.newest_first);
  EXPECT_FALSE(filter.data);
  EXPECT_EQ(filter.after, std::nullopt);
  EXPECT_EQ(call("GET", history + "?after=3&before=9&kind=entered,raised").status, 200);
  filter = service_.last_history_filter();
  EXPECT_EQ(filter.after, 3U);
  EXPECT_EQ(filter.before, 9U);
  EXPECT_EQ(filter.kinds, (std::vector{HistoryKind::kEntered, HistoryKind::kRaised}));
  for (const char* const wrong : {"?after=x", "?before=-1", "?kind=entered,left"}) {
    EXPECT_EQ(call("GET", history + wrong).code(), "request.parameter") << wrong;
  }
  const std::string detail = call("GET", history + "?kind=left").json()["detail"];
  for (const char* const kind : {"entered", "raised", "revived"}) {
    EXPECT_NE(detail.find(kind), std::string::npos) << detail;
  }
}

TEST_F(InstanceRoutes, AnswersWithAScenarioAsAFile) {
  const std::string all = "/v1/ns/default/instances/";
  const HttpReply reply = call("GET", all + FakeService::kInstance + "/scenario");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("Content-Type"), "application/yaml");
  EXPECT_EQ(reply.header("Content-Disposition"), "attachment; filename=\"order.test.yaml\"");
  EXPECT_EQ(reply.body, "scenarios:\n  - name: one\n");
  EXPECT_EQ(call("GET", all + "12/scenario").code(), "instance.not_found");
}

}  // namespace
}  // namespace millrace
