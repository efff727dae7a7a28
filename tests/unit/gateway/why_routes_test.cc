// The routes that say why an event had an effect or none.
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gateway/api_schemas.h"
#include "orchestrator/batch/slots.h"
#include "orchestrator/service/predicted_start.h"
#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class WhyRoutes : public ApiTest {
 protected:
  const std::string ns_ = "/v1/ns/default";
  const std::string instance_ = ns_ + "/instances/" + FakeService::kInstance;
};

TEST_F(WhyRoutes, SayWhyAnEventHadNoEffect) {
  const HttpReply reply = call("GET", ns_ + "/events/18/why");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json why = reply.json();
  ASSERT_EQ(why["near"].size(), 1U);
  EXPECT_EQ(why["near"][0]["predicates"][1]["hint"], "case");
  EXPECT_EQ(why["event"]["sequence"], 18);
  EXPECT_EQ(service_.whys.last_filter().limit, 20U);
  EXPECT_FALSE(service_.whys.last_filter().instance);
}

TEST_F(WhyRoutes, ShowTheGroupsThatAreNearAndHowEarlyAnEventCame) {
  const HttpReply reply = call("GET", ns_ + "/events/15/why");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json near = reply.json()["near"];
  EXPECT_EQ(near[0]["nearGroups"][0]["hint"], "case");
  EXPECT_EQ(near[0]["corrections"][1]["toNamespace"], "default");
  EXPECT_EQ(near[0]["moreGroups"]["count"], 4);
  EXPECT_EQ(near[1]["early"]["seconds"], 3.3);
}

TEST_F(WhyRoutes, ShowWhatTheLimitsWouldDoWithAStart) {
  const HttpReply reply =
      call("POST", ns_ + "/events/try", {{"Content-Type", "application/cloudevents+json"}},
           R"({"specversion":"1.0","id":"7","source":"shop","type":"placed"})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json start = reply.json()["near"][0]["start"];
  EXPECT_EQ(start["outcome"], "waits");
  EXPECT_EQ(start["before"], 3);
}

Json names_in_list(std::span<const std::string_view> names) {
  Json list = Json::array();
  for (const std::string_view name : names) list.push_back(name);
  return list;
}

TEST(WhySchemas, HaveEachOutcomeAndEachLimitOfAStart) {
  const Json& properties = api_schemas().at("PredictedStart").schema.at("properties");
  EXPECT_EQ(properties.at("outcome").at("enum"), names_in_list(outcome_names()));
  EXPECT_EQ(properties.at("reason").at("enum"), names_in_list(limit_names()));
}

TEST_F(WhyRoutes, PassOnWhatTheCallerExpected) {
  const std::string query = std::string("?instance=") + FakeService::kInstance +
                            "&attribute=orderid&value=o-1742&limit=3";
  const HttpReply reply = call("GET", ns_ + "/events/18/why" + query);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["instance"], FakeService::kInstance) << "the only one that is shown";
  const WhyFilter filter = service_.whys.last_filter();
  EXPECT_EQ(filter.instance, parse_instance_id(FakeService::kInstance).value());
  EXPECT_EQ(filter.attribute, "orderid");
  EXPECT_EQ(filter.value, "o-1742");
  EXPECT_EQ(filter.limit, 3U);
}

TEST_F(WhyRoutes, TryAnEventInAllContentModesAndSendNothing) {
  const Headers binary = {{"ce-specversion", "1.0"},
                          {"ce-id", "2"},
                          {"ce-source", "shop"},
                          {"ce-type", "order.placed"},
                          {"Content-Type", "text/plain"}};
  const HttpReply one = call("POST", ns_ + "/events/try", binary, "hello");
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(one.json()["event"], (Json{{"id", "2"}, {"type", "order.placed"}, {"source", "shop"}}));
  const Headers structured = {{"Content-Type", kStructured}};
  ASSERT_EQ(call("POST", ns_ + "/events/try?limit=7", structured, kEvent).status, 200);
  EXPECT_EQ(service_.whys.last_filter().limit, 7U);
  const std::string single = "[" + std::string(kEvent) + "]";
  EXPECT_EQ(call("POST", ns_ + "/events/try", {{"Content-Type", kBatch}}, single).status, 200);
  EXPECT_TRUE(service_.published().empty());
}

