// The meaning of the fast lane is libjq: both get the same programs and inputs, and must agree on
// the value or on the error.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "expressions/fast_lane.h"
#include "pool_fixture.h"

namespace millrace {
namespace {

const char* const kInputs[] = {
    "null",
    "true",
    "false",
    "0",
    "-7",
    "3.25",
    "9007199254740993",
    R"("")",
    R"("a")",
    "[]",
    R"([1,[2,{"a":3}],"x",null])",
    "{}",
    R"({"a":1,"b":{"a":[10,20,{"c":"deep"}],"b":null},"c":[1,2,3],"a b":"spaced","true":7})",
    R"({"a":{"a":{"a":{"a":4}}},"b":false,"c":"text","d":[[[1]]],"x":6,"if":1})",
    R"({"":1,"é":"ü","a\"b":2,"a\nb":3,"n":1e3,"f":1.50,"a":[],"b":{}})",
    R"([{"a":1,"b":2},{"a":2},{"b":1}])"};

const char* const kPrograms[] = {
    // paths
    ".",
    " . ",
    ".a",
    ".a.b",
    ".a.a.a.a",
    ".b.a[2].c",
    ".b .a [ 1 ]",
    ". .a",
    R"(."a")",
    R"(. "a")",
    R"(."a b")",
    R"(.["a b"])",
    R"(.b["a"])",
    R"(.b."a"[0])",
    R"(."a"."a")",
    R"(.["a"]["a"])",
    ".[0]",
    ".[-1]",
    ".[ - 2 ]",
    ".[1][1].a",
    ".[100]",
    ".[-100]",
    ".c[0]",
    ".c[-3]",
    ".c[3]",
    ".d[0][0][0]",
    R"(.[""])",
    R"(."")",
    R"(.["é"])",
    R"(.["a\"b"])",
    R"(.["a\nb"])",
    ".true",
    ".if",
    ".and",
    ".null",
    ".__loc__",
    "._x1",
    ".a[0]",
    ".x",
    ".n",
    ".f",
    ".\n.a",
    ".\t.a",
    ".[1.0]",
    ".[0].a.b",
    // literals
    "null",
    "true",
    "false",
    "0",
    "7",
    "-7",
    "- 7",
    "1.5",
    "-1.5",
    "1.0",
    "2.50",
    "999999999999999",
    "0.000001",
    R"("")",
    R"("text")",
    R"("é😀")",
    R"("\"\\\/\n\r\t\b\f")",
    R"("a" )",
    "\"two\nlines\"",
    // construction
    "[]",
    "{}",
    "[1]",
    "[.]",
    "[.a]",
    "[.a, .b, .c]",
    "[[.a], [], {}]",
    "[-1, 1.5, \"x\", null]",
    "{a: .a}",
    "{a}",
    "{a, b}",
    "{\"a b\"}",
    "{\"k\": .a}",
    "{a: 1, a: 2}",
    "{a: {b: {c: .x}}}",
    "{a: [.a, {x}]}",
    "{a: -1}",
    "{true}",
    "{null: 1}",
    "{if: 1, and: 2, def: 3}",
    "{not: true}",
    "{a: .b.a[0]}",
    "{a: (.b | .a)}",
    "{ a : .a , b : 2 }",
    "{a: null, b: false, c: \"\"}",
    "[.a, .b.c.d]",
    "{a: .b.c.d, b: .a.c.d}",
    "[.a.b.c, .c.d.e]",
    "{\"\": 1}",
    "{_a1: 1}",
    "{a: .a}.a",
    "[1, 2][1]",
    "[1, 2][-3]",
    "{a: {b: 1}}.a.b",
    "{a: 1}[0]",
    "[1].a",
    "[.a // 1]",
    "[.a == 1, .a > 1]",
    "[.a and .b]",
    "{a: (.a == 1)}",
    "{a: not}",
    "{__loc__: 1}",
    // pipes and groups
    ".a | .",
    ". | .a",
    ".a | .b",
    ".b | .a | .[0]",
    "(.)",
    "(.a)",
    "(.a).b",
    "(.a | .b).c",
    "((.))[0]",
    "({a: .b}) | .a",
    "{a: .b} | .a",
    "{a: .b} | {c: .a} | .c.a",
    "[.] | .[0]",
    "[., .] | .[1]",
    "[.a] | .[0] | [.]",
    "\"x\" | .",
    "1 | .a",
    "null | .a[0].b",
    // comparisons
    ". == .",
    ". == null",
    ". == 0",
    ". == 3.25",
    ". == -7",
    ". == \"\"",
    ". == []",
    ". == {}",
    ". != null",
    ". != .",
    ".a == 1",
    ".a == 1.0",
    ".a != 1",
    ".x > 5",
    ".x >= 6",
    ".x < 6",
    ".x <= 6",
    ". < 0",
    ". > 0",
    ". <= null",
    ". >= null",
    ". < true",
    ". < \"a\"",
    ". < \"b\"",
    ". < []",
    ". < {}",
    ". > []",
    ". > {}",
    ". < [1]",
    ". < [1, [2]]",
    ". < [1, [2, {}], \"y\"]",
    ". < {a: 1}",
    ". < {b: 1}",
    ". > {a: 1, b: 2}",
    ". == {\"a\": 1}",
    ".[0] < .[1]",
    ".[1] < .[0]",
    ".[1] < .[2]",
    ".[2] > .[0]",
    ".[0] == .[0]",
    ".a < .b",
    ".a < .c",
    ".c < .b",
    ".b >= .a",
    "[.a] == [.a]",
    "{a} == {a}",
    "{a} < {b}",
    ".[0] != .[1]",
    "[false] < [true]",
    "{a: 2, b: 1} < {a: 1, c: 1}",
    "\"a\" < \"aa\"",
    "\"z\" < \"é\"",
    ".a.b == .c.d",
    ".a.b.c < .b[0].d",
    "(.a == 1) == true",
    ". < . | not",
    // logic
    "not",
    ". | not",
    ".a | not",
    ".a == 1 | not",
    ".a and .b",
    ".a or .b",
    ".a and .a.b.c.d",
    ".a or .a.b.c.d",
    ".b and .a.b.c.d",
    ".b or .a.b.c.d",
    "true and null",
    "null or false",
    ".a == 1 and .b.b == null",
    ".a == 1 or .x > 5 and .b",
    "(.a or .b) and .c",
    ". and true",
    "0 and \"\"",
    "[] or false",
    "not and not",
    "not or not",
    ".a and .b and .c",
    ".a or .b or .c",
    "false and .a.b.c.d.e",
    // alternatives
    ".a // 5",
    ".b // 5",
    ".b // .c",
    ".b // .nope // \"last\"",
    ".nope // null",
    "null // false",
    "false // null",
    ". // 1",
    ".a.b.c // 1",
    "1 // .a.b.c",
    "(.b // .c).d",
    ".b // .a == 1",
    ".b // .c | not",
    "[.b // .c, .a // 0]",
    ".a // {} | .b",
    "(.nope // []) | .[0]",
};

