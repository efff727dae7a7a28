// LocalService: what it adds to the overview of a namespace, besides what the store has.
#include <gtest/gtest.h>

#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

TEST_F(LocalServiceTest, ShowsTheSizeOfTheStoreInTheOverview) {
  const Json store = service->overview("default").value().at("store");
  EXPECT_GT(store.at("dataBytes"), 0);
  EXPECT_TRUE(store.at("usedBytes").is_number_unsigned()) << store;
}

TEST_F(LocalServiceTest, ShowsTheDeadLettersOfTheNamespaceInTheOverview) {
  const auto dead_letters = [&] {
    const Json shown = service->overview("default").value();
    for (const Json& one : shown.at("attention")) {
      if (one["kind"] == "deadLetters") return one;
    }
    return Json();
  };
  EXPECT_EQ(dead_letters(), Json());
  for (const char* const ns : {"default", "default", "shop"}) stored_letters.add(ns, "{");
  EXPECT_EQ(dead_letters(), (Json{{"kind", "deadLetters"}, {"count", 2}}));
  stored_letters.failing = Error{"broker.timeout", "no answer"};
  EXPECT_EQ(dead_letters()["detail"], "their number is not known: no answer");
  failing = "reader";
  EXPECT_EQ(dead_letters()["detail"], "their number is not known: no reader");
}

TEST_F(LocalServiceTest, NamesInTheOverviewNamespacesThatDoNotExistAndGotEvents) {
  const auto items = [&](const char* const member) {
    Json found = Json::array();
    const Json shown = service->overview("default").value();
    for (const Json& one : shown.at(member)) {
      if (one["kind"] == "unknownNamespace") found.push_back(one);
    }
    return found;
  };
  EXPECT_EQ(items("attention"), Json::array());
  for (const char* const ns : {"shopp", "shopp", "default"}) {
    stored_letters.add(ns, "{}", "namespace.not_found");
  }
  stored_letters.add("gone", "{");
  EXPECT_EQ(items("attention"), Json::parse(R"([
    {"kind": "unknownNamespace", "namespace": "shopp", "count": 2}])"));
  EXPECT_EQ(items("cut"), Json::array());
  stored_letters.failing = Error{"broker.timeout", "no answer"};
  EXPECT_EQ(items("attention"), Json::array());
  EXPECT_EQ(items("cut"), Json::parse(R"([{"kind": "unknownNamespace", "detail": "no answer"}])"));
}

TEST_F(LocalServiceTest, ShowsInTheOverviewTheWaitsWhoseTimeoutIsNear) {
  world.apply(R"(
id: near
states:
- {id: wait, type: consumeEvent, event: {type: paid}, timeout: PT1M}
)");
  const std::string id = world.start("near")["id"];
  const TimePoint at = world.clock.now() + std::chrono::minutes(1);
  const Json shown = service->overview("default").value();
  const Json expected{{"kind", "deadline"},
                      {"at", format_rfc3339(at)},
                      {"since", format_rfc3339(at - std::chrono::minutes(1))},
                      {"instance", id},
                      {"workflow", "near"},
                      {"state", "wait"},
                      {"causes", "end"},
                      {"ends", "failed"},
                      {"error", "direktiv.stateTimeout"}};
  Json found;
  for (const Json& one : shown.at("attention")) {
    if (one["kind"] == "deadline") found.push_back(one);
  }
  EXPECT_EQ(found, Json::array({expected}));
  EXPECT_EQ(shown.at("cut"), Json::array());
}

}  // namespace
}  // namespace millrace
