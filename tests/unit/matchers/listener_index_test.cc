// ListenerIndex: properties of the index alone, and generated cases that compare the index with the
// naive matcher.
#include "matchers/listener_index.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matchers/naive_matcher.h"
#include "tests/support/cases.h"
#include "tests/unit/matchers/filter_maker.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ListenerIndex, SharesEqualPatternsAndRunsThemOncePerEvent) {
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
  FoundTargets targets;
  index.match("default", Attributes(event), targets);
  EXPECT_EQ(index.over_limit(), 1u);
  for (const Matcher::Handle handle : handles) index.remove(handle);
  EXPECT_EQ(index.pattern_count(), 0u);
  EXPECT_EQ(index.size(), 0u);
}

TEST(ListenerIndex, StoresAnEqualityForAPatternThatOnlyComparesText) {
  ListenerIndex index;
  const Matcher::Handle handle =
      *index.add("default", {"order.paid", {pattern("subject", "^order-(?:42)$")}}, 1);
  EXPECT_EQ(index.pattern_count(), 0u);
  FoundTargets targets;
  index.match("default", Attributes(order_event()), targets);
  EXPECT_THAT(targets, ElementsAre(1));
  index.remove(handle);
  index.match("default", Attributes(order_event()), targets);
  EXPECT_THAT(targets, IsEmpty());
}

/// Adds listeners with different patterns that backtrack; their targets are 0, 1, …
void add_backtracking(ListenerIndex& index, uint64_t count, const std::string& pattern_text) {
  for (uint64_t target = 0; target < count; ++target) {
    const std::string text = fmt::format("{}(?!x{})", pattern_text, target);
    ASSERT_TRUE(index.add("default", {"order.paid", {pattern("subject", text)}}, target));
  }
}

TEST(ListenerIndex, LeavesListenersUndecidedWhoseRunsTheBudgetDoesNotAllow) {
  ListenerIndex index;
  add_backtracking(index, 5, "^order");
  ASSERT_TRUE(index.add("default", {"order.paid", {pattern("subject", "42$")}}, 9));
  const Attributes event(order_event());
  FoundTargets targets;
  FoundTargets undecided = {99};
  index.match_within("default", event, {.steps = 3 * MatchBudget::kFirstRun}, targets, undecided);
  EXPECT_THAT(targets, ElementsAre(0, 1, 2, 9)) << "three runs take all steps";
  EXPECT_THAT(undecided, ElementsAre(3, 4));
  index.match_within("default", event, {}, targets, undecided);
  EXPECT_THAT(targets, ElementsAre(0, 1, 2, 3, 4, 9)) << "each event has a budget of its own";
  EXPECT_THAT(undecided, IsEmpty());
}

TEST(ListenerIndex, LeavesAListenerUndecidedWhosePatternAShortRunDoesNotDecide) {
  ListenerIndex index;
  ASSERT_TRUE(index.add("default", {"order.paid", {pattern("subject", "^(?=(a+)+$)")}}, 1));
  ASSERT_TRUE(index.add(
      "default", {"order.paid", {pattern("subject", "^(?=(a+)+$)"), equals("customer", "c7")}}, 2));
  ASSERT_TRUE(index.add(
      "default", {"order.paid", {pattern("subject", "^(?=(a+)+$)"), equals("customer", "c8")}}, 3));
  Event slow = order_event();
  slow.subject = std::string(100, 'a') + "!";
  FoundTargets targets;
  FoundTargets undecided;
  index.match_within("default", Attributes(slow), {}, targets, undecided);
  EXPECT_THAT(targets, IsEmpty());
  EXPECT_THAT(undecided, ElementsAre(1, 2)) << "another predicate excludes the third listener";
  EXPECT_EQ(index.over_limit(), 0u);
}

