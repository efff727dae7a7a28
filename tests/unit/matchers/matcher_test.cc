// The meaning of a filter as rows that both matchers must answer alike, then generated cases that
// hold the index to the naive matcher.
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matchers/listener_index.h"
#include "matchers/naive_matcher.h"
#include "tests/support/cases.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Targets = std::vector<uint64_t>;

Predicate equals(std::string attribute, std::string text) {
  return {std::move(attribute), Predicate::Kind::kEquals, std::move(text)};
}

Predicate pattern(std::string attribute, std::string text) {
  return {std::move(attribute), Predicate::Kind::kPattern, std::move(text)};
}

Event order_event() {
  return {.id = "e1",
          .source = "https://shop.example/eu",
          .type = "order.paid",
          .subject = "order-42",
          .time = "2021-09-01T12:00:00Z",
          .extensions = {{"customer", std::string("c7")}, {"express", true}, {"items", -3}}};
}

template <class T>
class Matchers : public ::testing::Test {
 protected:
  Matcher::Handle add(const EventFilter& filter, uint64_t target, std::string_view ns = "default") {
    const Result<Matcher::Handle> handle = matcher_.add(ns, filter, target);
    EXPECT_TRUE(handle) << handle.error().message;
    return handle.value_or(Matcher::Handle{});
  }

  Targets match(const Event& event, std::string_view ns = "default") {
    Targets targets = {99};
    matcher_.match(ns, Attributes(event), targets);
    return targets;
  }

  T matcher_;
};

using Both = ::testing::Types<NaiveMatcher, ListenerIndex>;
TYPED_TEST_SUITE(Matchers, Both);

TYPED_TEST(Matchers, HoldAFilterAgainstAnEvent) {
  struct Row {
    std::vector<Predicate> predicates;
    bool concerns;
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
    EXPECT_EQ(this->match(order_event()), row.concerns ? Targets{1} : Targets{}) << shown;
    this->matcher_.remove(handle);
    EXPECT_THAT(this->match(order_event()), IsEmpty()) << shown;
  }
}

TYPED_TEST(Matchers, CompareTheTypeExactly) {
  this->add({"order", {}}, 1);
  this->add({"order.paid", {}}, 2);
  this->add({"order.paid ", {}}, 3);
  this->add({"order.*", {}}, 4);
  this->add({"Order.paid", {}}, 5);
  EXPECT_THAT(this->match(order_event()), ElementsAre(2));
}

TYPED_TEST(Matchers, KeepNamespacesApart) {
  this->add({"order.paid", {}}, 1, "a");
  this->add({"order.paid", {equals("customer", "c7")}}, 2, "b");
  EXPECT_THAT(this->match(order_event(), "a"), ElementsAre(1));
  EXPECT_THAT(this->match(order_event(), "b"), ElementsAre(2));
  EXPECT_THAT(this->match(order_event(), "c"), IsEmpty());
}

TYPED_TEST(Matchers, GiveTheTargetsInAscendingOrderOncePerListener) {
  this->add({"order.paid", {pattern("subject", "42")}}, 7);
  this->add({"order.paid", {}}, 9);
  this->add({"order.paid", {equals("customer", "c7"), equals("subject", "order-42")}}, 3);
  this->add({"order.paid", {equals("customer", "c7")}}, 9);
  this->add({"order.paid", {equals("customer", "other")}}, 1);
  EXPECT_THAT(this->match(order_event()), ElementsAre(3, 7, 9, 9));
}

TYPED_TEST(Matchers, AddNothingOfAFilterWithAMalformedPattern) {
  const Result<Matcher::Handle> handle = this->matcher_.add(
      "default", {"order.paid", {equals("customer", "c7"), pattern("subject", "(a")}}, 1);
  ASSERT_FALSE(handle);
  EXPECT_EQ(handle.error().code, "pattern.malformed");
  EXPECT_THAT(handle.error().message, HasSubstr("attribute subject: pattern \"(a\": character 1"));
  EXPECT_THAT(this->match(order_event()), IsEmpty());
}

TYPED_TEST(Matchers, CountWhatRanOverTheLimit) {
  Event event = order_event();
  this->add({"order.paid", {pattern("subject", "^(?=(a+)+$)")}}, 1);
  EXPECT_THAT(this->match(event), IsEmpty());
  EXPECT_EQ(this->matcher_.over_limit(), 0u);
  event.subject = std::string(100, 'a') + "!";
  EXPECT_THAT(this->match(event), IsEmpty());
  EXPECT_EQ(this->matcher_.over_limit(), 1u);
}

TEST(ListenerIndexes, ShareEqualPatternsAndRunThemOncePerEvent) {
  ListenerIndex index;
  std::vector<Matcher::Handle> handles;
  for (uint64_t target = 0; target < 50; ++target) {
    std::vector<Predicate> predicates = {pattern("subject", "^(?=(a+)+$)")};
    if (target % 2 == 0) predicates.push_back(equals("customer", "c7"));
    handles.push_back(*index.add("default", {"order.paid", predicates}, target));
  }
  EXPECT_EQ(index.pattern_count(), 1u);
  Event event = order_event();
  event.subject = std::string(100, 'a') + "!";
  Targets targets;
  index.match("default", Attributes(event), targets);
  EXPECT_EQ(index.over_limit(), 1u);
  for (const Matcher::Handle handle : handles) index.remove(handle);
  EXPECT_EQ(index.pattern_count(), 0u);
  EXPECT_EQ(index.size(), 0u);
}

