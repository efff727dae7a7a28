#include "base/json_scan.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"

namespace millrace {
namespace {

constexpr size_t kDepth = 128;

TEST(JsonScan, AcceptsTheTextsThatTheLibraryNlohmannAccepts) {
  const std::string many_digits(309, '1');
  const std::string texts[] = {"",
                               " ",
                               "0",
                               "-0",
                               "-0.0",
                               "01",
                               "+1",
                               "-",
                               "- 1",
                               ".5",
                               "1.",
                               "1.5e",
                               "1e+",
                               "1e2",
                               "1E-400",
                               "1e400",
                               "-1e400",
                               many_digits,
                               many_digits.substr(1),
                               many_digits + "1",
                               many_digits + ".5",
                               "123456789012345678901234567890",
                               "true",
                               "tru",
                               "truex",
                               "True",
                               "null",
                               "false",
                               "\"\"",
                               "\"",
                               "\"a",
                               "\"a\\\"",
                               R"("\"\\\/\b\f\n\r\t")",
                               R"("\x")",
                               R"("\u")",
                               R"("\u00")",
                               R"("\u00g0")",
                               R"("\u0000\u001F\u00e9")",
                               R"("\ud83d\ude00")",
                               R"("\ud83d\u0041")",
                               R"("\ud83d")",
                               R"("\ud83dxxxxxx")",
                               R"("\ude00")",
                               R"("\\ud83d")",
                               "\"0123456\t\"",
                               "\"01234567890\x01\"",
                               "\"é€😀\x7f\"",
                               "\"\xff\"",
                               "\"\xed\xa0\x80\"",
                               "[]",
                               "[ ]",
                               "[",
                               "]",
                               "[1,2]",
                               "[1,]",
                               "[,1]",
                               "[1 2]",
                               "[1]]",
                               "[[1],[]",
                               "[}",
                               "{}",
                               "{ }",
                               "{",
                               R"({"a":1})",
                               R"({"a":1,"b":[{}]})",
                               R"( { "a" : [ 1 , { "b" : null } ] , "c" : "" } )",
                               R"({"a":1,})",
                               R"({"a"})",
                               R"({"a":})",
                               R"({"a" 1})",
                               R"({a:1})",
                               R"({1:1})",
                               R"({"a":1]})",
                               R"({,"a":1})",
                               "[1]x",
                               "1 2",
                               "/**/1"};
  for (const std::string& text : texts) {
    EXPECT_EQ(is_json_within(text, kDepth), Json::accept(text)) << text;
  }
  // The library skips a byte order mark, and takes a NUL for the end of the text.
  EXPECT_FALSE(is_json_within("\xef\xbb\xbf{}", kDepth));
  EXPECT_FALSE(is_json_within(std::string("1\0", 2), kDepth));
  EXPECT_FALSE(is_json_within(std::string("\"\0\"", 3), kDepth));
}

TEST(JsonScan, AcceptsBrokenTextsOnlyIfTheLibraryNlohmannAcceptsThem) {
  const std::string whole =
      R"({"a":[1,-2.5e3,"x\né€😀",{"":null}],"b\"":"\ud83d\ude00","c":[[],{},true],"d":12345678})";
  ASSERT_TRUE(is_json_within(whole, kDepth));
  std::mt19937_64 random(11);
  constexpr std::string_view kBytes = "{}[],:\"\\ue0123456789.-+ tfn\n\x01\xc3\xa9";
  for (int i = 0; i < 50'000; ++i) {
    std::string text = whole.substr(0, i % 4 == 0 ? random() % whole.size() : whole.size());
    for (uint64_t edits = random() % 3; edits > 0 && !text.empty(); --edits) {
      text[random() % text.size()] = kBytes[random() % kBytes.size()];
    }
    ASSERT_EQ(is_json_within(text, kDepth), Json::accept(text)) << text;
  }
}

TEST(JsonScan, MeasuresHowDeepATextNests) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json_within(nested(3), 3));
  EXPECT_FALSE(is_json_within(nested(4), 3));
  EXPECT_EQ(too_deep_at(nested(3), 3), std::string_view::npos);
  EXPECT_EQ(too_deep_at(nested(4), 3), 3U);
  EXPECT_EQ(too_deep_at("[[]]", 1), 1U) << "the shortest text that is deeper";
  EXPECT_EQ(too_deep_at(R"(["[[[[\"[[[[",{"a[[":[]}])", 3), std::string_view::npos);
  EXPECT_EQ(too_deep_at(R"(["[[[[\"[[[[",{"a[[":[]}])", 2), 21U);
}

TEST(JsonScan, FindsEscapesThatDumpJsonDoesNotWrite) {
  for (const char* text : {R"("\u0041")", R"("\n\ud83d\ude00")", R"("\u0020")"}) {
    EXPECT_TRUE(has_foreign_escape(text)) << text;
  }
  for (const char* text : {R"("\u001f\n")", R"("\\u0041")", R"("u0041")", "\"é\""}) {
    EXPECT_FALSE(has_foreign_escape(text)) << text;
  }
}

TEST(JsonScan, ReadsTheCharactersOfAString) {
  for (const char* json :
       {R"("")", R"("plain")", R"("\"\\\/\b\f\n\r\t")", R"("a\u0000b\u001f\u00e9\u20ac")",
        R"("\ud83d\ude00!")", R"("é€😀")", R"("\\u0041")", R"("x\\")"}) {
    EXPECT_EQ(string_of_json(json), Json::parse(json).get<std::string>()) << json;
  }
  for (const char* broken : {"", "\"", R"("\)", R"("\u12)", R"("\u12")", R"("\ud83d")"}) {
    string_of_json(broken);  // ends, with any result
  }
}

TEST(JsonScan, ReadsTheOutermostLevelOfAnArrayOrObject) {
  const auto values = [](std::string_view json) {
    std::vector<std::string> all;
    for (JsonLevel level(json); level.next();) all.emplace_back(level.value());
    return all;
  };
  using Values = std::vector<std::string>;
  EXPECT_EQ(values("[]"), Values());
  EXPECT_EQ(values(" { } "), Values());
  EXPECT_EQ(values(R"([1,"a,]\"b",[2,[3]],{"x":"}"},null])"),
            (Values{"1", R"("a,]\"b")", "[2,[3]]", R"({"x":"}"})", "null"}));
  EXPECT_EQ(values(R"( { "a" : 1 , "b,:" : [ ] , "" : { } } )"), (Values{"1", "[ ]", "{ }"}));
  for (const char* broken : {"", "[", "{", "[,", "[[", "{\"", "{\"a", "{\"a\"", "{\"a\":", "[1 2",
                             "{1:2}", "]", "[}", "[:,:"}) {
    values(broken);  // ends, with any result
  }

  JsonLevel level(R"({"b":1,"\n":2})");
  ASSERT_TRUE(level.next());
  EXPECT_LT(level.order("c"), 0);
  EXPECT_EQ(level.order("b"), 0);
  EXPECT_GT(level.order("a"), 0);
  EXPECT_EQ(level.begin(), 1U);
  EXPECT_EQ(level.value_at(), 5U);
  EXPECT_EQ(level.end(), 6U);
  ASSERT_TRUE(level.next());
  EXPECT_EQ(level.order("\n"), 0);
  EXPECT_FALSE(level.next());
  EXPECT_EQ(level.end(), 13U) << "the closing bracket";
}

}  // namespace
}  // namespace millrace
