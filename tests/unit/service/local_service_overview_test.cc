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

}  // namespace
}  // namespace millrace
