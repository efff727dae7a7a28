// The verdict on one listener, by its predicates and by what is known about it and the event.
#include "orchestrator/why/verdict.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "matchers/naive_matcher.h"
#include "tests/unit/why/situations.h"

namespace millrace {
namespace {

constexpr EventPosition at(uint64_t sequence, uint32_t stream = 1) { return {stream, sequence}; }

FilterResult judged(std::vector<Predicate> predicates, const JudgedEvent& event) {
  JudgedPatterns patterns;
  FilterResult result =
      judge({.type = "paid", .predicates = std::move(predicates)}, event, patterns);
  add_hints(result, event, patterns);
  return result;
}

FilterResult holding() { return judged({is("orderid", "o-1")}, paid({{"orderid", "o-1"}})); }
FilterResult failing() { return judged({is("orderid", "o-1")}, paid({{"orderid", "o-2"}})); }
/// A pattern that needs more steps for this value than it may make.
FilterResult over_limit() {
  std::string value(201, 'a');
  value.back() = '!';
  return judged({like("orderid", "^(?=(a+)+$)")}, paid({{"orderid", value}}));
}

TEST(Verdict, SaysWhatHappenedAndWhy) {
  struct Row {
    std::string what;
    FilterResult result;
    Circumstances about;
    std::string verdict;
  };
  const Row rows[] = {
      // What is stored.
      {"woken", holding(), {.event = at(5), .applied = at(9), .effect = Verdict::kWoke}, "woke"},
      {"started",
       holding(),
       {.event = at(5), .applied = at(9), .is_start = true, .effect = Verdict::kStarted},
       "started"},
      {"grouped",
       holding(),
       {.event = at(5), .applied = at(9), .is_start = true, .effect = Verdict::kGrouped},
       "grouped"},
      {"skipped, stored",
       holding(),
       {.event = at(5), .applied = at(9), .is_start = true, .effect = Verdict::kSkipped},
       "skipped"},
      {"no correlation, stored",
       holding(),
       {.event = at(5), .applied = at(9), .is_start = true, .effect = Verdict::kCorrelation},
       "correlation"},
      {"left a group",
       holding(),
       {.event = at(5), .applied = at(9), .is_start = true, .effect = Verdict::kLifespan},
       "lifespan"},
      {"a dead letter",
       failing(),
       {.event = at(5), .applied = at(9), .effect = Verdict::kDead},
       "dead"},
      {"ended before the event",
       holding(),
       {.event = at(5), .applied = at(9), .effect = Verdict::kAfter},
       "after"},
      {"woken, though it waits for another value by now",
       failing(),
       {.event = at(5), .applied = at(9), .effect = Verdict::kWoke},
       "woke"},
      // Predicates.
      {"another value", failing(), {.event = at(5), .applied = at(9)}, "predicate"},
      {"another value, not applied", failing(), {.event = at(10), .applied = at(9)}, "predicate"},
      {"another value, too early",
       failing(),
       {.event = at(5), .applied = at(9), .listens_from = at(7)},
       "predicate"},
      {"another value, of a test event", failing(), {.applied = at(9)}, "predicate"},
      {"the limit of a pattern", over_limit(), {.event = at(5), .applied = at(9)}, "limit"},
      {"for another listener", holding(), {.applied = at(9), .is_for_others = true}, "predicate"},
      {"for another listener, and the limit of a pattern",
       over_limit(),
       {.applied = at(9), .is_for_others = true},
       "predicate"},
      // Time.
      {"not applied", holding(), {.event = at(10), .applied = at(9)}, "unread"},
      {"of a newer stream", holding(), {.event = at(1, 2), .applied = at(9)}, "unread"},
      {"the last one before the wait",
       holding(),
       {.event = at(5), .applied = at(9), .listens_from = at(5)},
       "before"},
      {"long before the wait",
       holding(),
       {.event = at(2), .applied = at(9), .listens_from = at(5)},
       "before"},
      {"of an older stream",
       holding(),
       {.event = at(8, 1), .applied = at(9, 2), .listens_from = at(1, 2)},
       "before"},
      {"the first one of the wait, whose turn has not come",
       holding(),
       {.event = at(6), .applied = at(9), .listens_from = at(5)},
       "unread"},
      {"before the definition was applied",
       holding(),
       {.event = at(5), .applied = at(9), .is_start = true, .is_newer = true},
       "before"},
      {"not applied, and before the definition",
       holding(),
       {.event = at(10), .applied = at(9), .is_start = true, .is_newer = true},
       "unread"},
      // Events that are known.
      {"a duplicate",
       holding(),
       {.event = at(6), .applied = at(9), .listens_from = at(5), .is_duplicate = true},
       "duplicate"},
      {"in the window of a state that looks back, and not taken",
       holding(),
       {.event = at(5), .applied = at(9), .listens_from = at(7), .is_early = true},
       "before"},
      {"in the window of a state that looks back, and known from another event",
       holding(),
       {.event = at(5),
        .applied = at(9),
        .listens_from = at(7),
        .is_early = true,
        .is_duplicate = true},
       "duplicate"},
      {"a duplicate before the wait",
       holding(),
       {.event = at(5), .applied = at(9), .listens_from = at(5), .is_duplicate = true},
       "before"},
      {"a duplicate with another value",
       failing(),
       {.event = at(6), .applied = at(9), .is_duplicate = true},
       "predicate"},
      {"a duplicate that is not sent",
       holding(),
       {.applied = at(9), .is_duplicate = true},
       "duplicate"},
      // Test events.
      {"would wake", holding(), {.applied = at(9), .listens_from = at(9)}, "woke"},
      {"would fill one entry", holding(), {.applied = at(9), .needs_others = true}, "filled"},
      {"would be taken by a paused instance",
       holding(),
       {.applied = at(9), .is_paused = true},
       "paused"},
      {"would start", holding(), {.applied = at(9), .is_start = true}, "started"},
      {"would wait in a group",
       holding(),
       {.applied = at(9), .is_start = true, .needs_others = true},
       "grouped"},
      {"would complete a group", holding(), {.applied = at(9), .is_start = true}, "started"},
      {"would be skipped",
       holding(),
       {.applied = at(9), .is_start = true, .limited = Verdict::kSkipped},
       "skipped"},
      {"would be over the rate",
       holding(),
       {.applied = at(9), .is_start = true, .limited = Verdict::kRateLimit},
       "rateLimit"},
      {"would be put off",
       holding(),
       {.applied = at(9), .is_start = true, .limited = Verdict::kDebounced},
       "debounced"},
      {"would be put into a batch",
       holding(),
       {.applied = at(9), .is_start = true, .limited = Verdict::kBatched},
       "batched"},
      {"would lack the correlation",
       holding(),
       {.applied = at(9), .is_start = true, .needs_others = true, .lacks_correlation = true},
       "correlation"},
      {"the limit of a pattern, of a test event", over_limit(), {.applied = at(9)}, "limit"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(to_string(decide_verdict(row.result, row.about)), row.verdict) << row.what;
  }
}

TEST(Verdict, JudgesEachPredicateAsTheNaiveMatcherDoes) {
  struct Row {
    std::vector<Predicate> predicates;
    JudgedEvent event;
  };
  const Row rows[] = {
      {{}, paid({})},
      {{is("orderid", "o-1")}, paid({{"orderid", "o-1"}})},
      {{is("orderid", "o-1")}, paid({{"orderid", "O-1"}})},
      {{is("orderid", "o-1")}, paid({})},
      {{is("orderid", "")}, paid({})},
      {{like("source", "^bank\\."), is("orderid", "o-1")}, paid({{"orderid", "o-1"}})},
      {{like("source", "^bank\\."), is("orderid", "o-1")}, paid({{"orderid", "o-2"}})},
      {{like("source", "shop"), is("orderid", "o-1")}, paid({{"orderid", "o-1"}})},
      {{like("orderid", "[0-9]{3}")}, paid({{"orderid", "o-123"}})},
      {{like("orderid", "^(?=(a+)+$)")}, paid({{"orderid", std::string(200, 'a') + "!"}})},
      {{like("orderid", "(?=o)o-1")}, paid({{"orderid", "o-1"}})},
      {{is("specversion", "1.0")}, paid({})},
  };
  for (const Row& row : rows) {
    NaiveMatcher matcher;
    const EventFilter filter{.type = "paid", .predicates = row.predicates};
    ASSERT_TRUE(matcher.add("default", filter, 7));
    std::vector<uint64_t> targets;
    matcher.match("default", row.event.attributes, targets);
    EXPECT_EQ(judged(row.predicates, row.event).failing() == 0, !targets.empty())
        << testing::PrintToString(row.predicates.size()) << " predicates";
  }
}

TEST(Verdict, ShowsWhatTheEventHasForEachPredicate) {
  const FilterResult result = judged(
      {like("source", "^bank"), is("orderid", "o-1"), is("shop", "s")}, paid({{"orderid", "O-1"}}));
  ASSERT_EQ(result.predicates.size(), 3U);
  EXPECT_TRUE(result.predicates[0].holds);
  EXPECT_EQ(result.predicates[0].got, "bank.eu");
  EXPECT_FALSE(result.predicates[0].hint);
  EXPECT_FALSE(result.predicates[1].holds);
  EXPECT_EQ(result.predicates[1].got, "O-1");
  EXPECT_EQ(result.predicates[1].hint, (Hint{Hint::Kind::kCase, ""}));
  EXPECT_FALSE(result.predicates[2].holds);
  EXPECT_EQ(result.predicates[2].got, std::nullopt);
  EXPECT_EQ(result.failing(), 2U);
  EXPECT_EQ(result.hints(), 1U);
  EXPECT_FALSE(result.is_over_limit());
}

TEST(Verdict, ATextThatIsNoPatternMatchesNothing) {
  const FilterResult result = judged({like("source", "(")}, paid({}));
  EXPECT_EQ(result.failing(), 1U);
}

TEST(Verdict, NamesWhatExcludesAListener) {
  EXPECT_EQ(excluded_by(failing()), "`orderid` has another value");
  EXPECT_EQ(excluded_by(judged({is("orderid", "o-1")}, paid({}))), "`orderid` is missing");
  EXPECT_EQ(excluded_by(judged({like("source", "^shop")}, paid({}))), "`source` does not match");
  EXPECT_EQ(excluded_by(over_limit()), "the pattern for `orderid` reached its limit");
  EXPECT_EQ(excluded_by(judged({like("source", "^bank"), is("a", "1"), is("b", "1")}, paid({}))),
            "`a` is missing");
}

TEST(Verdict, OrdersTheNearestFirst) {
  struct Listener {
    std::string name;
    Verdict verdict;
    FilterResult result;
  };
  const JudgedEvent event = paid({{"orderid", "O-1"}});
  std::vector<Listener> listeners = {
      {"two fail", Verdict::kPredicate, judged({is("orderid", "x"), is("shop", "s")}, event)},
      {"one fails", Verdict::kPredicate, judged({is("orderid", "x")}, event)},
      {"one fails with a hint", Verdict::kPredicate, judged({is("orderid", "o-1")}, event)},
      {"too early", Verdict::kBefore, holding()},
      {"woken", Verdict::kWoke, failing()},
  };
  std::stable_sort(listeners.begin(), listeners.end(), [](const Listener& a, const Listener& b) {
    return is_nearer(a.verdict, a.result, b.verdict, b.result);
  });
  std::string order;
  for (const Listener& one : listeners) order += one.name + "; ";
  EXPECT_EQ(order, "woken; too early; one fails with a hint; one fails; two fail; ");
}

TEST(Verdict, HasANameForEach) {
  std::string names;
  for (const std::string_view name : verdict_names()) names += std::string(name) + " ";
  EXPECT_EQ(names,
            "woke started filled grouped predicate before after unread duplicate paused skipped "
            "correlation lifespan limit dead rateLimit debounced batched ");
  EXPECT_EQ(verdict_names().size(), static_cast<size_t>(Verdict::kBatched) + 1);
  EXPECT_EQ(to_string(Verdict::kDead), "dead");
}

TEST(Verdict, KnowsWhichAreEffects) {
  EXPECT_TRUE(is_effect(Verdict::kWoke));
  EXPECT_TRUE(is_effect(Verdict::kGrouped));
  EXPECT_TRUE(is_effect(Verdict::kPaused));
  EXPECT_FALSE(is_effect(Verdict::kPredicate));
  EXPECT_FALSE(is_effect(Verdict::kSkipped));
  EXPECT_FALSE(is_effect(Verdict::kDead));
  EXPECT_FALSE(is_effect(Verdict::kRateLimit));
  EXPECT_TRUE(is_effect(Verdict::kDebounced));
  EXPECT_TRUE(is_effect(Verdict::kBatched));
}

}  // namespace
}  // namespace millrace
