// The routes of stored events: lists with their filters, and one event.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class EventDeskRoutes : public ApiTest {
 protected:
  const std::string events_ = "/v1/ns/default/events";
};

TEST_F(EventDeskRoutes, ListAndShowEvents) {
  const HttpReply list = call("GET", events_);
  ASSERT_EQ(list.status, 200) << list.body;
  const Json page = list.json();
  ASSERT_EQ(page["items"].size(), 2U);
  EXPECT_EQ(page["items"][0]["sequence"], 18);
  EXPECT_EQ(page["items"][0]["effects"][0]["instance"], FakeService::kInstance);
  EXPECT_EQ(page["next"], nullptr);

  const HttpReply one = call("GET", events_ + "/18");
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(one.json()["event"]["data"], (Json{{"total", 7}}));
}

TEST_F(EventDeskRoutes, PassOnEachFilter) {
  const std::string query =
      "?limit=7&before=90&type=order.*&source=shop&id=e-1&since=2021-09-01T12:00:00Z"
      "&until=2021-09-01T13:00:00Z&effect=without";
  ASSERT_EQ(call("GET", events_ + query).status, 200);
  const EventListFilter filter = service_.stored_events.last_filter();
  EXPECT_EQ(filter.limit, 7U);
  EXPECT_EQ(filter.before, 90U);
  EXPECT_FALSE(filter.after);
  EXPECT_EQ(filter.type, "order.*");
  EXPECT_EQ(filter.source, "shop");
  EXPECT_EQ(filter.id, "e-1");
  EXPECT_EQ(filter.since, parse_rfc3339("2021-09-01T12:00:00Z").value());
  EXPECT_EQ(filter.until, parse_rfc3339("2021-09-01T13:00:00Z").value());
  EXPECT_EQ(filter.effect, false);

  EXPECT_TRUE(filter.attributes.empty());

  using Attributes = std::vector<std::pair<std::string, std::string>>;
  ASSERT_EQ(call("GET", events_ + "?attribute=orderid&value=o-1").status, 200);
  EXPECT_EQ(service_.stored_events.last_filter().attributes, (Attributes{{"orderid", "o-1"}}));
  ASSERT_EQ(call("GET", events_ + "?attributes=%7B%22orderid%22:%22%22,%22n%22:%227%22%7D").status,
            200);
  EXPECT_EQ(service_.stored_events.last_filter().attributes,
            (Attributes{{"n", "7"}, {"orderid", ""}}));

  const HttpReply none = call("GET", events_ + "?attribute=orderid&value=O-1");
  EXPECT_EQ(none.json()["inOtherCase"]["attributes"], (Json{{"orderid", "o-1"}}));
  EXPECT_EQ(call("GET", events_ + "?attribute=orderId&value=o-1").json()["detail"],
            "attribute: \"orderId\" is not the name of a context attribute; expected lower-case "
            "letters and digits: write orderid");

  ASSERT_EQ(call("GET", events_ + "?cursor=12&effect=with").status, 200);
  EXPECT_EQ(service_.stored_events.last_filter().before, 12U)
      << "the cursor is `next` of the page before";
  EXPECT_EQ(service_.stored_events.last_filter().effect, true);
  ASSERT_EQ(call("GET", events_ + "?after=0").status, 200);
  EXPECT_EQ(service_.stored_events.last_filter().after, 0U);
  ASSERT_EQ(call("GET", events_ + "?generated=1").status, 200);
  EXPECT_EQ(service_.stored_events.last_filter().generated, true);
  ASSERT_EQ(call("GET", events_).status, 200);
  EXPECT_EQ(service_.stored_events.last_filter().generated, std::nullopt);
  EXPECT_EQ(service_.stored_events.last_filter().effect, std::nullopt);
  EXPECT_EQ(service_.stored_events.last_filter().limit, 50U);
}

TEST_F(EventDeskRoutes, ReplayAnEvent) {
  const std::string replay = events_ + "/18/replay";
  const HttpReply all = call("POST", replay);
  EXPECT_EQ(all.status, 202) << all.body;
  EXPECT_EQ(all.json(), (Json{{"sequence", 19}, {"id", "replay-1"}}));
  EXPECT_EQ(service_.stored_events.last_replay().target.workflow, "");
  ASSERT_EQ(call("POST", replay + "?id=new&workflow=order").status, 202);
  EXPECT_EQ(service_.stored_events.last_replay().target.workflow, "order");
  ASSERT_EQ(call("POST", replay + "?instance=" + FakeService::kInstance).status, 202);
  EXPECT_EQ(service_.stored_events.last_replay().target.instance,
            parse_instance_id(FakeService::kInstance).value());
}

