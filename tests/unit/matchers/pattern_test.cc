#include "matchers/pattern.h"

#include <fstream>
#include <random>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "matchers/ecmascript.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Kind = Pattern::Kind;

std::shared_ptr<const Pattern> compiled(std::string_view pattern) {
  Result<std::shared_ptr<const Pattern>> result = Pattern::compile(pattern);
  EXPECT_TRUE(result) << pattern << ": " << result.error().message;
  return result ? *result : nullptr;
}

bool matches(std::string_view pattern, std::string_view value) {
  const std::shared_ptr<const Pattern> it = compiled(pattern);
  return it != nullptr && it->matches(value);
}

// Each row has a pattern, a text, and the result of RegExp.prototype.test (ECMA-262, tried with
// Node 20).
TEST(Pattern, MatchesAsJavaScriptDoes) {
  std::ifstream file("tests/corpus/patterns/ecmascript.json");
  std::stringstream text;
  text << file.rdbuf();
  const Result<Json> rows = parse_json(text.str());
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_GE(rows->size(), 150u);
  for (const Json& row : *rows) {
    const auto pattern = row.at(0).get<std::string>();
    const auto value = row.at(1).get<std::string>();
    EXPECT_EQ(matches(pattern, value), row.at(2).get<bool>()) << row.dump();
  }
}

TEST(Pattern, MatchesCodePointsWhereJavaScriptMatchesSurrogates) {
  EXPECT_TRUE(matches("^.$", "😀"));
  EXPECT_TRUE(matches("^[^a]$", "😀"));
  EXPECT_TRUE(matches("^[😀-😂]$", "😁"));
  EXPECT_TRUE(matches("^😀+$", "😀😀"));
  EXPECT_TRUE(matches("[^\\u0000-\\uffff]", "😀"));
  EXPECT_TRUE(matches("^[\\ud83d\\ude00]$", "😀"));
  EXPECT_FALSE(matches("[\\ud83d\\ude00]", "😁"));
  EXPECT_TRUE(matches("(?<=^.)x", "😀x"));
}

TEST(Pattern, IsATextComparisonIfItIsPlainText) {
  struct Row {
    std::string_view pattern;
    Kind kind;
    std::string_view literal;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"^x$", Kind::kEquals, "x"},
           {"^order-(?:4\\.2)$", Kind::kEquals, "order-4.2"},
           {"^(a(b))$", Kind::kEquals, "ab"},
           {"^$", Kind::kEquals, ""},
           {"^\\u00e4[b]$", Kind::kEquals, "äb"},
           {"(?:^x$)", Kind::kEquals, "x"},
           {"^/orders/", Kind::kPrefix, "/orders/"},
           {"^a.*", Kind::kPrefix, "a"},
           {"\\.png$", Kind::kSuffix, ".png"},
           {"^[^]*a$", Kind::kSuffix, "a"},
           {".*a$", Kind::kSuffix, "a"},
           {"Sydney", Kind::kContains, "Sydney"},
           {".*a\\(b.*", Kind::kContains, "a(b"},
           {"a b?", Kind::kContains, "a "},
           {"(a)(?:b|)", Kind::kContains, "a"},
           {"", Kind::kAny, ""},
           {".*", Kind::kAny, ""},
           {"^", Kind::kAny, ""},
           {"$", Kind::kAny, ""},
           {"^.*", Kind::kAny, ""},
           {"^[^]*$", Kind::kAny, ""},
           {"a|", Kind::kAny, ""},
           {"(?=a)*", Kind::kAny, ""},
           {"^.*$", Kind::kLinear, ""},
           {"^a.*$", Kind::kLinear, ""},
           {"a.*$", Kind::kLinear, ""},
           {".+", Kind::kLinear, ""},
           {"^(a|b)$", Kind::kLinear, ""},
           {"a^", Kind::kLinear, ""},
           {"\\1(a*)b|c", Kind::kLinear, ""},
           {"(b)\\1", Kind::kBacktracking, ""},
           {"(?!a)b", Kind::kBacktracking, ""},
           {"(?:ab){1001}", Kind::kBacktracking, ""},
       }) {
    const std::shared_ptr<const Pattern> pattern = compiled(row.pattern);
    ASSERT_NE(pattern, nullptr);
    EXPECT_EQ(pattern->kind(), row.kind) << row.pattern;
    EXPECT_EQ(pattern->literal(), row.literal) << row.pattern;
  }
}

