// Which values differ in one typo, and which of them are tried for a value.
#include "orchestrator/why/typo.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Typo, IsATranspositionOrOneCharacterMoreOrLess) {
  struct Row {
    std::string what;
    std::string a;
    std::string b;
    bool expected;
  };
  const std::string longest(kMostOfATypo, 'x');
  const Row rows[] = {
      {"transposed digits", "A-1031", "A-1301", true},
      {"transposed at the begin", "abcd", "bacd", true},
      {"transposed at the end", "abcd", "abdc", true},
      {"one character more", "A-1031", "A-10311", true},
      {"one more at the begin", "A-1031", "xA-1031", true},
      {"one more within", "A-1031", "A-10031", true},
      {"five characters and four", "abcde", "abcd", true},
      {"transposed letters of two bytes", "\u00e4\u00f6bc", "\u00f6\u00e4bc", true},
      {"one more letter of two bytes", "abcd", "abc\u00e4d", true},
      {"the longest values", longest, longest.substr(1), true},
      {"equal", "A-1031", "A-1031", false},
      {"another order", "A-1043", "A-1044", false},
      {"a letter of two bytes is replaced", "abc\u00e4", "abc\u00f6", false},
      {"two transpositions", "abcdef", "badcef", false},
      {"a transposition that is not of neighbours", "abcd", "cbad", false},
      {"a transposition and one more", "abcd", "bacde", false},
      {"two more", "A-1031", "A-103111", false},
      {"one more and one replaced", "A-1031", "B-10311", false},
      {"three characters", "abc", "acb", false},
      {"four characters and three", "abcd", "abc", false},
      {"three letters of two bytes", "\u00e4\u00f6\u00fc", "\u00f6\u00e4\u00fc", false},
      {"nothing", "", "", false},
      {"one that is too long", longest, longest + "x", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(is_typo(row.a, row.b), row.expected) << row.what;
    EXPECT_EQ(is_typo(row.b, row.a), row.expected) << row.what;
  }
}

TEST(Typo, IsWhatDistinguishesEachValueThatIsTried) {
  for (const char* const value : {"A-1301", "aabbc", "\u00e4\u00f6\u00fcx", "1111"}) {
    const std::vector<std::string> typos = typos_of(value, 1'000);
    EXPECT_EQ(std::set(typos.begin(), typos.end()).size(), typos.size()) << value;
    for (const std::string& typo : typos) EXPECT_TRUE(is_typo(value, typo)) << typo;
  }
}

TEST(Typo, HasTheLikeliestValuesFirstAndAsManyAsAreAskedFor) {
  EXPECT_EQ(typos_of("abbcd", 7),
            (std::vector<std::string>{"babcd", "abcbd", "abbdc", "bbcd", "abcd", "abbd", "abbc"}));
  EXPECT_EQ(typos_of("abcd", 4), (std::vector<std::string>{"bacd", "acbd", "abdc", "0abcd"}));
  const std::vector<std::string> all = typos_of("a-10", 1'000);
  EXPECT_EQ(all.size(), 3U + 12 * 5 - 4) << "12 characters at 5 places, 4 of them twice";
  EXPECT_NE(std::find(all.begin(), all.end(), "a-107"), all.end());
  EXPECT_TRUE(typos_of("abc", 10).empty());
  EXPECT_TRUE(typos_of(std::string(kMostOfATypo + 1, 'a'), 10).empty());
}

}  // namespace
}  // namespace millrace
