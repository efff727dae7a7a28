// The two JSON readers and the JSON writer of millrace, which replace those of the library
// nlohmann/json. They read and write the same JSON as nlohmann/json, within the limits for JSON
// that comes from outside.
#include "base/json.h"

#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/big_integer.h"
#include "base/projection.h"

namespace millrace {
namespace {

/// Expects the result of nlohmann/json: whether the text is JSON, its value, and the types of its
/// numbers.
void expect_as_nlohmann(const std::string& text) {
  const Json expected = Json::parse(text, nullptr, false);
  const Result<Json> read = parse_own_json(text);
  ASSERT_EQ(read.has_value(), !expected.is_discarded()) << text;
  if (!read) return;
  EXPECT_EQ(*read, expected) << text;
  EXPECT_EQ(read->type(), expected.type()) << text;
  EXPECT_EQ(read->dump(), expected.dump()) << text;
}

TEST(Json, IsReadAsTheLibraryNlohmannReadsIt) {
  for (const char* text : {"0",

                           "-0.0",
                           "1",
                           "-1",
                           "1.0",
                           "1e2",
                           "1E+2",
                           "1e-400",
                           "1e400",
                           "0.1",
                           "2.2250738585072011e-308",
                           "9007199254740993",
                           "9223372036854775807",
                           "9223372036854775808",
                           "18446744073709551615",
                           "-9223372036854775808",
                           "01",
                           "+1",
                           ".5",
                           "1.",
                           "- 1",
                           "true",
                           "false",
                           "null",
                           "nul",
                           "True",
                           "\"\"",
                           "\"a\\u0041\"",
                           "\"\\ud83d\\ude00\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\ud800\"",
                           "\"\\u00\"",
                           "\"\\x\"",
                           "\"\t\"",
                           "\"\x7f\"",
                           "\"é€😀\"",
                           "\"\xff\"",
                           "\"\xc0\x80\"",
                           "\"\xed\xa0\x80\"",
                           "\"a",
                           "[]",
                           "{}",
                           "[1,2]",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           R"({"b":1,"a":2})",
                           R"({"a":1,"a":2})",
                           R"({"a":1,})",
                           R"({"a"})",
                           R"({a:1})",
                           " \n\t[ 1 , {\"a\" : null} ]\r ",
                           "",
                           " ",
                           "1 2",
                           "[1]x",
                           R"({"":{"":[]}})",
                           "/**/1",
                           "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""}) {
    expect_as_nlohmann(text);
  }
  expect_as_nlohmann(std::string(1'000, '[') + std::string(1'000, ']'));
  expect_as_nlohmann("\"" + std::string(size_t{2} << 20, 'x') + "\"");
}

class JsonMaker {
 public:
  explicit JsonMaker(uint64_t seed) : random_(seed) {}

  Json value(int depth = 0) {
    switch (random_() % (depth < 4 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return random_() % 2 == 0;
      case 2:
        return static_cast<int64_t>(random_()) >> (random_() % 64);
      case 3:
        return random_() >> (random_() % 64);
      case 4:
        return static_cast<double>(static_cast<int64_t>(random_())) / 1024.0;
      case 5:
        return text();
      case 6: {
        Json array = Json::array();
        for (uint64_t i = random_() % 4; i > 0; --i) array.push_back(value(depth + 1));
        return array;
      }
      default: {
        Json object = Json::object();
        for (uint64_t i = random_() % 4; i > 0; --i) object[text()] = value(depth + 1);
        return object;
      }
    }
  }

  /// A random text of characters that take one to four bytes in UTF-8, some of which JSON escapes.
  std::string text() {
    static const std::string kPieces[] = {"a",    "\"", "\\",   "/", "\n", "\t", "\x01",
                                          "\x1f", " ",  "\x7f", "é", "€",  "😀",  "longer text"};
    std::string made;
    for (uint64_t i = random_() % 12; i > 0; --i) made += kPieces[random_() % std::size(kPieces)];
    return made;
  }

  std::string broken(std::string text) {
    if (text.empty()) return text;
    text[random_() % text.size()] = static_cast<char>(random_());
    return text;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Json, IsReadAndWrittenAsByTheLibraryNlohmannForRandomValues) {
  JsonMaker make(7);
  for (int i = 0; i < 20'000; ++i) {
    const Json value = make.value();
    const std::string text = dump_json(value);
    ASSERT_EQ(text, value.dump());
    expect_as_nlohmann(text);
    expect_as_nlohmann(make.broken(text));
    ASSERT_EQ(is_json(text), Json::accept(text));
  }
}

TEST(Json, ReadsMinusZeroWithoutAFractionAsZero) {
  EXPECT_EQ(parse_own_json("-0")->dump(), Json::parse("-0").dump());
}

TEST(Json, SortsTheKeysWhenAnObjectOfStringsIsWritten) {
  EXPECT_EQ(object_text({}), "{}");
  EXPECT_EQ(object_text({{"b", "1\n"}, {"a", "\""}}), R"({"a":"\"","b":"1\n"})");
}

TEST(Json, RefusesNestingThatWouldOverflowTheStack) {
  for (const std::string inner :
       {"1", R"("\u0041")"}) {  // texts with \u have a reader of their own
    const auto nested = [&](size_t depth) {
      return std::string(depth, '[') + inner + std::string(depth, ']');
    };
    EXPECT_TRUE(is_own_json(nested(200))) << inner;
    for (const size_t depth : {size_t{2'000}, size_t{200'000}, size_t{4'000'000}}) {
      EXPECT_FALSE(is_own_json(nested(depth))) << inner << depth;
      EXPECT_EQ(parse_own_json(nested(depth)).error().code, "json.depth") << inner << depth;
    }
  }
}

TEST(Json, KeepsTheDigitsOfIntegersOf64Bits) {
  EXPECT_EQ(dump_json(*parse_json("[9007199254740993,-9223372036854775808,18446744073709551615]")),
            "[9007199254740993,-9223372036854775808,18446744073709551615]");
}

TEST(Json, RefusesMalformedText) {
  for (const char* text : {"", "{", "{\"a\":}", "[1,]", "nul", "\"\\ud800\"", "\"\xff\"",
                           "{\"a\":1} x", "'a'", "NaN", "\"\x01\""}) {
    const Result<Json> json = parse_json(text);
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().code, "json.malformed") << text;
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(Json, RefusesNumbersBeyondTheRangeOfADouble) {
  for (const std::string& text :
       {std::string("1e400"), std::string("[-1e400]"), "{\"a\":1" + std::string(309, '0') + "}"}) {
    const Result<Json> json = parse_json(text);
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().code, "json.number") << text;
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(Json, KeepsTheDigitsOfIntegersBeyond64Bits) {
  for (
      const std::string& text : {
          std::string("18446744073709551616"),
          std::string("-9223372036854775809"),
          "9" + std::string(307, '1'),
          std::string(
              R"({"a":[-123456789012345678901234567890,{"b":340282366920938463463374607431768211456}]})"),
          std::string("[18446744073709551615,18446744073709551616,-9223372036854775808]"),
      }) {
    const Result<Json> json = parse_json(text);
    ASSERT_TRUE(json) << text;
    EXPECT_EQ(dump_json(*json), text);
    EXPECT_EQ(*json, *parse_own_json(dump_json(*json)));
  }
  const Json big = *parse_json("18446744073709551616");
  EXPECT_TRUE(is_big_integer(big));
  EXPECT_TRUE(is_any_number(big));
  EXPECT_EQ(double_of(big), 18446744073709551616.0);
  EXPECT_EQ(std::string(type_name_of(big)), "number");
  EXPECT_NE(big, *parse_json("18446744073709551617"));
  for (const char* text :
       {"18446744073709551615", "-9223372036854775808", "1e20", "0.5", "\"1\""}) {
    EXPECT_FALSE(is_big_integer(*parse_json(text))) << text;
  }
}

TEST(Json, RoundsFractionsToADouble) {
  // Digits beyond the precision of a double are rounded, as RFC 8259, section 6, allows.
  EXPECT_EQ(dump_json(*parse_json("[0.1234567890123456789,1e-400,-0,-0.0,1.50]")),
            "[0.12345678901234568,0.0,0,-0.0,1.5]");
}

TEST(Json, KeepsTheLastOfTwoMembersWithTheSameName) {
  EXPECT_EQ(dump_json(*parse_json(R"({"a":1,"b":0,"a":18446744073709551616})")),
            R"({"a":18446744073709551616,"b":0})");
}

TEST(Json, RefusesAByteOrderMarkAndANulByte) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text : {"\xef\xbb\xbf{}"sv, "1\0garbage"sv, "{}\0"sv}) {
    EXPECT_FALSE(parse_json(text));
    EXPECT_FALSE(is_json(text));
  }
}

TEST(Json, RefusesNestingDeeperThan128Levels) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(128)));
  ASSERT_FALSE(parse_json(nested(129)));
  EXPECT_EQ(parse_json(nested(129)).error().code, "json.depth");
  EXPECT_TRUE(parse_json("\"" + std::string(500, '[') + "\""))
      << "brackets in a string are not nesting";
}

TEST(ParseJson, MakesNoTreeOfMembersThatAreNotWanted) {
  Projection wanted;
  for (const std::vector<std::string>& path :
       {std::vector<std::string>{"a", "b"}, {"list"}, {"a", "c"}}) {
    wanted.add(path);
  }
  const auto read = [&](std::string_view text) { return parse_json(text, wanted).value(); };
  EXPECT_EQ(read(R"({"a": {"b": 1, "c": {"d": 2}, "e": 3}, "list": [{"x": 4}], "f": [5]})"),
            Json::parse(R"({"a": {"b": 1, "c": {"d": 2}}, "list": [{"x": 4}]})"));
  EXPECT_EQ(read(R"({"a": {"b": 1}, "a": {"b": 2, "x": 3}})"), Json::parse(R"({"a": {"b": 2}})"))
      << "the later one of two members counts";
  EXPECT_EQ(read(R"({"a": [{"b": 1}]})"), Json::parse(R"({"a": [{"b": 1}]})"));
  EXPECT_EQ(read("[1]"), Json::parse("[1]"));
  EXPECT_EQ(read("7"), Json(7));

  wanted.add(Projection{.is_whole = false, .members = {{"f", kWholeValue}}});
  EXPECT_EQ(read(R"({"f": {"g": 1}, "h": 2})"), Json::parse(R"({"f": {"g": 1}})"));
  wanted.add(std::span<const std::string>());
  EXPECT_EQ(read(R"({"h": 2})"), Json::parse(R"({"h": 2})"));
}

TEST(ParseJson, ChecksMembersThatAreNotWanted) {
  const Projection none;
  for (const char* const text :
       {R"({"a": tru})", R"({"a": "\xff"})", R"({"a": 1)", R"({"a": 1e400})", "\xef\xbb\xbf{}"}) {
    EXPECT_FALSE(parse_json(text, none)) << text;
  }
  EXPECT_EQ(parse_json(R"({"a": "\u00e4"})", none)->is_object(), true);
  EXPECT_TRUE(parse_json(R"({"a": [1]})", none, 2));
  EXPECT_EQ(parse_json(R"({"a": [1]})", none, 1).error().code, "json.depth");
}

}  // namespace
}  // namespace millrace
