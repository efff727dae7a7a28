// The HTTP API and the command line of a running server: definitions and their revisions, starts,
// lists, namespaces.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;

/// A workflow that waits for the event `go`; its output has the given text.
std::string waiter(std::string_view says) {
  return fmt::format(R"(id: waiter
states:
  - id: wait
    type: consumeEvent
    event:
      type: go
    transform:
      says: {}
)",
                     says);
}

constexpr std::string_view kGo = R"({"specversion":"1.0","id":"1","source":"/test","type":"go"})";

class Api : public MillraceTest {
 protected:
  HttpReply start(const Json& input, const Headers& headers = {}, std::string_view query = "") {
    return millrace_.ask("POST", fmt::format("workflows/waiter/start{}", query), dump_json(input),
                         headers);
  }

  std::string file(const std::string& name, std::string_view text) {
    const std::string path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  Folder folder_;
};

TEST_F(Api, ReportsEveryErrorOfADefinition) {
  const std::string path = file("wrong.yaml", R"(id: wrong
states:
  - id: a
    type: noop
    transition: nowhere
  - id: b
    type: noop
    transform: jq(.x |)
)");
  const ProcessEnd applied = millrace_.cli({"workflow", "apply", path});
  EXPECT_EQ(applied.code, 7);
  EXPECT_THAT(applied.errors, HasSubstr(path + ":5:17: error: "));
  EXPECT_THAT(applied.errors, HasSubstr(path + ":8:16: error: "));
  EXPECT_TRUE(millrace_.items("workflows").empty());

  // `lint` reports the same without a server.
  const ProcessEnd linted = millrace_.cli({"lint", path});
  EXPECT_EQ(linted.code, 7);
  EXPECT_EQ(linted.errors + linted.output, applied.errors);
  EXPECT_EQ(millrace_.cli({"lint", "examples/purchase/purchase.yaml"}).code, 0);
}

TEST_F(Api, SaysWhenTheNextStartOfAKeyIsPermitted) {
  millrace_.apply(
      "id: limited\nrateLimit: {limit: 1, period: PT1H, key: jq(.customer)}\nstates:\n"
      "  - {id: end, type: noop}\n");
  const auto ask = [&](const char* input) {
    return millrace_.ask("POST", "workflows/limited/start", input);
  };
  EXPECT_EQ(ask(R"({"customer": "c-1"})").status, 201);
  const HttpReply refused = ask(R"({"customer": "c-1"})");
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.json()["code"], "millrace.rateLimit");
  const int seconds = std::stoi(refused.header("Retry-After"));
  EXPECT_GT(seconds, 1'800);
  EXPECT_LE(seconds, 3'600);
  EXPECT_EQ(ask(R"({"customer": "c-2"})").status, 201);
}

TEST_F(Api, AnswersAPutOffStartWithTheIdOfItsInstance) {
  millrace_.apply("id: later\ndebounce: {period: PT0.3S}\nstates:\n  - {id: end, type: noop}\n");
  const HttpReply first = millrace_.ask("POST", "workflows/later/start", R"({"n": 1})");
  EXPECT_EQ(first.status, 202) << first.body;
  EXPECT_TRUE(first.json().contains("startsAt")) << first.body;
  const std::string path = "instances/" + first.json()["id"].get<std::string>();
  EXPECT_TRUE(eventually([&] { return millrace_.ask("GET", path).status == 200; }));
  EXPECT_EQ(millrace_.get(path)["input"], Json::parse(R"({"n": 1})"));
}

TEST_F(Api, StartsOneInstanceWithTheInputsOfABatch) {
  millrace_.apply(
      "id: many\nbatch: {maxSize: 2, timeout: PT1H}\nstates:\n  - {id: end, type: noop}\n");
  const auto ask = [&](const char* input) {
    return millrace_.ask("POST", "workflows/many/start", input);
  };
  const HttpReply first = ask(R"({"n": 1})");
  EXPECT_EQ(first.status, 202) << first.body;
  EXPECT_TRUE(first.json().contains("startsAt")) << first.body;
  const std::string path = "instances/" + first.json()["id"].get<std::string>();
  EXPECT_EQ(millrace_.ask("GET", path).status, 404);
  EXPECT_EQ(ask("[2]").json()["id"], first.json()["id"]);
  EXPECT_TRUE(eventually([&] { return millrace_.ask("GET", path).status == 200; }));
  EXPECT_EQ(millrace_.get(path)["input"], Json::parse(R"({"events": [{"n": 1}, {"input": [2]}]})"));
}

TEST_F(Api, KeepsTheRevisionOfAnUnchangedDefinition) {
  EXPECT_EQ(millrace_.apply(waiter("one"))["revision"], 1);
  const Json again = millrace_.apply(waiter("one"));
  EXPECT_EQ(again["revision"], 1);
  EXPECT_EQ(again["changed"], false);
  EXPECT_EQ(millrace_.apply(waiter("two"))["revision"], 2);
  EXPECT_EQ(millrace_.items("workflows/waiter/revisions").size(), 2U);

  const ProcessEnd dry =
      millrace_.cli({"workflow", "apply", "--dry-run", file("w.yaml", waiter("three"))});
  EXPECT_EQ(dry.code, 0);
  EXPECT_EQ(millrace_.get("workflows/waiter")["revision"], 2);
}

TEST_F(Api, KeepsRunningInstancesOnTheirRevision) {
  millrace_.apply(waiter("old"));
  const std::string first = millrace_.start_instance("waiter", Json::object());
  millrace_.apply(waiter("new"));
  const std::string second = millrace_.start_instance("waiter", Json::object());
  EXPECT_EQ(millrace_.ask("POST", "events", kGo).status, 202);
  const Json before = millrace_.instance_once(first, "complete");
  EXPECT_EQ(before["revision"], 1);
  EXPECT_EQ(before["output"]["says"], "old");
  const Json after = millrace_.instance_once(second, "complete");
  EXPECT_EQ(after["revision"], 2);
  EXPECT_EQ(after["output"]["says"], "new");
}

TEST_F(Api, DeletesAWorkflowWithLiveInstancesOnlyWithTheOptionCancel) {
  millrace_.apply(waiter("x"));
  const std::string id = millrace_.start_instance("waiter", Json::object());
  const HttpReply refused = millrace_.ask("DELETE", "workflows/waiter");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "workflow.has_instances");
  EXPECT_EQ(millrace_.cli({"workflow", "delete", "waiter"}).code, 6);

  EXPECT_EQ(millrace_.cli({"workflow", "delete", "waiter", "--cancel"}).code, 0);
  EXPECT_EQ(millrace_.instance(id)["status"], "cancelled");
  EXPECT_EQ(millrace_.instance(id)["error"]["code"], "direktiv.cancels.api");
  EXPECT_EQ(millrace_.cli({"workflow", "get", "waiter"}).code, 3);
  EXPECT_TRUE(millrace_.items("listeners").empty());
}

TEST_F(Api, ReturnsTheOutputToAStartCallThatWaitsForTheEnd) {
  millrace_.apply("id: waiter\nstates:\n  - id: a\n    type: noop\n    transform:\n      out: 1\n");
  const HttpReply ended = start(Json::object(), {}, "?wait=PT10M");
  EXPECT_EQ(ended.status, 200);
  EXPECT_EQ(ended.json()["status"], "complete");
  EXPECT_EQ(ended.json()["output"], Json::parse(R"({"out":1})"));
  EXPECT_EQ(ended.header("Location"),
            "/v1/ns/default/instances/" + ended.json()["id"].get<std::string>());
}

TEST_F(Api, ReturnsTheInstanceIdIfAStartCallWaitsTooLongForTheEnd) {
  millrace_.apply(waiter("x"));
  const HttpReply waited = start(Json::object(), {}, "?wait=PT0.1S");
  EXPECT_EQ(waited.status, 202);
  EXPECT_EQ(waited.header("Millrace-Wait"), "timeout");
  millrace_.instance_once(waited.json()["id"], "waiting");
  EXPECT_EQ(millrace_.cli({"run", "waiter", "--wait", "100ms"}).code, 8);
}

TEST_F(Api, ReturnsTheErrorOfAFailedInstance) {
  millrace_.apply(
      "id: waiter\nstates:\n  - id: a\n    type: error\n    error: my.error\n    message: no %s\n"
      "    args: [jq(.what)]\n");
  const ProcessEnd end =
      millrace_.cli({"run", "waiter", "--input", R"({"what": "tea"})", "--wait"});
  EXPECT_EQ(end.code, 9);
  EXPECT_THAT(end.errors, HasSubstr("my.error: no tea"));
}

TEST_F(Api, StartsOneInstanceForEachIdempotencyKey) {
  millrace_.apply(waiter("x"));
  const Headers key = {{"Idempotency-Key", "order-7"}};
  const HttpReply first = start({{"a", 1}}, key);
  EXPECT_EQ(first.status, 201);
  const HttpReply again = start({{"a", 1}}, key);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.json()["id"], first.json()["id"]);
  const HttpReply other = start({{"a", 2}}, key);
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.code(), "start.conflict");
  EXPECT_EQ(millrace_.cli({"run", "waiter", "--id", "order-7", "--input", R"({"a": 2})"}).code, 6);

  millrace_.kill();
  millrace_.start_ready();
  EXPECT_EQ(start({{"a", 1}}, key).json()["id"], first.json()["id"]);
  EXPECT_EQ(millrace_.items("instances").size(), 1U);
}