// "[]|" adds no match, but makes the pattern a regular expression instead of a text comparison.
TEST(Pattern, MatchesEquallyAsATextComparisonAndAsARegularExpression) {
  std::mt19937 random(1);
  const auto made_of = [&](const std::vector<std::string>& pieces, size_t most) {
    std::string text;
    for (size_t size = random() % most; size > 0; --size) text += pieces[random() % pieces.size()];
    return text;
  };
  size_t texts = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string text =
        made_of({"^",  "^", "$", "$", "a", "b",  "a-b", "\\.", "\\-", "(?:", "(?:a",
                 "b)", ")", "(", "+", "?", "\\", "{1}", "1",   " ",   "/"},
                7);
    const auto expected = Pattern::compile("[]|" + text);
    const auto pattern = Pattern::compile(text);
    ASSERT_EQ(pattern.has_value(), expected.has_value()) << text;
    if (!pattern) continue;
    texts += (*pattern)->literal().empty() ? 0 : 1;
    for (int i = 0; i < 5; ++i) {
      const std::string value =
          i == 0 ? (*pattern)->literal() : made_of({"a", "b", "-", ".", "1", " ", "/"}, 6);
      ASSERT_EQ((*pattern)->matches(value), (*expected)->matches(value)) << text << " on " << value;
    }
  }
  EXPECT_GT(texts, 2'000u);
}

TEST(Pattern, MayRepeatMoreOftenThanRe2Allows) {
  const std::string many(1001, 'a');
  EXPECT_TRUE(matches("^a{1001}$", many));
  EXPECT_FALSE(matches("^a{1001}$", many + "a"));
  EXPECT_TRUE(matches("^[ab]{1000}a$", many));
}

TEST(Pattern, ReportsWhereItIsMalformedAndWhatToWrite) {
  struct Row {
    std::string_view pattern;
    size_t character;  // from 1
    std::string_view what;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"a(b", 2, "not closed"},
           {"((a)", 1, "not closed"},
           {"a)b", 2, "has no matching \"(\""},
           {"äö)", 3, "has no matching \"(\""},
           {"*a", 1, "nothing to repeat"},
           {"a|*", 3, "nothing to repeat"},
           {"a**", 3, "nothing to repeat"},
           {"a???", 4, "nothing to repeat"},
           {"^*", 2, "nothing to repeat"},
           {"\\b+", 3, "nothing to repeat"},
           {"(?<=a)*", 7, "nothing to repeat"},
           {"{2}", 1, "nothing to repeat"},
           {"a{2}{3}", 5, "nothing to repeat"},
           {"a{3,2}", 1, "swap the numbers"},
           {"x[b-a]", 3, "runs backwards"},
           {"x[a", 2, "not closed"},
           {"[a-", 1, "not closed"},
           {"a\\", 2, "ends with a backslash"},
           {"[\\", 2, "ends with a backslash"},
           {"a(?", 2, "not a valid start of a group"},
           {"(?P<n>a)", 1, "not a valid start of a group"},
           {"(?i)a", 1, "not a valid start of a group"},
           {"(?>a)", 1, "not a valid start of a group"},
           {"(?<1>a)", 4, "a group's name"},
           {"(?<>a)", 4, "a group's name"},
           {"(?<n a)", 5, "a group's name"},
           {"(?<n>a)(?<n>b)", 8, "an earlier group has this name"},
           {"(?<n>a)\\k<m>", 8, "no group has this name"},
           {"(?<n>a)\\k", 8, "needs the name"},
           {"(?<n>[\\k])", 7, "must name a group here"},
       }) {
    const Result<std::shared_ptr<const Pattern>> result = Pattern::compile(row.pattern);
    ASSERT_FALSE(result) << row.pattern;
    EXPECT_EQ(result.error().code, "pattern.malformed") << row.pattern;
    EXPECT_THAT(result.error().message, HasSubstr(fmt::format("character {}: ", row.character)));
    EXPECT_THAT(result.error().message, HasSubstr(std::string(row.what))) << row.pattern;
  }
}

