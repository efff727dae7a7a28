#include "expressions/jq_syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(JqSyntax, FindsTheParenthesisThatEndsAProgram) {
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

TEST(JqSyntax, AcceptsProgramsWithMatchingBrackets) {
  for (const std::string_view text : {".", ".a[0]", "{a: [1, (2)]}", R"x("(" + ")")x",
                                      R"x("\("a")")x", ". # (", "# (\n.", R"x("\u0028")x"}) {
    EXPECT_TRUE(check_program_text(text)) << text;
  }
  EXPECT_TRUE(check_program_text(std::string(kMaxProgramBytes, '1')));
}

TEST(JqSyntax, ReportsWhyATextIsNotAProgram) {
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
           {"${ .order }", "jq.syntax"},
           {" {{ .order }}", "jq.syntax"},
           {"$.order", "jq.syntax"},
           {"$(.order)", "jq.syntax"},
           {"jq (.order)", "jq.syntax"},
       }) {
    const Status status = check_program_text(text);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code, code) << text;
  }
  EXPECT_EQ(check_program_text(".a]").error().message,
            "the `]` at column 3 of the jq program has no matching opening bracket; remove it, or "
            "write the opening bracket");
  EXPECT_EQ(check_program_text("({a: .b)").error().message,
            "the `{` at column 2 is not closed; write `}` before the `)` at column 8");
  EXPECT_EQ(check_program_text("${ .order }").error().message,
            "`${ … }` is not jq; write jq(…) around the query");
}

TEST(JqSyntax, ReplacesCommentsAndTheTextOfStringsWithBlanks) {
  for (const auto& [program, blanked] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"(.a = "b = c")", R"(.a = "     ")"},
           {R"x("a \(.b = "c") d")x", R"x("   (.b = " ")  ")x"},
           {R"x("\"" + .a)x", R"x("  " + .a)x"},
           {". # = b\n+ 1", ".      \n+ 1"},
       }) {
    EXPECT_EQ(without_literals(program), blanked) << program;
    EXPECT_EQ(without_literals(program).size(), std::string_view(program).size()) << program;
  }
}

TEST(JqSyntax, DistinguishesAssignmentsFromComparisons) {
  for (const char* program :
       {".a = 3", ".a|=3", ".a += 1", ".a //= 1", " ((.a=1)) ", ".a | .b = 3", ".a | (.b = 3)",
        ". as $x | .a = $x", ".a = 1 | .b = 2", ".a = (.b == 3)", ".a = .b or .c",
        "def f: .x; .a = f", ".a == 1 and .b = 2"}) {
    EXPECT_TRUE(is_assignment(program)) << program;
  }
  for (const char* program : {".a == 3",
                              ".a != 3",
                              ".a <= 3",
                              ".a>=3",
                              R"(.a == "b = c")",
                              ".a # = 3",
                              ".a == .b and .c==.d",
                              "(.a=1)|.b",
                              "(.a = 1).a == 1",
                              "(.a == 1) and (.b = 2)",
                              ".a |= . // 0 | .a > 3",
                              ".a // .b = 3",
                              ".a = 1, .b",
                              ". = false",
                              R"x("\(.a = 1)")x",
                              "[.a = 1]",
                              "if .a then .b = 1 else .c end",
                              "def f: .a = 1; f | .b",
                              "",
                              "("}) {
    EXPECT_FALSE(is_assignment(program)) << program;
  }
}

TEST(JqSyntax, ListsTheKeysThatAProgramConstructs) {
  for (const auto& [program, key] : std::initializer_list<std::pair<const char*, const char*>>{
           {"{order: 1}", "order"},
           {"{a, order : {b: 1}}", "order"},
           {"{order}", "order"},
           {"{a: 1, $order}", "order"},
           {R"({"order": 1})", "order"},
           {R"(setpath(["order", "id"]; 1))", "order"}}) {
    EXPECT_THAT(keys_constructed(program), Contains(key)) << program;
  }
  for (const char* program : {".order", "{a: .order}", "{a: .order, b: .order}", ". # {order: 1}",
                              R"({a: "the order"})", "[order, .a] | {a}"}) {
    EXPECT_THAT(keys_constructed(program), Not(Contains("order"))) << program;
  }
}

TEST(JqSyntax, ListsTheTopLevelKeysThatAProgramAssigns) {
  for (const char* program :
       {".order = 1", ".order.id |= 1", ".a = 1 | .order[0].id += 1", "(.a, .order) = 1",
        R"(.["order"].id = 1)", R"(."order" = 1)", "[.[] | .order //= 1]"}) {
    EXPECT_THAT(keys_assigned(program), Contains("order")) << program;
  }
  for (const char* program :
       {".order", ".a = .order", ".a.order = 1", ".order == 1", ".order | .a = 1"}) {
    EXPECT_THAT(keys_assigned(program), Not(Contains("order"))) << program;
  }
}

TEST(JqSyntax, FindsAKeyWithDotsThatIsReadAsSeveralNestedKeys) {
  constexpr std::string_view kKey = "payment.received";
  for (const auto& [program, at] : std::initializer_list<std::pair<const char*, size_t>>{
           {".payment.received", 0},
           {".payment.received.amount", 0},
           {"{a: .payment.received[0]}", 4},
           {".a | .payment.received", 5},
           {R"x("\(.payment.received)")x", 3},
       }) {
    EXPECT_EQ(find_split_key(program, kKey), at) << program;
  }
  for (const char* program : {R"(.["payment.received"])", R"(."payment.received")",
                              ".a.payment.received", ".[0].payment.received", ".payment.receivedAt",
                              ".payment", R"(" .payment.received")", ". # .payment.received"}) {
    EXPECT_EQ(find_split_key(program, kKey), std::string::npos) << program;
  }
}

TEST(JqSyntax, FindsAFormatThatJqDoesNotHave) {
  EXPECT_EQ(find_unknown_format(".a | @jsn"), "@jsn");
  EXPECT_EQ(find_unknown_format("@json \"\\(.a | @foo)\""), "@foo");
  EXPECT_EQ(find_unknown_format("@base32d"), "@base32d");
  for (const char* program : {"\"@foo\"", ". # @foo", ".a == \"x\\n@y\""}) {
    EXPECT_EQ(find_unknown_format(program), "") << program;
  }
  for (const std::string_view format : kJqFormats) {
    EXPECT_EQ(find_unknown_format(fmt::format(".a | {} \"\\(.)\"", format)), "");
  }
}

TEST(JqSyntax, CountsTheColumnOfAPlaceInCharacters) {
  EXPECT_EQ(place_in("é | b", 3), "column 3");
  EXPECT_EQ(place_in("a", 1), "column 2");
  EXPECT_EQ(place_in("", 0), "column 1");
  EXPECT_EQ(place_in("a\né b", 5), "line 2, column 3");
  EXPECT_EQ(place_in("a\n", 0), "line 1, column 1");
  EXPECT_EQ(place_in("a\n", 2), "line 2, column 1");
}

}  // namespace
}  // namespace millrace