TEST_F(EventDeskRoutes, SayWhatAReplayWouldDoAndPublishNothing) {
  const std::string replay = events_ + "/18/replay";
  const std::string instance = FakeService::kInstance;
  const HttpReply tried = call("POST", replay + "?instance=" + instance, {}, R"({"dryRun":true})");
  EXPECT_EQ(tried.status, 200) << tried.body;
  EXPECT_EQ(tried.json()["event"]["id"], "replay-1");
  EXPECT_EQ(tried.json()["near"][0]["verdict"], "predicate");
  EXPECT_EQ(service_.stored_events.last_plan().sequence, 18U);
  EXPECT_EQ(service_.stored_events.last_plan().target.instance,
            parse_instance_id(instance).value());
  EXPECT_EQ(service_.whys.last_filter().instance, parse_instance_id(instance).value())
      << "the target is judged in any case";
  EXPECT_EQ(service_.stored_events.last_replay().sequence, 0U) << "nothing was published";
  EXPECT_EQ(call("POST", replay, {}, R"({"dryRun":false})").status, 202);
  EXPECT_EQ(service_.stored_events.last_replay().sequence, 18U);

  const Row rows[] = {
      {"POST", replay, {}, "[]", 400, "request.parameter"},
      {"POST", replay, {}, "{", 400, "json.malformed"},
      {"POST", replay, {}, R"({"dryRun":1})", 400, "request.parameter"},
      {"POST", replay, {}, R"({"rate":5})", 400, "request.parameter"},
      {"POST", replay + "?dryRun=1", {}, "", 400, "request.unknown_parameter"},
      {"POST", replay + "?id=same", {}, R"({"dryRun":true})", 409, "event.id_known"},
      {"POST", events_ + "/17/replay", {}, R"({"dryRun":true})", 404, "event.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(EventDeskRoutes, ReplayACorrectedEvent) {
  const std::string replay = events_ + "/18/replay";
  ASSERT_EQ(call("POST", replay + "?id=new", {},
                 R"({"attributes":{"orderid":"o-1","count":-7,"urgent":true},"namespace":"shop"})")
                .status,
            202);
  const EventReplay corrected = service_.stored_events.last_replay();
  EXPECT_EQ(corrected.attributes, (std::map<std::string, AttributeValue>{
                                      {"orderid", "o-1"}, {"count", -7}, {"urgent", true}}));
  EXPECT_EQ(corrected.to_ns, "shop");
  ASSERT_EQ(call("POST", replay, {}, R"({"attributes":{"type":"paid"},"dryRun":true})").status,
            200);
  EXPECT_TRUE(service_.stored_events.last_plan().is_corrected());
  std::string many = R"({"attributes":{"a":"")";
  for (int i = 0; i < 16; ++i) many += ",\"a" + std::to_string(i) + "\":\"\"";
  many += "}}";
  const Row rows[] = {
      {"POST", replay + "?id=same", {}, R"({"attributes":{"a":""}})", 400, "request.parameter"},
      {"POST", replay + "?id=same", {}, R"({"namespace":"shop"})", 400, "request.parameter"},
      {"POST", replay, {}, R"({"namespace":"a.b"})", 400, "request.parameter"},
      {"POST", replay, {}, R"({"namespace":7})", 400, "request.parameter"},
      // The listeners of the namespace to which the event would be sent are judged.
      {"POST", replay, {}, R"({"namespace":"a","dryRun":true})", 404, "namespace.not_found"},
      {"POST", replay, {}, R"({"attributes":[]})", 400, "request.parameter"},
      {"POST", replay, {}, R"({"attributes":{"a":null}})", 400, "request.parameter"},
      {"POST", replay, {}, R"({"attributes":{"a":1.5}})", 400, "request.parameter"},
      {"POST", replay, {}, R"({"attributes":{"a":2147483648}})", 400, "request.parameter"},
      {"POST",
       replay,
       {},
       R"({"attributes":{"a":18446744073709551615}})",
       400,
       "request.parameter"},
      {"POST", replay, {}, many, 400, "request.parameter"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(EventDeskRoutes, ReplayARange) {
  const std::string replays = "/v1/ns/default/replays";
  const HttpReply started = call("POST", replays, {}, R"({"since":"2021-09-01T12:00:00Z","last":90,
      "until":"2021-09-01T13:00:00Z","type":"order.*","source":"shop","rate":50,"dryRun":true,
      "to":{"workflow":"order"}})");
  EXPECT_EQ(started.status, 202) << started.body;
  EXPECT_EQ(started.json(), (Json{{"id", "r1"}}));
  const RangeReplay range = service_.stored_events.last_range();
  EXPECT_EQ(range.since, parse_rfc3339("2021-09-01T12:00:00Z").value());
  EXPECT_EQ(range.until, parse_rfc3339("2021-09-01T13:00:00Z").value());
  EXPECT_EQ(range.first, 0U);
  EXPECT_EQ(range.last, 90U);
  EXPECT_EQ(range.type, "order.*");
  EXPECT_EQ(range.source, "shop");
  EXPECT_EQ(range.rate, 50U);
  EXPECT_TRUE(range.is_dry);
  EXPECT_EQ(range.target.workflow, "order");
  EXPECT_EQ(call("GET", replays).json()["items"][0]["id"], "r1");
  EXPECT_EQ(call("GET", replays + "/r1").json()["position"], 10);
  EXPECT_EQ(call("DELETE", replays + "/r1").json(), (Json{{"id", "r1"}, {"stopped", true}}));
  EXPECT_EQ(call("GET", replays + "/r1").json()["state"], "stopped");
  ASSERT_EQ(call("POST", replays, {}, R"({"first":7})").status, 202);
  EXPECT_EQ(service_.stored_events.last_range().rate, 1'000U);

  const Row rows[] = {
      {"POST", replays, {}, "{}", 400, "request.parameter"},
      {"POST", replays, {}, "[]", 400, "request.parameter"},
      {"POST", replays, {}, "{", 400, "json.malformed"},
      {"POST", replays, {}, R"({"first":-1})", 400, "request.parameter"},
      {"POST", replays, {}, R"({"first":200,"last":100})", 400, "request.parameter"},
      {"POST",
       replays,
       {},
       R"({"since":"2021-09-01T12:00:00Z","until":"2021-09-01T12:00:00Z"})",
       400,
       "request.parameter"},
      {"POST", replays, {}, R"({"since":"noon"})", 400, "time.malformed"},
      {"POST", replays, {}, R"({"first":1,"rate":0})", 400, "request.parameter"},
      {"POST", replays, {}, R"({"first":1,"dryRun":1})", 400, "request.parameter"},
      {"POST", replays, {}, R"({"first":1,"colour":"red"})", 400, "request.parameter"},
      {"POST", replays, {}, R"({"first":1,"to":"order"})", 400, "request.parameter"},
      {"POST", replays, {}, R"({"first":1,"to":{"instance":"x"}})", 400, "request.parameter"},
      {"POST", replays, {}, R"({"first":1,"to":{"service":"x"}})", 400, "request.parameter"},
      {"POST", "/v1/ns/nowhere/replays", {}, R"({"first":1})", 404, "namespace.not_found"},
      {"GET", replays + "/r2", {}, "", 404, "replay.not_found"},
      {"DELETE", replays + "/r2", {}, "", 404, "replay.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(EventDeskRoutes, NameTheWordsOfTheParameterEffect) {
  EXPECT_EQ(call("GET", events_ + "?effect=any").json()["detail"],
            "effect: \"any\" is not valid; expected with (events that had an effect) or without "
            "(those that had none); leave the parameter out for all events");
}

TEST_F(EventDeskRoutes, RefuseWrongParameters) {
  std::string many = "%7B";
  for (int i = 0; i < 17; ++i) {
    many += (i == 0 ? "%22a" : ",%22a") + std::to_string(i) + "%22:%22%22";
  }
  many += "%7D";
  const Row rows[] = {
      {"GET", events_ + "?limit=0", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?limit=1001", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?before=x", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?after=-1", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?cursor=1x", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?since=noon", {}, "", 400, "time.malformed"},
      {"GET", events_ + "?effect=maybe", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?generated=maybe", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?attribute=orderid", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?value=o-1", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?attribute=orderId&value=o-1", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?attributes=orderid", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?attributes=%5B%5D", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?attributes=%7B%22n%22:7%7D", {}, "", 400, "request.parameter"},
      {"GET", events_ + "?attributes=" + many, {}, "", 400, "request.parameter"},
      {"GET", events_ + "?colour=red", {}, "", 400, "request.unknown_parameter"},
      {"GET", events_ + "/17", {}, "", 404, "event.not_found"},
      {"GET", events_ + "/last", {}, "", 404, "event.not_found"},
      {"POST", events_ + "/18/replay?id=same", {}, "", 409, "event.id_known"},
      {"POST", events_ + "/18/replay?id=old", {}, "", 400, "request.parameter"},
      {"POST", events_ + "/18/replay?instance=x", {}, "", 400, "request.parameter"},
      {"POST", events_ + "/17/replay", {}, "", 404, "event.not_found"},
      {"GET", "/v1/ns/nowhere/events", {}, "", 404, "namespace.not_found"},
      {"GET", "/v1/ns/nowhere/events/18", {}, "", 404, "namespace.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

}  // namespace
}  // namespace millrace