TEST_F(WhyRoutes, SayWhyAnInstanceWasNotWoken) {
  const HttpReply reply = call("GET", instance_ + "/why");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["events"][0]["verdict"], "predicate");
  EXPECT_EQ(reply.json()["instance"]["arrived"], Json::array({"packed"}));
  EXPECT_EQ(service_.whys.last_sequence(), std::nullopt);
  ASSERT_EQ(call("GET", instance_ + "/why?event=9&limit=2").status, 200);
  EXPECT_EQ(service_.whys.last_sequence(), 9U);
  EXPECT_EQ(service_.whys.last_filter().limit, 2U);
  const HttpReply calls = call("GET", instance_ + "/why?limit=3");
  ASSERT_EQ(calls.status, 200) << calls.body;
  EXPECT_EQ(calls.json()["instance"]["waits"][0]["for"], "callback");
  EXPECT_EQ(calls.json()["instance"]["moreWaits"], 1);
  const std::string window = "since=2021-09-01T12:00:00Z&until=2021-09-01T13:00:00Z&cursor=18";
  ASSERT_EQ(call("GET", instance_ + "/why?" + window).status, 200);
  const WhyWindow asked = service_.whys.last_filter().window;
  EXPECT_EQ(asked.since, parse_rfc3339("2021-09-01T12:00:00Z").value());
  EXPECT_EQ(asked.until, parse_rfc3339("2021-09-01T13:00:00Z").value());
  EXPECT_EQ(asked.before, 18U);
}

TEST_F(WhyRoutes, RefuseWhatIsNotValid) {
  const Headers batch = {{"Content-Type", kBatch}};
  const std::string two = "[" + std::string(kEvent) + "," + kEvent + "]";
  const Row rows[] = {
      {"GET", ns_ + "/events/9/why", {}, "", 404, "event.not_found"},
      {"GET", ns_ + "/events/nine/why", {}, "", 404, "event.not_found"},
      {"GET", "/v1/ns/other/events/18/why", {}, "", 404, "namespace.not_found"},
      {"GET", ns_ + "/events/18/why?attribute=orderid", {}, "", 400, "request.parameter"},
      {"GET", ns_ + "/events/18/why?value=o-1", {}, "", 400, "request.parameter"},
      {"GET", ns_ + "/events/18/why?instance=7", {}, "", 400, "request.parameter"},
      {"GET", ns_ + "/events/18/why?limit=101", {}, "", 400, "request.parameter"},
      {"GET", ns_ + "/events/18/why?event=9", {}, "", 400, "request.unknown_parameter"},
      {"POST", ns_ + "/events/try", batch, two, 400, "request.parameter"},
      {"POST", ns_ + "/events/try", batch, "[]", 400, "request.parameter"},
      {"POST", ns_ + "/events/try", {}, "{}", 400, "event.missing_attribute"},
      {"GET", ns_ + "/instances/7/why", {}, "", 404, "instance.not_found"},
      {"GET", instance_ + "/why?event=nine", {}, "", 400, "request.parameter"},
      {"GET", instance_ + "/why?event=9&cursor=7", {}, "", 400, "request.parameter"},
      {"GET", instance_ + "/why?cursor=x", {}, "", 400, "request.parameter"},
      {"GET", instance_ + "/why?since=noon", {}, "", 400, "time.malformed"},
      {"GET",
       instance_ + "/why?since=2021-09-01T13:00:00Z&until=2021-09-01T12:00:00Z",
       {},
       "",
       400,
       "request.parameter"},
      {"GET",
       instance_ + "/why?since=2021-09-01T12:00:00Z&until=2021-09-01T12:00:00Z",
       {},
       "",
       400,
       "request.parameter"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  for (const char* const limit : {"0", "101", "1001", "x"}) {
    const HttpReply refused = call("GET", ns_ + "/events/18/why?limit=" + limit);
    EXPECT_EQ(refused.json()["detail"],
              fmt::format("limit: \"{}\" is not a number from 1 to 100", limit));
  }
  EXPECT_EQ(call("GET", instance_ + "/why?event=x").json()["detail"],
            "event: \"x\" is not the sequence of an event; expected a number, which the list of "
            "events with the parameter `id` shows for an id");
}

}  // namespace
}  // namespace millrace
