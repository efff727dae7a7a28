// Patterns that run together answer as each does alone.
#include "matchers/pattern_set.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Ids = std::vector<uint32_t>;

/// A set, and its patterns beside it.
class PatternSets : public ::testing::Test {
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
    set_.match(value, ids);
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

TEST_F(PatternSets, AnswerAsEachPatternDoesWhileTheyComeAndGo) {
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

TEST_F(PatternSets, AnswerAlsoWhereTheyAreTooManyToRunTogether) {
  for (uint32_t id = 0; id < 60; ++id) add(id, "a[ab]{" + std::to_string(id + 20) + "}b");
  std::mt19937 random(1);
  for (int step = 0; step < 300; ++step) {
    std::string text(200, 'a');
    for (char& c : text) c = random() % 4 == 0 ? 'b' : random() % 40 == 0 ? 'c' : 'a';
    ASSERT_EQ(match(text), alone(text)) << step;
  }
}

}  // namespace
}  // namespace millrace
