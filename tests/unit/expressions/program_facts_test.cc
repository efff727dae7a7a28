#include "expressions/program_facts.h"

#include <set>
#include <string>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ProgramFacts, IncludeAResultThatDoesNotDependOnTheInput) {
  for (const auto& [program, value] : std::vector<std::pair<const char*, Json>>{
           {"true", true},
           {"false", false},
           {"1 + 2 > 4", false},
           {"(. | 3)", 3},
           {"{} | .a", nullptr},
           {"[1, 2] | length", 2},
           {"null | not", true},
           {"\"a\" + \"b\"", "ab"},
       }) {
    EXPECT_EQ(facts_of(program).value, value) << program;
  }
  for (const char* program :
       {".", ".a", "not", "length", "[.]", "{a: .a}", "1 + .a", ". | length", ".a == .a",
        "true or .a", "now", "$instance.run", "{a: $instance}", "\"\\(.a)\""}) {
    EXPECT_FALSE(facts_of(program).value) << program;
    EXPECT_FALSE(facts_of(program).error) << program;
  }
}

TEST(ProgramFacts, IncludeTheErrorOfAProgramThatAlwaysFails) {
  for (const char* program : {"1 + \"a\"", "{} - 1", "3 | .a", "-\"a\""}) {
    const ProgramFacts facts = facts_of(program);
    ASSERT_TRUE(facts.error) << program;
    EXPECT_EQ(facts.error->code, kJqBadCommand);
  }
}

TEST(ProgramFacts, IncludeTheTypeThatAllResultsHaveIfItIsKnown) {
  for (const auto& [program, type] : std::vector<std::pair<const char*, const char*>>{
           {"3", "number"},
           {".a | length", "number"},
           {"$instance", "object"},
           {"now", "number"},
           {"-.a", "number"},
           {".a - 1", "number"},
           {".a - [1]", "array"},
           {"[.a]", "array"},
           {"{a: .a}", "object"},
           {"{a: .a} + {b: .b}", "object"},
           {".a == 1", "boolean"},
           {".a and .b", "boolean"},
           {"\"\\(.a)\"", "string"},
           {"({a: .a})", "object"},
           {"[.a] | .", "array"},
           {"[.a] // [.b]", "array"},
           {".", ""},
           {".a", ""},
           {".a + [1]", ""},
           {".a // []", ""},
           {"[.a] | .[0]", ""},
           {"map(.a)", ""},
       }) {
    EXPECT_EQ(facts_of(program).type, type) << program;
  }
}

TEST(ProgramFacts, DescribeTheValueOfATemplate) {
  const auto of = [](const char* json) { return facts_of(*Template::query(*parse_json(json))); };
  EXPECT_EQ(of("3").value, Json(3));
  EXPECT_EQ(of("\"jq(3)\"").value, Json(3));
  EXPECT_EQ(of("\"3 > 4\"").value, Json(false)) << "a plain string is a program";
  EXPECT_EQ(of("\"jq(.a) > 3\"").type, "string");
  EXPECT_FALSE(of("\"jq(.a) > 3\"").value);
  EXPECT_EQ(of(R"j({"a": "jq(.a)"})j").type, "object");
  EXPECT_EQ(of(R"j(["jq(.a)"])j").type, "array");
}

