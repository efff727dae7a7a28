// Matcher: the meaning of an event filter. Both matchers must give the same result for each row of
// the tables.
#include "matchers/matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matchers/listener_index.h"
#include "matchers/naive_matcher.h"
#include "tests/unit/matchers/filter_maker.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class T>
class MatcherTest : public ::testing::Test {
 protected:
  Matcher::Handle add(const EventFilter& filter, uint64_t target, std::string_view ns = "default") {
    const Result<Matcher::Handle> handle = matcher_.add(ns, filter, target);
    EXPECT_TRUE(handle) << handle.error().message;
    return handle.value_or(Matcher::Handle{});
  }

  FoundTargets match(const Event& event, std::string_view ns = "default") {
    FoundTargets targets = {99};
    matcher_.match(ns, Attributes(event), targets);
    return targets;
  }

  T matcher_;
};

using Both = ::testing::Types<NaiveMatcher, ListenerIndex>;
TYPED_TEST_SUITE(MatcherTest, Both);

TYPED_TEST(MatcherTest, FindsAListenerIfEveryPredicateMatches) {
  struct Row {
    std::vector<Predicate> predicates;
    bool is_found;
  };
  for (const Row& row : std::initializer_list<Row>{
           {{}, true},
           {{equals("customer", "c7")}, true},
           {{equals("customer", "c")}, false},
           {{equals("customer", "C7")}, false},
           {{equals("subject", "order-42")}, true},
           {{equals("express", "true")}, true},
           {{equals("express", "1")}, false},
           {{equals("items", "-3")}, true},
           {{equals("items", "-3.0")}, false},
           {{equals("specversion", "1.0")}, true},
           {{equals("type", "order.paid")}, true},
           {{equals("id", "e1")}, true},
           {{equals("time", "2021-09-01T12:00:00Z")}, true},
           {{equals("time", "2021-09-01T12:00:00.000Z")}, false},
           {{equals("missing", "")}, false},
           {{equals("dataschema", "")}, false},
           {{equals("data", "")}, false},
           {{pattern("missing", ".*")}, false},
           {{pattern("missing", "^(?!x)")}, false},
           {{pattern("customer", "")}, true},
           {{pattern("customer", ".*")}, true},
           {{pattern("subject", "order")}, true},
           {{pattern("subject", "^order$")}, false},
           {{pattern("subject", "^order-42$")}, true},
           {{pattern("subject", "^order-4")}, true},
           {{pattern("subject", "-42$")}, true},
           {{pattern("subject", "^order-\\d+$")}, true},
           {{pattern("subject", "^order-(?!43)")}, true},
           {{pattern("items", "^-\\d$")}, true},
           {{pattern("source", "^https?://[^/]+/(eu|us)$")}, true},
           {{equals("customer", "c7"), pattern("subject", "order")}, true},
           {{equals("customer", "c7"), pattern("subject", "invoice")}, false},
           {{equals("customer", "c8"), pattern("subject", "order")}, false},
           {{pattern("subject", "order"), pattern("subject", "42")}, true},
           {{pattern("subject", "order"), pattern("subject", "43")}, false},
           {{equals("customer", "c7"), equals("customer", "c8")}, false},
           {{equals("customer", "c7"), pattern("customer", "^c7$")}, true},
           {{equals("customer", "c7"), equals("missing", "x")}, false},
       }) {
    const Matcher::Handle handle = this->add({"order.paid", row.predicates}, 1);
    std::string shown;
    for (const Predicate& predicate : row.predicates) {
      shown += predicate.attribute + " " + predicate.text + " ";
    }
    EXPECT_EQ(this->match(order_event()), row.is_found ? FoundTargets{1} : FoundTargets{}) << shown;
    this->matcher_.remove(handle);
    EXPECT_THAT(this->match(order_event()), IsEmpty()) << shown;
  }
}

TYPED_TEST(MatcherTest, ComparesTheTypeExactly) {
  this->add({"order", {}}, 1);
  this->add({"order.paid", {}}, 2);
  this->add({"order.paid ", {}}, 3);
  this->add({"order.*", {}}, 4);
  this->add({"Order.paid", {}}, 5);
  EXPECT_THAT(this->match(order_event()), ElementsAre(2));
}

TYPED_TEST(MatcherTest, FindsOnlyListenersOfTheNamespace) {
  this->add({"order.paid", {}}, 1, "a");
  this->add({"order.paid", {equals("customer", "c7")}}, 2, "b");
  EXPECT_THAT(this->match(order_event(), "a"), ElementsAre(1));
  EXPECT_THAT(this->match(order_event(), "b"), ElementsAre(2));
  EXPECT_THAT(this->match(order_event(), "c"), IsEmpty());
}

TYPED_TEST(MatcherTest, ReturnsTheTargetsInAscendingOrderOncePerListener) {
  this->add({"order.paid", {pattern("subject", "42")}}, 7);
  this->add({"order.paid", {}}, 9);
  this->add({"order.paid", {equals("customer", "c7"), equals("subject", "order-42")}}, 3);
  this->add({"order.paid", {equals("customer", "c7")}}, 9);
  this->add({"order.paid", {equals("customer", "other")}}, 1);
  EXPECT_THAT(this->match(order_event()), ElementsAre(3, 7, 9, 9));
}

TYPED_TEST(MatcherTest, AddsNothingOfAFilterWithAMalformedPattern) {
  const Result<Matcher::Handle> handle = this->matcher_.add(
      "default", {"order.paid", {equals("customer", "c7"), pattern("subject", "(a")}}, 1);
  ASSERT_FALSE(handle);
  EXPECT_EQ(handle.error().code, "pattern.malformed");
  EXPECT_THAT(handle.error().message, HasSubstr("attribute subject: pattern \"(a\": character 1"));
  EXPECT_THAT(this->match(order_event()), IsEmpty());
}

TYPED_TEST(MatcherTest, CountsPatternsThatRanOverTheLimit) {
  Event event = order_event();
  this->add({"order.paid", {pattern("subject", "^(?=(a+)+$)")}}, 1);
  EXPECT_THAT(this->match(event), IsEmpty());
  EXPECT_EQ(this->matcher_.over_limit(), 0u);
  event.subject = std::string(100, 'a') + "!";
  EXPECT_THAT(this->match(event), IsEmpty());
  EXPECT_EQ(this->matcher_.over_limit(), 1u);
}

}  // namespace
}  // namespace millrace