TEST(ListenerIndexes, KeepNoPatternForWhatIsAnEquality) {
  ListenerIndex index;
  const Matcher::Handle handle =
      *index.add("default", {"order.paid", {pattern("subject", "^order-(?:42)$")}}, 1);
  EXPECT_EQ(index.pattern_count(), 0u);
  Targets targets;
  index.match("default", Attributes(order_event()), targets);
  EXPECT_THAT(targets, ElementsAre(1));
  index.remove(handle);
  index.match("default", Attributes(order_event()), targets);
  EXPECT_THAT(targets, IsEmpty());
}

/// Few types, names and values, so that listeners and events meet; a run is named by its seed.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t bound) { return random_() % bound; }

  std::string ns() { return below(5) == 0 ? "other" : "default"; }
  std::string type() { return pick({"t", "u", "t.u"}); }
  std::string value() {
    std::string text;
    for (uint32_t size = below(4); size > 0; --size) text += pick({"a", "b", "1", "-", "ä", "\n"});
    if (below(12) == 0) text += std::string(50, 'a');
    if (below(3) == 0) text += id();
    return text;
  }

  /// Longer than a gram, and much alike.
  std::string id() {
    return pick({"order-", "o", ""}) + std::string(below(12), '0') + std::to_string(below(30)) +
           pick({"", "", "-eu", "-us"});
  }

  Predicate predicate() {
    const std::string name = pick({"subject", "source", "x", "y", "n", "flag", "type"});
    switch (below(4)) {
      case 0:
        return equals(name, pick({"true", "1", "-1", "t", "u"}));
      case 1:
        return equals(name, value());
      case 2:
        return pattern(name, pick({"^", "^", "", "", "b"}) + quote_pattern(value()) +
                                 pick({"$", "$", "", "", "+"}));
      default:
        return pattern(name, pick({"",     ".*",      "^.*$",   "a",     "^a",     "a$",
                                   "^a$",  "^[ab]+$", "\\d",    "^-?1$", "(?!a)b", "^(.)\\1*$",
                                   "^$",   "true|t",  "\\bä?a", "0{3,}", "[1-3]$", "^order-0*[12]",
                                   "\\B1", "e[^s]$"}));
    }
  }

  EventFilter filter() {
    EventFilter filter{type(), {}};
    for (uint32_t count = below(4); count > 0; --count) filter.predicates.push_back(predicate());
    return filter;
  }

  Event event() {
    Event event{.id = "e", .source = value(), .type = type()};
    if (below(2) == 0) event.subject = value();
    if (below(2) == 0) event.extensions["x"] = value();
    if (below(2) == 0) event.extensions["y"] = id();
    if (below(2) == 0) event.extensions["n"] = static_cast<int32_t>(below(3)) - 1;
    if (below(2) == 0) event.extensions["flag"] = below(2) == 0;
    return event;
  }

 private:
  std::string pick(std::initializer_list<const char*> texts) {
    return *(texts.begin() + below(static_cast<uint32_t>(texts.size())));
  }

  std::mt19937 random_;
};

// Runs of 500 events; between events listeners come and go.
TEST(ListenerIndexes, AnswerAsTheNaiveMatcherDoes) {
  constexpr size_t kEvents = 500;
  const size_t runs = cases(20'000) / kEvents;
  size_t answers = 0;
  for (uint32_t seed = 1; seed <= runs; ++seed) {
    Generator generator(seed);
    NaiveMatcher naive;
    ListenerIndex index;
    std::vector<std::pair<Matcher::Handle, Matcher::Handle>> there;
    uint64_t next_target = 0;
    for (size_t step = 0; step < kEvents; ++step) {
      for (uint32_t change = generator.below(4); change > 0; --change) {
        if (generator.below(80) < there.size()) {
          const uint32_t gone = generator.below(static_cast<uint32_t>(there.size()));
          naive.remove(there[gone].first);
          index.remove(there[gone].second);
          there[gone] = there.back();
          there.pop_back();
        } else {
          const std::string ns = generator.ns();
          const EventFilter filter = generator.filter();
          const uint64_t target = next_target++ * 7919 % 1000;
          there.emplace_back(*naive.add(ns, filter, target), *index.add(ns, filter, target));
        }
      }
      const std::string ns = generator.ns();
      const Attributes event(generator.event());
      Targets expected;
      Targets actual;
      naive.match(ns, event, expected);
      index.match(ns, event, actual);
      ASSERT_EQ(actual, expected) << "seed " << seed << ", step " << step;
      answers += expected.size();
    }
    for (const auto& [in_naive, in_index] : there) index.remove(in_index);
    ASSERT_EQ(index.size(), 0u) << "seed " << seed;
    ASSERT_EQ(index.pattern_count(), 0u) << "seed " << seed;
  }
  EXPECT_GT(answers, runs * kEvents) << "the generated listeners and events must meet";
}

TEST(ListenerIndexes, SurviveManyComingsAndGoings) {
  ListenerIndex index;
  std::map<uint64_t, Matcher::Handle> there;
  const auto filter_of = [](uint64_t order) {
    return EventFilter{"order.paid",
                       {equals("customer", "c7"), equals("subject", "o" + std::to_string(order))}};
  };
  Event event = order_event();
  Targets targets;
  for (uint64_t order = 0; order < 5000; ++order) {
    there[order] = *index.add("default", filter_of(order), order);
  }
  for (uint64_t order = 0; order < 5000; order += 2) {
    index.remove(there.at(order));
    there.erase(order);
  }
  for (uint64_t order = 5000; order < 12000; ++order) {
    there[order] = *index.add("default", filter_of(order), order);
  }
  EXPECT_EQ(index.size(), there.size());
  for (uint64_t order = 0; order < 12000; ++order) {
    event.subject = "o" + std::to_string(order);
    index.match("default", Attributes(event), targets);
    ASSERT_EQ(targets, there.contains(order) ? Targets{order} : Targets{}) << order;
  }
}

}  // namespace
}  // namespace millrace