TEST_F(Api, RejectsAStartOfAnUnknownWorkflow) {
  EXPECT_EQ(start(Json::object()).code(), "workflow.not_found");
  EXPECT_EQ(millrace_.cli({"run", "waiter"}).code, 3);
  EXPECT_EQ(millrace_.cli({"-n", "nowhere", "instance", "list"}).code, 3);
}

TEST_F(Api, KeepsTheEventsAndWorkflowsOfTwoNamespacesApart) {
  EXPECT_EQ(millrace_.cli({"namespace", "create", "shop"}).code, 0);
  millrace_.apply(waiter("default"));
  millrace_.apply(waiter("shop"), "shop");
  const std::string id = millrace_.start_instance("waiter", Json::object());
  const HttpReply shops = millrace_.ask("POST", "/v1/ns/shop/workflows/waiter/start", "{}");
  const std::string shop_path = "/v1/ns/shop/instances/" + shops.json().at("id").get<std::string>();

  EXPECT_EQ(millrace_.ask("POST", "/v1/ns/shop/events", kGo).status, 202);
  EXPECT_TRUE(eventually([&] { return millrace_.get(shop_path)["status"] == "complete"; }));
  EXPECT_EQ(millrace_.get(shop_path)["output"]["says"], "shop");
  EXPECT_EQ(millrace_.instance(id)["status"], "waiting");
  EXPECT_EQ(millrace_.ask("GET", "/v1/ns/shop/instances/" + id).status, 404);

  // In another namespace, the same source and id are not a duplicate.
  EXPECT_EQ(millrace_.ask("POST", "events", kGo).json()["duplicates"], 0);
  millrace_.instance_once(id, "complete");

  EXPECT_EQ(millrace_.cli({"namespace", "delete", "shop"}).code, 0);
  EXPECT_EQ(millrace_.ask("GET", "/v1/ns/shop/instances").code(), "namespace.not_found");
}

