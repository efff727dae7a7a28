#include "matchers/never_matches.h"

#include <gtest/gtest.h>

#include "matchers/ecmascript.h"
#include "matchers/pattern.h"

namespace millrace {
namespace {

TEST(NeverMatches, FindsPatternsThatNoTextMatches) {
  const auto never = [](const char* pattern) {
    const auto regex = parse_ecmascript(pattern);
    EXPECT_TRUE(regex) << pattern;
    return regex && never_matches(regex->root);
  };
  for (const char* pattern : {"a^", "$a", "[]", "a[]b", "(?!)", "(a)^", "a+^b", "$(a|b)", "(?:$)a",
                              "a(^)", "a^|$b", "x(?:[]|^a)", "^a$b", "a{2}^", "(a*b)^", "$.*a"}) {
    EXPECT_TRUE(never(pattern)) << pattern;
    // The compiled pattern matches none of these texts, either.
    const auto compiled = Pattern::compile(pattern);
    ASSERT_TRUE(compiled) << pattern;
    for (const char* text : {"", "a", "b", "ab", "aa", "aab", "x", "xa", "a\nb"}) {
      EXPECT_FALSE((*compiled)->matches(text)) << pattern << " " << text;
    }
  }
  for (const char* pattern :
       {"",      "^",    "$",    "^$",    "a",     "a*^",  "a?^b", "$a?",      "(a|)^", "$(?:a|b*)",
        "^^a$$", "[]|a", "[]*a", "(?!a)", "(?=a)", "a^|b", "[^]",  "(?:a^)?b", "\\b",   "(a)\\1"}) {
    EXPECT_FALSE(never(pattern)) << pattern;
  }
}

}  // namespace
}  // namespace millrace