class FastLaneEqualsLibjq : public PoolTest {
 protected:
  /// Runs every program on every input in both ways.
  void compare(const std::vector<std::string>& programs, const std::vector<std::string>& inputs) {
    std::vector<std::future<std::vector<QueryResult>>> answers;
    for (const std::string& program : programs) {
      Evaluation evaluation;
      for (const std::string& input : inputs) {
        evaluation.queries.push_back({program, shared_text(input)});
      }
      answers.push_back(evaluate_later(pool(), evaluation));
    }
    for (size_t p = 0; p < programs.size(); ++p) {
      const std::shared_ptr<const FastProgram> fast = compile_fast(programs[p]);
      const std::vector<QueryResult> expected = answers[p].get();
      EXPECT_NE(fast, nullptr) << programs[p];
      if (!fast) continue;
      ASSERT_EQ(expected.size(), inputs.size()) << programs[p];
      for (size_t i = 0; i < inputs.size(); ++i) {
        EXPECT_EQ(fast->run(*parse_json(inputs[i])), expected[i])
            << programs[p] << " on " << inputs[i] << "\nlibjq: " << described(expected[i])
            << "\nfast:  " << described(fast->run(*parse_json(inputs[i])));
      }
    }
  }

  static std::string described(const QueryResult& result) {
    return result ? dump_json(*result) : "error: " + result.error().message;
  }
};

TEST_F(FastLaneEqualsLibjq, OnEveryFormOfItsSyntax) {
  compare({std::begin(kPrograms), std::end(kPrograms)}, {std::begin(kInputs), std::end(kInputs)});
}