TEST_F(Api, ListsInstancesInPagesWithTheNewestFirst) {
  millrace_.apply(waiter("x"));
  millrace_.apply("id: quick\nstates:\n  - id: a\n    type: noop\n");
  std::vector<std::string> started;
  for (size_t i = 0; i < 7; ++i) {
    started.insert(started.begin(),
                   millrace_.start_instance(i % 2 == 0 ? "waiter" : "quick", Json::object()));
  }
  std::vector<std::string> listed;
  std::string cursor;
  do {
    const Json page = millrace_.get("instances?limit=3&cursor=" + cursor);
    EXPECT_LE(page["items"].size(), 3U);
    for (const Json& item : page["items"]) listed.push_back(item["id"]);
    cursor = page["next"].is_null() ? "" : page["next"].get<std::string>();
  } while (!cursor.empty());
  EXPECT_EQ(listed, started);

  EXPECT_EQ(millrace_.items("instances?workflow=quick").size(), 3U);
  EXPECT_TRUE(millrace_.has_instances("status=waiting", 4));
  EXPECT_EQ(millrace_.items("instances?workflow=quick&status=waiting").size(), 0U);
  const std::string since = millrace_.instance(started[1])["startedAt"];
  const size_t started_since = millrace_.items("instances?since=" + since).size();
  EXPECT_GE(started_since, 2U);  // other instances may have started in the same millisecond
  EXPECT_LE(started_since, 7U);
  EXPECT_EQ(millrace_.ask("GET", "instances?status=asleep").code(), "request.parameter");
  EXPECT_EQ(millrace_.ask("GET", "instances?limit=0").code(), "request.parameter");

  const ProcessEnd names = millrace_.cli({"instance", "list", "-o", "name", "--limit", "2"});
  EXPECT_EQ(names.output, started[0] + "\n" + started[1] + "\n");
  EXPECT_EQ(millrace_.cli({"instance", "list", "--since", "1h", "-o", "name"}).code, 0);
}

}  // namespace
}  // namespace millrace
