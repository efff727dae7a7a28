#include "expressions/fast_lane.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

QueryResult run(std::string_view program, std::string_view input) {
  const std::shared_ptr<const FastProgram> fast = compile_fast(program);
  if (!fast) return evaluation_failed("test", "not in the fast lane");
  return fast->run(*parse_json(input));
}

TEST(FastLane, EvaluatesWhatMostWorkflowsUse) {
  struct Row {
    std::string_view program;
    std::string_view input;
    std::string_view result;
  };
  constexpr std::string_view kData =
      R"({"a":{"b":[1,{"c":"x"},3]},"a b":true,"big":9007199254740993,"n":null,"x":7})";
  for (const auto& [program, input, result] : std::initializer_list<Row>{
           {".", kData, kData},
           {".x", kData, "7"},
           {".big", kData, "9007199254740993"},
           {".missing.deeper[3]", kData, "null"},
           {".a.b[1].c", kData, R"("x")"},
           {".a.b[-1]", kData, "3"},
           {".a.b[-4]", kData, "null"},
           {R"(."a b")", kData, "true"},
           {R"(.["a"]["b"][0])", kData, "1"},
           {R"(."a".b[2])", kData, "3"},
           {" . a", kData, ""},
           {"[.x, .a.b[0], -1, [], null]", kData, "[7,1,-1,[],null]"},
           {R"({x, y: .a.b[0], "a b", "z": {}, if: 2})", kData,
            R"({"a b":true,"if":2,"x":7,"y":1,"z":{}})"},
           {"{a: 1, a: .x}", kData, R"({"a":7})"},
           {".a | .b | .[0]", kData, "1"},
           {"({k: .x}).k", kData, "7"},
           {".x > 5", kData, "true"},
           {".x > 5 and .n == null or error_is_not_reached", kData, ""},
           {".x >= 7 and (.n | not)", kData, "true"},
           {".n // .x", kData, "7"},
           {".x == 7.0", kData, "true"},
           {R"("a\n\"b\"")", kData, R"("a\n\"b\"")"},
           {"1.50", kData, "1.5"},
           {".[0] == .[1]", "[9007199254740993,9007199254740992]", "true"},
       }) {
    if (result.empty()) {
      EXPECT_EQ(compile_fast(program), nullptr) << program;
      continue;
    }
    const QueryResult outcome = run(program, input);
    ASSERT_TRUE(outcome) << program << ": " << outcome.error().message;
    EXPECT_EQ(dump_json(*outcome), result) << program;
  }
}

TEST(FastLane, FailsInTheWordsOfLibjq) {
  EXPECT_EQ(run(".a.b", R"({"a":1})").error(),
            (EvaluationError{"direktiv.jq.badCommand", "Cannot index number with string \"b\""}));
  EXPECT_EQ(run(".[0]", R"({"a":1})").error(),
            (EvaluationError{"direktiv.jq.badCommand", "Cannot index object with number"}));
}

TEST(FastLane, LeavesTheRestToTheWorkers) {
  for (const std::string_view program : {"",
                                         ".a?",
                                         ".[]",
                                         ".a[]",
                                         "..",
                                         "...",
                                         ".[1:2]",
                                         ".[.a]",
                                         ".a.[0]",
                                         ". a",
                                         ".a. b",
                                         ".a,.b",
                                         "length",
                                         ".a | length",
                                         "-.a",
                                         "1 - 1",
                                         ".a + 1",
                                         "-0",
                                         "01",
                                         "1.",
                                         ".5",
                                         "1e3",
                                         "0x1",
                                         "12345678901234567",
                                         "9007199254740993",
                                         "$x",
                                         "@base64",
                                         R"x("\(.a)")x",
                                         R"("\u0041")",
                                         R"("\q")",
                                         "\"a",
                                         "{(.a): 1}",
                                         "{$x}",
                                         "{a: 1,}",
                                         "[1,]",
                                         "{and}",
                                         "{1: 2}",
                                         "{a: 1 == 1}",
                                         "[.a | .b]",
                                         "if . then 1 else 2 end",
                                         ".a = 1",
                                         ".a |= 1",
                                         ".a //= 1",
                                         ".a ?// 1",
                                         "1 == 2 == 3",
                                         ". # comment",
                                         "not(1)",
                                         "null.a.b | error",
                                         "true::x",
                                         ".a)",
                                         "(.a",
                                         "1 2",
                                         "import \"a\" as a; .",
                                         "def f: 1; f",
                                         ".\"a\"\"b\"",
                                         "\"\xff\""}) {
    EXPECT_EQ(compile_fast(program), nullptr) << program;
  }
}

TEST(FastLane, DoesNotNestBeyondReason) {
  const auto nested = [](char open, char close, size_t depth) {
    std::string text(2 * depth + 1, open);
    text[depth] = '1';
    std::fill(text.end() - static_cast<std::ptrdiff_t>(depth), text.end(), close);
    return text;
  };
  EXPECT_NE(compile_fast(nested('[', ']', 64)), nullptr);
  EXPECT_EQ(compile_fast(nested('[', ']', 65)), nullptr);
  EXPECT_EQ(compile_fast(nested('(', ')', 1000)), nullptr);
}

TEST(FastLane, KeepsTheLimitsOfAResult) {
  const std::string deep = std::string(127, '[') + std::string(127, ']');
  EXPECT_TRUE(run("[.]", deep));
  EXPECT_TRUE(run("[[.]] | .[0]", deep));
  EXPECT_EQ(run("[[.]]", deep).error(), result_too_deep().value());

  const std::string large = "\"" + std::string(kMaxResultBytes / 2, 'x') + "\"";
  EXPECT_TRUE(run("[.]", large));
  EXPECT_TRUE(run("[., .] | .[0]", large));
  EXPECT_EQ(run("[., .]", large).error(), result_too_large().value());
  std::string many = "[.";
  for (int i = 0; i < 100; ++i) many += ",.";
  EXPECT_EQ(run(many + "]", large).error().code, "millrace.jq.memory");
}

TEST(FastLane, KnowsTheIdentity) {
  EXPECT_TRUE(compile_fast(" . ")->is_identity());
  EXPECT_FALSE(compile_fast(".a")->is_identity());
  EXPECT_FALSE(compile_fast("[.]")->is_identity());
}

TEST(Truth, OfASwitchIsAllButTheEmptyValues) {
  for (const char* text : {"null", "false", "\"\"", "0", "0.0", "-0.0", "[]", "{}"}) {
    EXPECT_FALSE(is_true(*parse_json(text))) << text;
  }
  for (const char* text :
       {"true", "\"0\"", "-1", "0.1", "18446744073709551615", "[0]", "{\"\":0}"}) {
    EXPECT_TRUE(is_true(*parse_json(text))) << text;
  }
}

}  // namespace
}  // namespace millrace
