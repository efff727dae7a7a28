#include "matchers/glob.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Glob, MatchesTheWholeTextWithStarsAndQuestionMarks) {
  struct Row {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Row rows[] = {
      {"direktiv.stateTimeout", "direktiv.stateTimeout", true},
      {"*", "direktiv.stateTimeout", true},
      {"*", "", true},
      {"", "", true},
      {"direktiv.*", "direktiv.jq.badCommand", true},  // a star matches dots too
      {"direktiv.*", "direktiv.", true},
      {"*.badCommand", "direktiv.jq.badCommand", true},
      {"d*.jq.*d", "direktiv.jq.badCommand", true},
      {"*jq*", "direktiv.jq.badCommand", true},
      {"**", "a", true},
      {"a*b*c", "a-b-b-c-c", true},
      {"*aab", "aaaab", true},  // needs backtracking
      {"?", "a", true},
      {"?", "ä", true},  // one character of two bytes
      {"a?c", "a.c", true},
      {"??*", "ab", true},
      {"*?", "ä", true},
      // no match
      {"direktiv.stateTimeout", "direktiv.stateTimeouts", false},  // anchored at the end
      {"direktiv.stateTimeout", "xdirektiv.stateTimeout", false},  // anchored at the beginning
      {"direktiv.stateTimeout", "direktiv.statetimeout", false},
      {"direktiv.*", "direktiv", false},
      {"direktiv.jq", "direktivxjq", false},  // a dot matches only a dot
      {"a+", "aa", false},                    // other characters have no special meaning
      {"[ab]", "a", false},
      {"[ab]", "[ab]", true},
      {"a|b", "a", false},
      {"\\*", "*", false},  // a backslash does not escape
      {"?", "", false},
      {"?", "ab", false},
      {"??", "ä", false},
      {"", "a", false},
      {"*a", "ab", false},
      {"a*b*c", "a-c-b", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(glob_matches(row.pattern, row.text), row.matches) << row.pattern << " / " << row.text;
  }
}

TEST(Glob, MatchesManyStarsWithoutExponentialBacktracking) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(20'000, 'a')));
  EXPECT_TRUE(glob_matches(pattern, std::string(20'000, 'a')));
}

}  // namespace
}  // namespace millrace
