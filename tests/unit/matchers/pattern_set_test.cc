// PatternSet: a set of patterns gives the same results as each of its patterns alone.
#include "matchers/pattern_set.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Ids = std::vector<uint32_t>;

/// A set, and the same patterns alone.
class PatternSetTest : public ::testing::Test {
 protected:
  void add(uint32_t id, std::string_view text) {
    const auto pattern = Pattern::compile(text);
    ASSERT_TRUE(pattern) << pattern.error().message;
    ASSERT_EQ((*pattern)->kind(), Pattern::Kind::kLinear) << text;
    patterns_[id] = *pattern;
    set_.add(id, *pattern);
  }

  void remove(uint32_t id) {
    patterns_.erase(id);
    set_.remove(id);
  }

  Ids match(std::string_view value) {
    Ids ids;
    MatchBudget budget = MatchBudget::unlimited();
    EXPECT_TRUE(set_.match(value, budget, ids));
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  Ids alone(std::string_view value) const {
    Ids ids;
    for (const auto& [id, pattern] : patterns_) {
      if (pattern->matches(value)) ids.push_back(id);
    }
    return ids;
  }

  PatternSet set_;
  std::map<uint32_t, std::shared_ptr<const Pattern>> patterns_;
};

TEST_F(PatternSetTest, MatchesLikeEachPatternAloneWhilePatternsAreAddedAndRemoved) {
  std::mt19937 random(1);
  const std::vector<std::string> texts = {
      "^[ab]+$", "\\d",   "[^a]b?c", "^-?1$",    "a|b",  "0{3,}",     "\\b1", "\\B1\\B",
      "^.*\\n",  "[ä-ü]", "a.c",     "^(a|1)*$", "\\s$", "^[]?$|ab+", "[^]1", "c$|^1"};
  const auto value = [&] {
    std::string text;
    for (size_t size = random() % 8; size > 0; --size) {
      text += std::vector<std::string>{"a", "b", "c", "1", "0", "ä", "\n", " "}[random() % 8];
    }
    return text;
  };
  uint32_t next = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 100 == 0 && patterns_.size() < 30) add(next++, texts[random() % texts.size()]);
    if (random() % 300 == 0 && !patterns_.empty()) {
      remove(
          std::next(patterns_.begin(), static_cast<ptrdiff_t>(random() % patterns_.size()))->first);
    }
    const std::string text = value();
    ASSERT_EQ(match(text), alone(text)) << text << " at step " << step;
  }
  while (!patterns_.empty()) remove(patterns_.begin()->first);
  EXPECT_EQ(match("a1"), Ids());
}

TEST_F(PatternSetTest, MatchesPatternsThatAreTooLargeToRunTogether) {
  std::string large;
  for (int i = 0; i < 20; ++i) large += "[ab]{1000}";
  for (uint32_t id = 1; id <= 30; ++id) add(id, "^c{" + std::to_string(id) + "}|d" + large);
  for (uint32_t step = 0; step < 150; ++step) {
    const uint32_t size = step % 32;
    ASSERT_EQ(match(std::string(size, 'c')).size(), std::min(size, 30u)) << step;
  }
  remove(7);
  EXPECT_EQ(match("ccccccc"), (Ids{1, 2, 3, 4, 5, 6}));
}

TEST_F(PatternSetTest, RunsAllPatternsOrNoneWithinABudget) {
  add(1, "^a+$");
  add(2, "^b+$");
  const size_t needed = 2 * (4 + kBytesOfARun);
  MatchBudget budget{.bytes = needed - 1};
  Ids ids;
  EXPECT_FALSE(set_.match("aaaa", budget, ids));
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, (Ids{1, 2})) << "the match of each pattern is undecided";
  EXPECT_EQ(budget.bytes, needed - 1);
  ids.clear();
  budget.bytes = needed;
  EXPECT_TRUE(set_.match("aaaa", budget, ids));
  EXPECT_EQ(ids, (Ids{1}));
  EXPECT_EQ(budget.bytes, 0u);
}

TEST_F(PatternSetTest, NeedsNoBudgetWithoutPatterns) {
  MatchBudget budget{.bytes = 0};
  Ids ids;
  EXPECT_TRUE(set_.match("aaaa", budget, ids)) << "there is no match that could be undecided";
  EXPECT_EQ(ids, Ids());
}

}  // namespace
}  // namespace millrace