TEST(ListenerIndex, LeavesListenersUndecidedWhosePatternsWouldReadTooMuch) {
  ListenerIndex index;
  ASSERT_TRUE(index.add("default", {"order.paid", {pattern("subject", "^order-\\d+$")}}, 1));
  ASSERT_TRUE(index.add("default", {"order.paid", {pattern("subject", "^order-[a-z]+$")}}, 2));
  FoundTargets targets;
  FoundTargets undecided;
  const Attributes event(order_event());
  index.match_within("default", event, {.bytes = 100}, targets, undecided);
  EXPECT_THAT(targets, IsEmpty());
  EXPECT_THAT(undecided, ElementsAre(1, 2));
  index.match_within("default", event, {.bytes = 1'000}, targets, undecided);
  EXPECT_THAT(targets, ElementsAre(1));
  EXPECT_THAT(undecided, IsEmpty());
}

/// Generates filters and events of few types, names and values, so that they often match. The seed
/// determines the sequence.
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

  /// Makes similar values; many are longer than the longest gram (8 bytes).
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

// Each run matches 500 events; listeners are added and removed between the events.
TEST(ListenerIndex, MatchesAsTheNaiveMatcherDoes) {
  constexpr size_t kEvents = 500;
  const size_t runs = cases(20'000) / kEvents;
  size_t matches = 0;
  for (uint32_t seed = 1; seed <= runs; ++seed) {
    Generator generator(seed);
    NaiveMatcher naive;
    ListenerIndex index;
    std::vector<std::pair<Matcher::Handle, Matcher::Handle>> present;
    uint64_t next_target = 0;
    for (size_t step = 0; step < kEvents; ++step) {
      for (uint32_t change = generator.below(4); change > 0; --change) {
        if (generator.below(80) < present.size()) {
          const uint32_t removed = generator.below(static_cast<uint32_t>(present.size()));
          naive.remove(present[removed].first);
          index.remove(present[removed].second);
          present[removed] = present.back();
          present.pop_back();
        } else {
          const std::string ns = generator.ns();
          const EventFilter filter = generator.filter();
          const uint64_t target = next_target++ * 7919 % 1000;
          present.emplace_back(*naive.add(ns, filter, target), *index.add(ns, filter, target));
        }
      }
      const std::string ns = generator.ns();
      const Attributes event(generator.event());
      FoundTargets expected;
      FoundTargets actual;
      naive.match(ns, event, expected);
      index.match(ns, event, actual);
      ASSERT_EQ(actual, expected) << "seed " << seed << ", step " << step;
      matches += expected.size();

      // Within a budget, each target is decided as without one, or is undecided.
      FoundTargets undecided;
      const MatchBudget budget{
          .short_run = 20, .steps = 20 * generator.below(4), .bytes = 100 * generator.below(10)};
      index.match_within(ns, event, budget, actual, undecided);
      ASSERT_TRUE(std::includes(expected.begin(), expected.end(), actual.begin(), actual.end()))
          << "seed " << seed << ", step " << step;
      FoundTargets either = actual;
      either.insert(either.end(), undecided.begin(), undecided.end());
      std::sort(either.begin(), either.end());
      ASSERT_TRUE(std::includes(either.begin(), either.end(), expected.begin(), expected.end()))
          << "seed " << seed << ", step " << step;
    }
    for (const auto& [in_naive, in_index] : present) index.remove(in_index);
    ASSERT_EQ(index.size(), 0u) << "seed " << seed;
    ASSERT_EQ(index.pattern_count(), 0u) << "seed " << seed;
  }
  EXPECT_GT(matches, runs * kEvents) << "too few generated events match a listener";
}

TEST(ListenerIndex, FindsListenersAfterManyWereAddedAndRemoved) {
  ListenerIndex index;
  std::map<uint64_t, Matcher::Handle> present;
  const auto filter_of = [](uint64_t order) {
    return EventFilter{"order.paid",
                       {equals("customer", "c7"), equals("subject", "o" + std::to_string(order))}};
  };
  Event event = order_event();
  FoundTargets targets;
  for (uint64_t order = 0; order < 5000; ++order) {
    present[order] = *index.add("default", filter_of(order), order);
  }
  for (uint64_t order = 0; order < 5000; order += 2) {
    index.remove(present.at(order));
    present.erase(order);
  }
  for (uint64_t order = 5000; order < 12000; ++order) {
    present[order] = *index.add("default", filter_of(order), order);
  }
  EXPECT_EQ(index.size(), present.size());
  for (uint64_t order = 0; order < 12000; ++order) {
    event.subject = "o" + std::to_string(order);
    index.match("default", Attributes(event), targets);
    ASSERT_EQ(targets, present.contains(order) ? FoundTargets{order} : FoundTargets{}) << order;
  }
}

/// The targets that a probe finds, with enough steps, each once.
FoundTargets filed(const ListenerIndex& index, const std::string& attribute,
                   const std::string& value, size_t steps = 1'000) {
  FoundTargets targets;
  index.find_filed("default", "order.paid", {attribute, value}, steps, targets);
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

TEST(ListenerIndex, FindsListenersByOneValueWhateverTheirOtherPredicatesAre) {
  ListenerIndex index;
  const auto add = [&](uint64_t target, std::vector<Predicate> predicates,
                       std::string type = "order.paid") {
    ASSERT_TRUE(index.add("default", {std::move(type), std::move(predicates)}, target));
  };
  add(1, {equals("customer", "c7"), pattern("source", "^shop[0-9]")});
  add(2, {equals("customer", "c7")});
  add(3, {equals("customer", "C7")});
  add(4, {pattern("customer", "c7")});
  add(5, {pattern("customer", "^c")});
  add(6, {pattern("customer", "-eu$")});
  add(7, {pattern("customer", "^c[0-9]+$")});
  add(8, {});
  add(9, {equals("customer", "c7")}, "order.sent");
  EXPECT_THAT(filed(index, "customer", "c7"), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(filed(index, "customer", "C7"), ElementsAre(3));
  EXPECT_THAT(filed(index, "customer", "c8-eu"), ElementsAre(5, 6));
  EXPECT_THAT(filed(index, "customer", "c7-c7"), ElementsAre(4, 5));
  EXPECT_THAT(filed(index, "customer", ""), IsEmpty());
  EXPECT_THAT(filed(index, "region", "c7"), IsEmpty());
  EXPECT_EQ(index.count("default", "order.paid"), 8U);
  EXPECT_EQ(index.count("default", "order.sent"), 1U);
  EXPECT_EQ(index.count("default", "order.lost"), 0U);
  EXPECT_EQ(index.count("other", "order.paid"), 0U);
}

TEST(ListenerIndex, FindsTheNewestListenersWithinTheSteps) {
  ListenerIndex index;
  for (uint64_t target = 1; target <= 9; ++target) {
    ASSERT_TRUE(index.add("default", {"order.paid", {equals("customer", "c7")}}, target));
  }
  EXPECT_THAT(filed(index, "customer", "c7", 3), ElementsAre(7, 8, 9));
  EXPECT_THAT(filed(index, "customer", "c7", 0), IsEmpty());
}

TEST(ListenerIndex, TakesAStepForEachTextThatItLooksAt) {
  ListenerIndex index;
  for (uint64_t target = 0; target < 50; ++target) {
    ASSERT_TRUE(index.add(
        "default", {"order.paid", {pattern("customer", fmt::format("^c{:02}", target))}}, target));
  }
  FoundTargets targets;
  size_t steps = 20;
  index.find_filed("default", "order.paid", {"customer", std::string(1'000, 'c')}, steps, targets);
  EXPECT_EQ(steps, 0U);
  EXPECT_THAT(targets, IsEmpty());
  EXPECT_THAT(filed(index, "customer", "c49"), ElementsAre(49));
}

TEST(ListenerIndex, TakesStepsForManyAttributesOfAType) {
  ListenerIndex index;
  for (uint64_t target = 0; target < 640; ++target) {
    const std::string attribute = fmt::format("a{}", target);
    ASSERT_TRUE(index.add("default", {"order.paid", {equals(attribute, "x")}}, target));
  }
  FoundTargets targets;
  size_t steps = 15;
  index.find_filed("default", "order.paid", {"a639", "y"}, steps, targets);
  EXPECT_EQ(steps, 5U);
  EXPECT_THAT(filed(index, "a639", "x"), ElementsAre(639));
}

/// The targets of the listeners that ask for the value, each once; nullopt: there may be others.
std::optional<FoundTargets> asking(const ListenerIndex& index, const std::string& type,
                                   const std::string& attribute, const std::string& value,
                                   size_t steps = 1'000) {
  FoundTargets targets;
  if (!index.find_asking("default", type, {attribute, value}, steps, targets)) return std::nullopt;
  std::sort(targets.begin(), targets.end());
  return targets;
}

TEST(ListenerIndex, KnowsWhetherItFindsAllListenersThatAskForAValue) {
  ListenerIndex index;
  const auto add = [&](uint64_t target, const std::string& type,
                       std::vector<Predicate> predicates) {
    return *index.add("default", {type, std::move(predicates)}, target);
  };
  add(1, "paid", {equals("customer", "c7")});
  add(2, "paid", {pattern("customer", "^c")});
  add(3, "sent", {equals("customer", "c7")});
  add(4, "sent", {});
  ASSERT_TRUE(index.add("other", {"paid", {equals("customer", "c7")}}, 5));
  EXPECT_EQ(asking(index, "paid", "customer", "c7"), (FoundTargets{1, 2}));
  EXPECT_EQ(asking(index, "sent", "customer", "c7"), FoundTargets{3});
  EXPECT_EQ(asking(index, "", "customer", "c7"), (FoundTargets{1, 2, 3}));
  EXPECT_EQ(asking(index, "", "customer", "c8"), FoundTargets{2});
  EXPECT_EQ(asking(index, "", "region", "eu"), FoundTargets{}) << "nothing asks for the attribute";
  EXPECT_EQ(asking(index, "lost", "customer", "c7"), FoundTargets{});
  EXPECT_EQ(asking(index, "paid", "customer", "c7", 1), std::nullopt) << "too few steps";
  EXPECT_EQ(asking(index, "", "customer", "c7", 2), std::nullopt) << "too few steps";

  const auto regular = add(6, "paid", {pattern("customer", "^c[0-9]+$")});
  EXPECT_EQ(asking(index, "paid", "customer", "c7"), std::nullopt);
  EXPECT_EQ(asking(index, "", "customer", "c7"), std::nullopt);
  EXPECT_EQ(asking(index, "sent", "customer", "c7"), FoundTargets{3});
  index.remove(regular);
  EXPECT_EQ(asking(index, "paid", "customer", "c7"), (FoundTargets{1, 2}));

  // The equality with the smaller group is the key.
  const auto first = add(7, "sent", {equals("customer", "c7"), equals("order", "o-1742")});
  const auto second = add(8, "sent", {equals("order", "o-1743"), equals("customer", "c7")});
  EXPECT_EQ(asking(index, "sent", "order", "o-1743"), FoundTargets{8});
  EXPECT_EQ(asking(index, "sent", "customer", "c7"), std::nullopt);
  index.remove(first);
  EXPECT_EQ(asking(index, "sent", "customer", "c7"), std::nullopt);
  index.remove(second);
  EXPECT_EQ(asking(index, "sent", "customer", "c7"), FoundTargets{3});
}

}  // namespace
}  // namespace millrace
