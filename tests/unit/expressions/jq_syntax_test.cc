#include "expressions/jq_syntax.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(JqSyntax, FindsTheClosingParenthesisOfWhatIsAroundTheText) {
  struct Row {
    std::string_view text;
    size_t closes_at;
  };
  for (const auto& [text, closes_at] : std::initializer_list<Row>{
           {".a)", 2},
           {")", 0},
           {"(.a)) )", 4},
           {R"x(")"))x", 3},
           {R"x("\")"))x", 5},
           {R"x("\\"))x", 4},
           {R"x("a\(.b + ")" )c")|x))x", 16},
           {R"x("\( "\( ")" )" )"))x", 17},
           {"[.a, {b: (1)}])", 14},
           {". # a ) in a comment\n)", 21},
           {R"x("# no comment"))x", 14},
       }) {
    const JqEnd end = scan_jq(text);
    EXPECT_EQ(end.kind, JqEnd::Kind::kCloser) << text;
    EXPECT_EQ(end.at, closes_at) << text;
  }
}

TEST(JqSyntax, TakesProgramsWhoseBracketsPair) {
  for (const std::string_view text : {".", ".a[0]", "{a: [1, (2)]}", R"x("(" + ")")x",
                                      R"x("\("a")")x", ". # (", "# (\n.", R"x("\u0028")x"}) {
    EXPECT_TRUE(check_program_text(text)) << text;
  }
  EXPECT_TRUE(check_program_text(std::string(kMaxProgramBytes, '1')));
}

TEST(JqSyntax, SaysWhatKeepsATextFromBeingAProgram) {
  using namespace std::string_view_literals;
  struct Row {
    std::string_view text;
    std::string_view code;
  };
  const std::string too_long(kMaxProgramBytes + 1, '1');
  for (const auto& [text, code] : std::initializer_list<Row>{
           {too_long, "jq.too_long"},
           {"", "jq.empty"},
           {" \n", "jq.empty"},
           {". \0"sv, "jq.malformed"},
           {".) | env | (.", "jq.unbalanced"},
           {"(.", "jq.unbalanced"},
           {"(.]", "jq.unbalanced"},
           {"}", "jq.unbalanced"},
           {"\"a", "jq.unbalanced"},
           {R"x("\(.a")x", "jq.unbalanced"},
           {R"x("\")x", "jq.unbalanced"},
           {"( # )", "jq.unbalanced"},
       }) {
    const Status status = check_program_text(text);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code, code) << text;
  }
  EXPECT_EQ(check_program_text(".a]").error().message,
            "the `]` at byte 2 of the jq program closes nothing");
}

}  // namespace
}  // namespace millrace