/// Draws values and programs over few names, so that paths often lead somewhere.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Json value(int depth = 0) {
    switch (pick(depth < 4 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return pick(2) == 0;
      case 2:
        return static_cast<int64_t>(pick(7)) - 3;
      case 3:
        return static_cast<double>(pick(100)) / 8;
      case 4:
        return name();
      case 5:
        return "";
      case 6: {
        Json array = Json::array();
        for (size_t n = pick(4); n > 0; --n) array.push_back(value(depth + 1));
        return array;
      }
      default: {
        Json object = Json::object();
        for (size_t n = pick(4); n > 0; --n) object[name()] = value(depth + 1);
        return object;
      }
    }
  }

  /// Tokens at random: few are programs at all.
  std::string tokens() {
    const char* const all[] = {".",      ".a", ".b",   "..", "[",     "]",    "(",   ")",
                               "{",      "}",  ",",    "|",  ":",     "?",    "==",  "<",
                               "and",    "or", "not",  "//", "-",     "1",    "0",   "-1",
                               "1.5",    "a",  "null", "b",  "\"a\"", "true", "[0]", "[\"a\"]",
                               ".\"b\"", ">=", "=",    "$x", "empty", " ",    " ",   "\n"};
    std::string text;
    for (size_t n = 1 + pick(7); n > 0; --n) text += all[pick(std::size(all))];
    return text;
  }

  std::string program(int depth = 0) {
    switch (pick(depth < 3 ? 12 : 5)) {
      case 0:
      case 1:
      case 2:
        return path();
      case 3:
        return pick(2) == 0 ? path() : "(" + path() + ")";
      case 4:
        return dump_json(Json(scalar()));
      case 5:
        return "[" + element(depth) + ", " + element(depth) + "]";
      case 6:
        return "{" + name() + ": " + group(depth) + ", " + name() + "}";
      case 7:
        return group(depth) + " | " + program(depth + 1);
      case 8: {
        const char* const operators[] = {"==", "!=", "<", "<=", ">", ">="};
        return group(depth) + " " + operators[pick(6)] + " " + group(depth);
      }
      case 9:
        return group(depth) + (pick(2) == 0 ? " and " : " or ") + group(depth);
      case 10:
        return group(depth) + " // " + group(depth);
      default:
        return group(depth) + " | not";
    }
  }

 private:
  size_t pick(size_t below) { return random_() % below; }
  std::string name() { return std::string(1, "abc"[pick(3)]); }
  std::string group(int depth) { return "(" + program(depth + 1) + ")"; }
  std::string element(int depth) { return pick(2) == 0 ? path() : group(depth); }

  Json scalar() {
    switch (pick(4)) {
      case 0:
        return nullptr;
      case 1:
        return pick(2) == 0;
      case 2:
        return static_cast<int64_t>(pick(7)) - 3;
      default:
        return name();
    }
  }

  std::string path() {
    std::string path = ".";
    for (size_t n = pick(4); n > 0; --n) {
      switch (pick(4)) {
        case 0:
          path += "[" + std::to_string(static_cast<int64_t>(pick(5)) - 2) + "]";
          break;
        case 1:
          path += "[\"" + name() + "\"]";
          break;
        default:
          path += (path == "." ? "" : ".") + name();
      }
    }
    return path;
  }

  std::mt19937 random_;
};

TEST_F(FastLaneEqualsLibjq, OnGeneratedProgramsAndInputs) {
  constexpr uint32_t kSeed = 20210901;
  Generator generator(kSeed);
  std::vector<std::string> inputs;
  for (int i = 0; i < 60; ++i) inputs.push_back(dump_json(generator.value()));
  std::vector<std::string> programs;
  for (int i = 0; i < 250; ++i) programs.push_back(generator.program());
  compare(programs, inputs);
}

TEST_F(FastLaneEqualsLibjq, OnWhateverTextItTakes) {
  constexpr uint32_t kSeed = 20210902;
  Generator generator(kSeed);
  std::set<std::string> taken;
  while (taken.size() < 250) {
    std::string text = generator.tokens();
    if (compile_fast(text)) taken.insert(std::move(text));
  }
  compare({taken.begin(), taken.end()},
          {"null", "1", R"({"a":{"a":[1],"b":false},"b":"x"})", R"([{"a":null,"b":1}])"});
}

}  // namespace
}  // namespace millrace