TEST(ProgramFacts, ListTheKeysThatAreReadFromTheInput) {
  const auto paths = [](std::string_view program) {
    std::vector<std::string> lines;
    for (const auto& path : key_paths_of(program))
      lines.push_back(fmt::format("{}", fmt::join(path, " ")));
    return lines;
  };
  EXPECT_THAT(paths(".a.b.c"), ElementsAre("a b c"));
  EXPECT_THAT(paths("{x: .a.b, y: [.[\"a.b\"].c]}"), ElementsAre("a b", "a.b c"));
  EXPECT_THAT(paths(". | .a.b"), ElementsAre("a b"));
  EXPECT_THAT(paths(".a[\"b\"]"), ElementsAre("a b"));
  EXPECT_THAT(paths(".\"a\".b"), ElementsAre("a b"));
  EXPECT_THAT(paths("(.a).b"), ElementsAre("a b"));
  EXPECT_THAT(paths(".a | .b | .c"), ElementsAre("a", "a b", "a b c"));
  EXPECT_THAT(paths(".a[0].b"), ElementsAre("a"));
  EXPECT_THAT(paths(".a[0] | .b"), ElementsAre("a"));
  EXPECT_THAT(paths("{a: 1} | .a.b"), IsEmpty());
  EXPECT_THAT(paths("map(.a.b)"), IsEmpty()) << "the fast lane does not support map";
}

/// A projection as text: `*` is a whole value, `{a b}` are members.
std::string described(const Projection& projection) {
  if (projection.is_whole) return "*";
  std::vector<std::string> members;
  for (const auto& [name, part] : projection.members) members.push_back(name + described(part));
  return fmt::format("{{{}}}", fmt::join(members, " "));
}

TEST(ProgramFacts, HaveAProjectionOfWhatIsRead) {
  struct Row {
    const char* program;
    const char* projection;
  };
  for (const auto& [program, projection] : std::vector<Row>{
           {"1", "{}"},
           {".", "*"},
           {"length", "*"},
           {"not", "*"},
           {". + {a: 1}", "*"},
           {".[0]", "*"},
           {".a", "{a*}"},
           {".a.b.c", "{a{b{c*}}}"},
           {".a.b?.c", "*"},
           {".a[0].b", "{a*}"},
           {".a[0] | .b", "{a*}"},
           {".a.b + .a.c", "{a{b* c*}}"},
           {".a.b + .a", "{a*}"},
           {".a | .b", "{a*}"},
           {"(.a | .b).c", "{a{b{c*}}}"},
           {".a | length", "{a*}"},
           {"{x: .a.b} | .x", "{a{b*}}"},
           {"{x: .a.b} | length", "{a{b*}}"},
           {"\"\\(.a.b) of \\(.c)\"", "{a{b*} c*}"},
           {".a.b // .c == null", "{a{b*} c*}"},
           {"-.a.b < 1 and (.c | not)", "{a{b*} c*}"},
           {"map(.a)", "*"},
       }) {
    EXPECT_EQ(described(projection_of(*make_program(program))), projection) << program;
  }
}

TEST(ProgramFacts, KnowsThePathsThatYieldNullIfAMemberIsMissing) {
  for (const char* const program : {".a", ".a.b", ".[\"a b\"].c", ".a[0]", ".a | .b", "(.a).b"}) {
    EXPECT_TRUE(is_path_to_member(program)) << program;
  }
  for (const char* const program :
       {".", ".a // 0", ".a + 1", "5", "{a}.a", ".a | length", "[.a]", "map(.a)"}) {
    EXPECT_FALSE(is_path_to_member(program)) << program;
  }
}

TEST(ProgramFacts, KnowsTheKeysOfAnObjectThatDependOnNoInput) {
  using Keys = std::set<std::string>;
  EXPECT_EQ(object_keys_of("{a: .x, b, \"c d\": 1}"), (Keys{"a", "b", "c d"}));
  EXPECT_EQ(object_keys_of("{}"), Keys());
  EXPECT_EQ(object_keys_of("{a} + {b}"), (Keys{"a", "b"}));
  EXPECT_EQ(object_keys_of(".x | {a} | ."), Keys{"a"});
  for (const char* const program : {".", ".a", "{a} + .", ". + {a}", "{(.k): 1}", "{a} | .a",
                                    "[{a}]", "{a} // {b}", "map({a})"}) {
    EXPECT_EQ(object_keys_of(program), std::nullopt) << program;
  }
}

}  // namespace
}  // namespace millrace
