// The values by which the wait index is asked for near misses of an event.
#include "orchestrator/service/why_probes.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::Contains;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> lines(const JudgedEvent& event, const WhyFilter& filter = {}) {
  std::vector<std::string> all;
  for (const auto& [attribute, value] : probes_of(event, filter)) {
    all.push_back(attribute + "=" + value);
  }
  return all;
}

TEST(WhyProbes, HaveTheVariantsOfTheValuesOfAnEvent) {
  Event event{.id = "e1", .source = "shop", .type = "paid", .subject = "A b"};
  event.extensions["orderid"] = std::string(" 007x");
  event.extensions["number"] = 42;
  event.data = R"({"customerId": "C-1", "count": 7, "orderid": "other", "deep": {"a": 1}})";
  const auto all = lines(JudgedEvent(event));
  for (const char* const one :
       {"orderid= 007x", "orderid=007x", "orderid= 007X", "number=42", "subject=A b", "subject=a b",
        "subject=A B", "customerid=C-1", "customerid=c-1", "count=7", "source=shop", "source=SHOP",
        "id=e1"}) {
    EXPECT_THAT(all, Contains(one));
  }
  EXPECT_THAT(all, Not(Contains("orderid=other"))) << "the event has the attribute";
  EXPECT_THAT(all, Not(Contains("type=paid")));
}

TEST(WhyProbes, LeaveOutLeadingZeros) {
  Event event{.id = "0012", .source = "shop", .type = "paid"};
  EXPECT_THAT(lines(JudgedEvent(event)), Contains("id=12"));
}

TEST(WhyProbes, HaveTyposOfTheSubjectAndOfExtensionsLast) {
  Event event{.id = "e-1301", .source = "shop", .type = "paid", .subject = "abcd"};
  event.extensions["orderid"] = std::string("A-1301");
  const auto all = lines(JudgedEvent(event));
  for (const char* const one : {"orderid=A-1031", "orderid=A-131", "subject=bacd"}) {
    EXPECT_THAT(all, Contains(one));
  }
  EXPECT_THAT(all, Not(Contains("id=e-1031")));
  EXPECT_LT(std::find(all.begin(), all.end(), "id=e-1301"),
            std::find(all.begin(), all.end(), "orderid=A-1031"));
}

TEST(WhyProbes, BeginWithWhatTheCallerExpectedAndAreBounded) {
  Event event{.id = "e1", .source = "shop", .type = "paid"};
  for (int i = 0; i < 100; ++i) event.extensions["a" + std::to_string(i)] = std::string("x");
  event.extensions["long"] = std::string(kMostOfAProbe + 1, 'x');
  const auto all = lines(JudgedEvent(event), {.attribute = "orderid", .value = "o-1"});
  EXPECT_EQ(all.front(), "orderid=o-1");
  EXPECT_THAT(all, SizeIs(kMostProbes));
}

}  // namespace
}  // namespace millrace
