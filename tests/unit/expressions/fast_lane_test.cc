#include "expressions/fast_lane.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

Result<Json> run(std::string_view program, std::string_view input) {
  const std::shared_ptr<const FastProgram> fast = compile_fast(program);
  if (!fast) return fail("test", "not in the fast lane");
  return fast->run(*parse_json(input));
}

TEST(FastLane, EvaluatesTheNamesOfTheInstanceAndTheTime) {
  const LazyJson instance(Json::parse(R"({"attempt":2,"event":{"type":"t"},"id":"i-1"})"));
  const LazyJson input(Json{{"a", 1}});
  const Bindings bindings{.now = from_millis(1'630'497'600'123), .instance = &instance};
  for (const auto& [program, result] : std::initializer_list<std::pair<const char*, const char*>>{
           {"$instance", R"({"attempt":2,"event":{"type":"t"},"id":"i-1"})"},
           {"$instance.id", R"("i-1")"},
           {"$instance.event", R"({"type":"t"})"},
           {R"x($instance["event"].type)x", R"("t")"},
           {"$instance.event.missing", "null"},
           {". + {$instance} | .instance.attempt", "2"},
           {"{$instance, a}",
            R"({"a":1,"instance":{"attempt":2,"event":{"type":"t"},"id":"i-1"}})"},
           {"[$instance.attempt + .a, $instance.attempt > 1]", "[3,true]"},
           {R"x("order \($instance.id)")x", R"("order i-1")"},
           {R"x("\($instance)")x",
            R"("{\"attempt\":2,\"event\":{\"type\":\"t\"},\"id\":\"i-1\"}")"},
           {"$instance | length", "3"},
           {"$instance.key // .a", "1"},
           {"now", "1630497600.123"},
           {"{at: now} | .at > 1", "true"}}) {
    const auto fast = compile_fast(program);
    ASSERT_NE(fast, nullptr) << program;
    EXPECT_EQ(fast->run(input.value(), bindings), Json::parse(result)) << program;
    size_t left = kLargeJson;
    const auto within = fast->run_within(input, left, true, &bindings);
    ASSERT_TRUE(within && *within) << program;
    EXPECT_EQ((*within)->value(), Json::parse(result)) << program;
    EXPECT_FALSE(fast->run_within(input, left, true)) << program << ": a jq worker has to run it";
  }
  const auto whole_second = compile_fast("now");
  EXPECT_EQ(whole_second->run(nullptr, {.now = from_millis(5'000)}), Json(5));
  EXPECT_EQ(compile_fast("$instance")->run(1, {}), Json()) << "without an instance it is null";
  for (const char* program : {"$other", "$", "$ instance", "{$other}", "{$instance: 1}",
                              "$instancex", ". as $instance | $instance"}) {
    EXPECT_EQ(compile_fast(program), nullptr) << program;
  }
}

TEST(FastLane, LeavesALargeInstanceToAJqWorker) {
  const LazyJson instance(Json{{"id", std::string(kLargeJson, 'x')}});
  const Bindings bindings{.now = {}, .instance = &instance};
  size_t left = kLargeJson;
  EXPECT_FALSE(compile_fast("$instance.id")->run_within(Json(), left, false, &bindings));
  EXPECT_TRUE(compile_fast(".a")->run_within(Json(), left, false, &bindings));
}

TEST(FastLane, EvaluatesTheProgramsOfMostWorkflows) {
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
           {".x + 1", kData, "8"},
           {".x - 0.5 + .x", kData, "13.5"},
           {"-.x", kData, "-7"},
           {"-.", "0", "0"},
           {".a + {d: .x}", kData, R"({"b":[1,{"c":"x"},3],"d":7})"},
           {".a.b + [.x] | length", kData, "4"},
           {".big + null", kData, "9007199254740993"},
           {R"x("n\(.x): \(.a.b[1])")x", kData, R"("n7: {\"c\":\"x\"}")"},
           {"[.x.y?, .n?]", kData, "[null]"},
           {".x.y? // 1", kData, "1"},
           {".x == 7.0", kData, "true"},
           {".[0] < .[1]", R"([{"a":2},{"a":1,"b":0}])", "true"},
           {".[0] < .[1]", R"([{"a":2},{"a":1}])", "false"},
           {R"("a\n\"b\"")", kData, R"("a\n\"b\"")"},
           {"1.50", kData, "1.5"},
           {".[0] == .[1]", "[9007199254740993,9007199254740992]", "true"},
           // Integers beyond 64 bits keep their digits until a program computes with them.
           {".a", R"({"a":-9223372036854775809})", "-9223372036854775809"},
           {"[.[0], {b: .[0]}] + []", "[123456789012345678901234567890]",
            R"([123456789012345678901234567890,{"b":123456789012345678901234567890}])"},
           {". // 1", "18446744073709551616", "18446744073709551616"},
           {". + 1", "18446744073709551616", "1.8446744073709552e+19"},
           {"-.", "18446744073709551616", "-1.8446744073709552e+19"},
           {". - .", "18446744073709551616", "0"},
           {"length", "-18446744073709551616", "1.8446744073709552e+19"},
           {". > 5 and . < 1", "-18446744073709551616", "false"},
           {". > 5", "18446744073709551616", "true"},
           {". < []", "18446744073709551616", "true"},
           {R"x("n\(.)")x", "18446744073709551616", R"("n18446744073709552000")"},
       }) {
    if (result.empty()) {
      EXPECT_EQ(compile_fast(program), nullptr) << program;
      continue;
    }
    const Result<Json> outcome = run(program, input);
    ASSERT_TRUE(outcome) << program << ": " << outcome.error().message;
    EXPECT_EQ(dump_json(*outcome), result) << program;
  }
}

TEST(FastLane, GivesTheErrorMessagesOfLibjq) {
  EXPECT_EQ(run(".a.b", R"({"a":1})").error(),
            (Error{"direktiv.jq.badCommand", "Cannot index number with string \"b\""}));
  EXPECT_EQ(run(".[0]", R"({"a":1})").error(),
            (Error{"direktiv.jq.badCommand", "Cannot index object with number"}));
  EXPECT_EQ(run(".a + {b: 1, a: 2}", R"({"a":"a longer text"})").error().message,
            R"(string ("a longer t...) and object ({"b":1,"a":2}) cannot be added)");
}

TEST(FastLane, LeavesProgramsThatItDoesNotSupportToTheJqWorkers) {
  for (const std::string_view program : {"",
                                         ".a?",
                                         "[1] | .[0]?",
                                         "1 // .a?",
                                         "{a: .b?}",
                                         "[.a?//1]",
                                         "[.a??]",
                                         "[(.a)?]",
                                         "[length?]",
                                         "length(1)",
                                         "length.a",
                                         "[.a, .b | .c]",
                                         "{a: .b + 1}",
                                         "{a: .b // 1}",
                                         ".a * 2",
                                         ".a + 1 * 2",
                                         ".a += 1",
                                         "+ 1",
                                         "1 +",
                                         R"x({"a\(.b)": 1})x",
                                         R"x(.["\(.b)"])x",
                                         R"x("\(.a)x",
                                         R"x("\(.a, .b)")x",
                                         R"x("\()")x",
                                         R"x(@json "\(.a)")x",
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
                                         "01",
                                         "1.",
                                         ".5",
                                         "1e3",
                                         "0x1",
                                         "12345678901234567",
                                         "9007199254740993",
                                         "$x",
                                         "@base64",
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

TEST(FastLane, LeavesProgramsNestedDeeperThan64LevelsToTheJqWorkers) {
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

TEST(FastLane, LimitsTheDepthAndTheSizeOfAResult) {
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
  std::string doubled = ". + .";
  for (int i = 0; i < 40; ++i) doubled += " | . + .";
  EXPECT_EQ(run(doubled, R"("x")").error().code, "millrace.jq.memory");
  EXPECT_EQ(run(doubled, "[1]").error().code, "millrace.jq.memory");
  EXPECT_EQ(run(doubled + R"x( | "\(.)")x", R"({"a":1})").value(), R"({"a":1})");
}

TEST(FastLane, SelectsValuesOfTheInputWithoutACopy) {
  const Json input = *parse_json(R"({"a":{"b":["x"]},"c":null})");
  const auto select = [&](std::string_view program, Json& made) {
    return *compile_fast(program)->select(input, made);
  };
  Json made;
  EXPECT_EQ(select(".", made), &input);
  EXPECT_EQ(select(".a | .b[0]", made), &input["a"]["b"][0]);
  EXPECT_EQ(select(".c // .a.b", made), &input["a"]["b"]);
  EXPECT_EQ(select("null + .a", made), &input["a"]);
  EXPECT_EQ(select("[.a]", made), &made);
  EXPECT_EQ(select("[.a] | .[0]", made), &made);
  EXPECT_EQ(made, input["a"]);
}

// A run with a bound.

TEST(FastLane, LeavesAProgramThatNeedsMoreBytesThanItsBoundToTheJqWorkers) {
  Json data = {{"a", std::string(1'000, 'x')}, {"b", std::string(1'000, 'x')}, {"n", 1}};
  for (int i = 0; i < 100; ++i) data["list"].push_back(i);
  struct Row {
    const char* program;
    bool fits;
  };
  for (const auto& [program, fits] : std::initializer_list<Row>{
           {".", true},
           {".a", true},
           {".list", true},
           {".a.b", true},  // an error
           {".x // .a", true},
           {".n + 1", true},
           {"{n, m: .n}", true},
           {".list == .list", true},
           {".list | length", true},
           {"[.a]", false},
           {"{a}", false},
           {".a + .b", false},
           {".a == .b", false},
           {".list < (.list + [1])", false},
           {".list - [1]", false},
           {".a | length", false},
           {R"x("\(.a)")x", false},
           {"[.a] // 1", false},
           {"[.a] | .[0]", false},
       }) {
    const auto fast = compile_fast(program);
    ASSERT_NE(fast, nullptr) << program;
    for (const LazyJson& input : {LazyJson(data), LazyJson::of_text(dump_json(data))}) {
      size_t left = 500;
      const auto result = fast->run_within(input, left, false);
      EXPECT_EQ(result.has_value(), fits) << program;
      EXPECT_LE(left, 500U) << program;
      if (!result) continue;
      const Result<Json> expected = fast->run(data);
      ASSERT_EQ(result->has_value(), expected.has_value()) << program;
      if (expected) {
        EXPECT_EQ((*result)->text(), dump_json(*expected)) << program;
      } else {
        EXPECT_EQ(result->error(), expected.error()) << program;
      }
    }
  }
}

TEST(FastLane, SubtractsTheBytesOfARunFromItsBound) {
  const LazyJson input = {{"a", std::string(100, 'x')}};
  const auto left_after = [&](const char* program, bool counts_parts) {
    size_t left = 1'000;
    EXPECT_TRUE(compile_fast(program)->run_within(input, left, counts_parts)) << program;
    return left;
  };
  EXPECT_EQ(left_after("[.a]", false), 1'000U - 102);
  EXPECT_EQ(left_after("[.a]", true), 1'000U - 102);
  EXPECT_EQ(left_after(".a", false), 1'000U);
  EXPECT_EQ(left_after(".a", true), 1'000U - 102);
  EXPECT_LT(left_after(".", true), 1'000U);
  size_t left = 50;
  EXPECT_FALSE(compile_fast(".a")->run_within(input, left, true));
}

TEST(FastLane, SharesAPartOfTheInputWithTheResultOfABoundedRun) {
  const LazyJson input = {{"a", {{"b", {1, 2}}}}};
  size_t left = 0;
  const auto whole = compile_fast(".")->run_within(input, left, false);
  const auto part = compile_fast(".a.b")->run_within(input, left, false);
  ASSERT_TRUE(whole && *whole && part && *part);
  EXPECT_EQ(&(*whole)->value(), &input.value());
  EXPECT_EQ(&(*part)->value(), &input.value()["a"]["b"]);
}

TEST(FastLane, LeavesLargeInputsToTheJqWorkers) {
  size_t left = 1'000;
  const LazyJson large = {{"a", std::string(kLargeJson, 'x')}, {"n", 1}};
  EXPECT_FALSE(compile_fast(".n")->run_within(large, left, false));
  const auto same = compile_fast(".")->run_within(large, left, false);
  ASSERT_TRUE(same && *same);
  EXPECT_EQ((*same)->shared_text(), large.shared_text());
}

TEST(FastLane, TreatsOnlyNullFalseZeroAndEmptyValuesAsFalseInASwitch) {
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
