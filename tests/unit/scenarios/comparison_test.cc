// Comparison: which differences between expected and actual values are reported, and at which
// position.
#include "scenarios/comparison.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace millrace {
namespace {

std::string differences(const std::string& wanted, const std::string& got, Match match) {
  Findings findings;
  const auto node = parse_document(wanted, findings);
  std::string text;
  for (const Mismatch& one : compare(*node, "x", parse_json(got).value(), match)) {
    text += fmt::format("{}:{} {}: {}\n", one.at.line, one.at.column, one.path, one.message);
  }
  return text;
}

TEST(Comparison, ReportsEveryDifferenceAtThePositionOfTheExpectation) {
  struct Row {
    const char* wanted;
    const char* got;
    const char* whole;
    const char* part;
  };
  const Row rows[] = {
      {"a", R"("a")", "", ""},
      {"a", R"("b")", "1:1 x: expected \"a\", got \"b\"\n", "1:1 x: expected \"a\", got \"b\"\n"},
      {"1", "1.0", "", ""},
      {"1", R"("1")", "1:1 x: expected 1, got \"1\"\n", "1:1 x: expected 1, got \"1\"\n"},
      {"9007199254740993", "9007199254740993", "", ""},
      {"-9223372036854775809", "-9223372036854775809", "", ""},
      {"[123456789012345678901234567890]", "[123456789012345678901234567890]", "", ""},
      {"100000000000000000000", "1e20", "", ""},
      {"123456789012345678901234567890", "123456789012345678901234567891",
       "1:1 x: expected 123456789012345678901234567890, got 123456789012345678901234567891\n",
       "1:1 x: expected 123456789012345678901234567890, got 123456789012345678901234567891\n"},
      {"9007199254740993", "9007199254740992",
       "1:1 x: expected 9007199254740993, got 9007199254740992\n",
       "1:1 x: expected 9007199254740993, got 9007199254740992\n"},
      {"null", "null", "", ""},
      {"null", "0", "1:1 x: expected null, got 0\n", "1:1 x: expected null, got 0\n"},
      {"no", "false", "1:1 x: expected \"no\", got false\n", "1:1 x: expected \"no\", got false\n"},
      {"{a: 1}", R"({"a":1,"b":2})", "1:1 x.b: not expected, got 2\n", ""},
      {"{a: 1, b: null}", R"({"a":1})", "1:8 x.b: expected null, but it is missing\n",
       "1:8 x.b: expected null, but it is missing\n"},
      {"a:\n  b: {c: 1}", R"({"a":{"b":{"c":2,"d":3}}})",
       "2:10 x.a.b.c: expected 1, got 2\n2:6 x.a.b.d: not expected, got 3\n",
       "2:10 x.a.b.c: expected 1, got 2\n"},
      {"[1, {a: 1}]", R"([1,{"a":1,"b":2}])", "1:5 x[1].b: not expected, got 2\n", ""},
      {"[1, 2]", "[2, 1]", "1:2 x[0]: expected 1, got 2\n1:5 x[1]: expected 2, got 1\n",
       "1:2 x[0]: expected 1, got 2\n1:5 x[1]: expected 2, got 1\n"},
      {"[1]", "[1,2]", "1:1 x: expected [1], got [1,2]\n", "1:1 x: expected [1], got [1,2]\n"},
      {"[]", "{}", "1:1 x: expected [], got {}\n", "1:1 x: expected [], got {}\n"},
      {"{}", R"({"a":1})", "1:1 x.a: not expected, got 1\n", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(differences(row.wanted, row.got, Match::kWhole), row.whole) << row.wanted;
    EXPECT_EQ(differences(row.wanted, row.got, Match::kPart), row.part) << row.wanted;
  }
}

TEST(Comparison, CutsALongValueOnlyBetweenWholeCharacters) {
  for (const size_t before : {295U, 296U, 297U, 298U, 299U}) {
    const std::string brief = in_brief(std::string(before, 'x') + "äöü" + std::string(500, 'y'));
    EXPECT_TRUE(brief.ends_with("…")) << brief;
    EXPECT_LE(brief.size(), 304U);
    EXPECT_TRUE(is_json("\"" + brief.substr(1) + "\"")) << "not valid UTF-8: " << brief;
  }
}

}  // namespace
}  // namespace millrace