TEST(Pattern, IsRefusedIfNoEngineRunsItAsJavaScriptDoes) {
  struct Row {
    std::string_view pattern;
    size_t character;
    std::string_view what;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"x(?<=a*)b", 2, "no fixed length"},
           {"(?<!a(?:b|cd))e", 1, "no fixed length"},
           {"(a)(?<=\\1)", 8, "back-reference in a look-behind"},
           {"(?:(a)|b)*\\1", 4, "may skip the group"},
           {"(?:(a)?b)+\\1", 4, "may skip the group"},
           {"(a*)*b\\1", 1, "match the empty text"},
           {"\\ud83dx", 1, "half of a surrogate pair"},
           {"[\\ud800-\\udfff]", 2, "half of a surrogate pair"},
           {"xa{70000}", 2, "more than 65535 times"},
           {"xa{0,99999999999999999999}y", 2, "more than 65535 times"},
       }) {
    const Result<std::shared_ptr<const Pattern>> result = Pattern::compile(row.pattern);
    ASSERT_FALSE(result) << row.pattern;
    EXPECT_EQ(result.error().code, "pattern.malformed") << row.pattern;
    EXPECT_THAT(result.error().message, HasSubstr(fmt::format("character {}: ", row.character)));
    EXPECT_THAT(result.error().message, HasSubstr(std::string(row.what))) << row.pattern;
  }
}

TEST(Pattern, HasLimitsOfSizeAndNesting) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')') + "?b+";
  };
  EXPECT_TRUE(Pattern::compile(nested(kMaxPatternNesting)));
  EXPECT_TRUE(Pattern::compile("(?=b)" + nested(kMaxPatternNesting)));
  EXPECT_FALSE(Pattern::compile(nested(kMaxPatternNesting + 1)));
  EXPECT_TRUE(Pattern::compile(std::string(kMaxPatternSize, 'a')));
  EXPECT_FALSE(Pattern::compile(std::string(kMaxPatternSize + 1, 'a')));
  EXPECT_FALSE(Pattern::compile("a\xff"));
  const auto too_large = Pattern::compile("(?:(?:(?:[a-cx]y){1000}){1000}){1000}");
  ASSERT_FALSE(too_large);
  EXPECT_THAT(too_large.error().message, HasSubstr("too large"));
}

TEST(Pattern, IsShortenedInMessages) {
  const auto result = Pattern::compile(std::string(70, 'a') + "(");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "pattern \"" + std::string(60, 'a') +
                "…\": character 71: this group is not closed: add \")\", or write \"\\(\" for the "
                "character");
}

TEST(Pattern, IsShownInMessagesAsOneLineOfUtf8) {
  constexpr std::string_view kNotUtf8 = "the pattern is not well-formed UTF-8: encode it as UTF-8";
  const auto bytes = Pattern::compile("ä\xff\xe4");
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().message, fmt::format("pattern \"ä??\": {}", kNotUtf8));
  const auto continuations = Pattern::compile(std::string(1000, '\x80'));
  ASSERT_FALSE(continuations);
  EXPECT_EQ(continuations.error().message,
            fmt::format("pattern \"{}…\": {}", std::string(240, '?'), kNotUtf8));
  const auto lines = Pattern::compile("a\n(");
  ASSERT_FALSE(lines);
  EXPECT_THAT(lines.error().message, HasSubstr("pattern \"a?(\": character 3: "));
}

// With backtracking each of these patterns would need 2^64 steps or more.
TEST(Pattern, MatchesNestedRepetitionsInLinearTime) {
  const std::string many = std::string(5000, 'a') + "!";
  for (const char* pattern : {"^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(a*)*b", "^(.*)*x$",
                              "^(([a-z])+.)+[A-Z]([a-z])+$", "(?:a?){500}a{500}b"}) {
    const std::shared_ptr<const Pattern> it = compiled(pattern);
    ASSERT_NE(it, nullptr);
    EXPECT_EQ(it->kind(), Kind::kLinear) << pattern;
    EXPECT_EQ(it->match(many), Pattern::Answer::kNo) << pattern;
  }
}

TEST(Pattern, StopsCatastrophicBacktrackingAtTheLimit) {
  const std::string many = std::string(5000, 'a') + "!";
  for (const char* pattern : {"^(?=(a+)+$)", "(?:a+)+(?!a|!)$", "^(a+)+\\1b$",
                              "(?<=!)(a|aa)+(?=b)|"
                              "(?:a|aa)+(?=b)"}) {
    const std::shared_ptr<const Pattern> it = compiled(pattern);
    ASSERT_NE(it, nullptr);
    EXPECT_EQ(it->kind(), Kind::kBacktracking) << pattern;
    EXPECT_EQ(it->match(many), Pattern::Answer::kOverLimit) << pattern;
    EXPECT_FALSE(it->matches(many)) << pattern;
  }
}

TEST(Pattern, HasOneBacktrackingLimitForAllPositionsOfAValue) {
  const std::shared_ptr<const Pattern> it = compiled("a(?=.{0,200}b)");
  ASSERT_NE(it, nullptr);
  EXPECT_EQ(it->match(std::string(20, 'a')), Pattern::Answer::kNo);
  EXPECT_EQ(it->match(std::string(2000, 'a')), Pattern::Answer::kOverLimit);
}

TEST(Pattern, StopsAtTheGivenNumberOfSteps) {
  const std::shared_ptr<const Pattern> it = compiled("^(?=a*b)");
  ASSERT_NE(it, nullptr);
  EXPECT_EQ(it->match("ab", 100), Pattern::Answer::kYes);
  const std::shared_ptr<const Pattern> slow = compiled("^(?=(a+)+$)");
  ASSERT_NE(slow, nullptr);
  const std::string some = std::string(8, 'a') + "!";
  EXPECT_EQ(slow->match(some, 100), Pattern::Answer::kOverLimit);
  EXPECT_EQ(slow->match(some), Pattern::Answer::kNo) << "the limit of one run does not stay";
}

TEST(Pattern, HasALowerLimitForALongValue) {
  const std::shared_ptr<const Pattern> it = compiled("^(?!.*secret)");
  ASSERT_NE(it, nullptr);
  EXPECT_EQ(it->match(std::string(Pattern::kFullSize, 'a')), Pattern::Answer::kYes);
  EXPECT_EQ(it->match(std::string(16 * Pattern::kFullSize, 'a')), Pattern::Answer::kOverLimit);
  EXPECT_EQ(compiled("^(?!b)")->match(std::string(100 * Pattern::kFullSize, 'a')),
            Pattern::Answer::kYes);
}

TEST(Pattern, MatchesNoInvalidUtf8) { EXPECT_FALSE(matches("(?=a)", "a\xff")); }

TEST(Pattern, MatchesQuotedTextLiterally) {
  for (const std::string text :
       {"", "a", "a.b", "^$\\.*+?()[]{}|/-", "[a-z]+", "\\d", "1,2", "ä😀", "a\nb", "x{3}", " #"}) {
    const std::shared_ptr<const Pattern> it = compiled("^" + quote_pattern(text) + "$");
    ASSERT_NE(it, nullptr);
    EXPECT_EQ(it->kind(), Kind::kEquals) << text;
    EXPECT_EQ(it->literal(), text);
  }
}

TEST(Pattern, TreatsQuotedTextAsOneAtom) {
  EXPECT_TRUE(matches("^" + quote_pattern("ab") + "+$", "abab"));
  EXPECT_TRUE(matches("^x" + quote_pattern("") + "*$", "x"));
  EXPECT_TRUE(matches("^a{" + quote_pattern("2") + "}$", "a{2}"))
      << "quoted text is not a repetition count";
  EXPECT_TRUE(matches("^\\x4" + quote_pattern("1") + "$", "x41"))
      << "quoted text is not part of an escape";
  EXPECT_TRUE(matches("^[" + quote_pattern("a-c") + "]$", "-"));
  EXPECT_FALSE(matches("^[" + quote_pattern("a-c") + "]$", "b")) << "quoted text is not a range";
  EXPECT_FALSE(matches("^[" + quote_pattern("]|.*") + "]$", "x"));
}

}  // namespace
}  // namespace millrace
