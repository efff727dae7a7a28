// The meaning of the fast lane is libjq: both get the same programs and inputs, and must agree on
// the value or on the error. The random ones are of one seed: MILLRACE_SEED=… repeats one that was
// printed, MILLRACE_SEEDS=… runs so many, each of 20 000 cases.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/big_integer.h"
#include "expressions/fast_lane.h"
#include "pool_fixture.h"
#include "tests/support/campaign.h"

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
    "-9223372036854775809",
    R"({"a":123456789012345678901234567890,"b":[18446744073709551616,1]})",
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
    // `?`
    "[.a?]",
    "[.a.b?, .b.a?, .[0]?]",
    "[.a?.b, 1]",
    "[.a ? .b ?]",
    "[.[\"a\"]?, .\"a\"?, .[-1] ?]",
    ".a? // 1",
    ".a.b.c? // \"none\"",
    ".a? // .b? // .c",
    ".a? // .b? // null",
    "(.a? | .b) // 2",
    "[{a: .b?}, {b: .a.b?}]",
    "[.a? + 1]",
    "[\"a\\(.b.c?)c\"]",
    "[.a? == null]",
    "[.a? and true]",
    "(.a?.b?.c? // .x).d",
    // text
    R"x("\(.)")x",
    R"x("a\(.a)b\(.b)c")x",
    R"x("\(.a.b.c) and \(.c.d.e)")x",
    R"x("\(.c.d.e) and \(.a.b.c)")x",
    R"x("\("\(.a)")")x",
    R"x("\(1 | . | "\(.)")")x",
    R"x("\( .a // "none" )!")x",
    R"x("\({b: 1, a: 2})")x",
    R"x("\({a: 1, b: {d: ., c: 2}})")x",
    R"x("\([{b: 1, a: 2}])")x",
    R"x({b: 1, a: 2} | "\(.)")x",
    R"x({b: 1, a: 2} | [.] | .[0] | "\(.) \(.b)")x",
    R"x("\({b: 1} + {a: 2})")x",
    R"x("\({b: 1, a: 2} + {b: 3, "0": 1})")x",
    R"x("\({b: 1, a: 1, b: 2})")x",
    R"x("\({"b": 2, "a": 1} // .)")x",
    R"x("\("x" + "y") \(1 + 1)")x",
    R"x("\(0.1) \(1.0) \(-1) \(100000000000000) \(0.0001) \(0.00001) \(123456.789)")x",
    R"x("\(null) \(true) \([]) \({})")x",
    R"x("\"\\\(.)\n")x",
    R"x("\(length)")x",
    // length
    "length",
    "[.a | length]",
    ".a | length",
    "[.[0] | length]",
    "{n: .a | length}",
    "{n: .a | length | -. | length}",
    "-1.5 | length",
    R"("é😀" | length)",
    ".a.b | length > 1",
    "length + length",
    "length == 0",
    // sums and differences
    ". + .",
    ". - .",
    ". + 1",
    ". - 1",
    "1 + .",
    "1 - .",
    ". + null",
    "null + .",
    "null + null",
    "null - .",
    ". + \"x\"",
    "\"x\" + .",
    ". + []",
    ". + [1]",
    "[1, [2, {\"a\": 3}]] - .",
    ". - [1, \"x\"]",
    ". - [[2, {\"a\": 3}], null]",
    "[1, 2, 1, 3] - [1]",
    "[1, 1.0, \"1\", [1], {\"a\": 1}] - [1, [1], {\"a\": 1}]",
    ". + {}",
    ". + {z: 1, a: 2}",
    "{z: 1, a: 2} + .",
    "{b: {x: 1}} + {b: {y: 2}}",
    "{b: 1, a: 2} + 1",
    "1 + {b: 1, a: 2}",
    "{b: 1, a: 2} - {a: 1}",
    "[{b: 1, a: 2}] + 1",
    "({b: 1, a: 2} + {c: 1, a: 3}) - 1",
    "({c: 1} + .) + 1",
    "(. + {\"\": 1}) - 1",
    "-{b: 1, a: 2}",
    "-.",
    "-.a",
    "- - .a",
    "-.a + .x",
    "-(.a) - -.x",
    "[-1, -.a // 1]",
    "{a: -.a, b: -1 | -.}",
    "-0",
    "-0 + -0",
    "[-0] == [0]",
    "-0 + \"\"",
    "0.1 + 0.2",
    "0.1 + 0.2 + \"\"",
    "1 - 0.9 == 0.1",
    "999999999999999 + 1",
    "999999999999999 + 1 + \"\"",
    ".a + .b",
    ".a + .b + .c",
    ".a - .b + .c",
    ".a + (.b - .c)",
    "1 - 2 - 3",
    "1 - (2 - 3)",
    "1 + 2 == 3 and 2 - 1 == 1",
    "1 == 1 + 0",
    ".a // 1 + 1",
    ".a + 1 // 1",
    "1 + 1 | . + 1",
    "\"a\" + \"b\" + \"c\"",
    "[1] + [2] + [.a]",
    "{} + {a: 1} + {a: .a} + {b: 2}",
    ".a.b.c.d + .c.d.e.f",
    ".c.d.e.f - .a.b.c.d",
    "\"é€é€é€é€é€\" + 1",
    "\"aé€é€é€é€é€\" + 1",
    "\"aaé€é€é€é€é€\" + 1",
    "\"aaaé€é€é€é€é€\" - 1",
    "\"😀😀😀😀😀\" - 1",
    "\"12345678901\" + 1",
    "\"123456789012\" + 1",
    "\"1234567890123\" + 1",
    "\"\\\"\\\\\\n\\r\\t\\b\\f/\" + 1",
    "true + null",
    "true + true",
    "[] - {}",
    "{} - {}",
    "\"\" - \"\"",
    "\"a\" + 1 + {}",
};

/// Equal but for the spelling of numbers.
bool equal(const Json& a, const Json& b) {
  if (is_any_number(a) && is_any_number(b)) return double_of(a) == double_of(b);
  if (a.is_structured() && a.type() == b.type() && a.size() == b.size()) {
    for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
      if (a.is_object() && left.key() != right.key()) return false;
      if (!equal(*left, *right)) return false;
    }
    return true;
  }
  return a == b;
}

bool equal(const QueryResult& a, const QueryResult& b) { return a && b ? equal(*a, *b) : a == b; }

std::string described(const QueryResult& result) {
  return result ? dump_json(*result) : result.error().code + ": " + result.error().message;
}

class FastLaneEqualsLibjq : public PoolTest {
 protected:
  /// Runs every program on every input in both ways.
  void compare(const std::vector<std::string>& programs, const std::vector<std::string>& inputs) {
    std::vector<Group> groups;
    for (const std::string& program : programs) {
      if (groups.empty() || !groups.back().has_room_for(program)) groups.emplace_back();
      groups.back().add(program);
    }
    for (Group& group : groups) group.answers = evaluate_later(pool(), group.evaluation(inputs));
    for (Group& group : groups) {
      const std::vector<QueryResult> answers = group.answers.get();
      ASSERT_EQ(answers.size(), inputs.size());
      for (size_t p = 0; p < group.programs.size(); ++p) {
        const std::string& program = group.programs[p];
        const std::shared_ptr<const FastProgram> fast = compile_fast(program);
        EXPECT_NE(fast, nullptr) << program;
        if (!fast) continue;
        for (size_t i = 0; i < inputs.size(); ++i) {
          ASSERT_TRUE(answers[i]) << described(answers[i]) << "\n" << group.text();
          const QueryResult expected = one_result((*answers[i])[p]);
          const QueryResult result = fast->run(*parse_json(inputs[i]));
          EXPECT_TRUE(equal(result, expected))
              << program << " on " << inputs[i] << "\nlibjq: " << described(expected)
              << "\nfast:  " << described(result);
        }
      }
    }
  }

 private:
  /// Programs that libjq compiles together: that takes it as long as one of them.
  struct Group {
    bool has_room_for(const std::string& program) const {
      return programs.size() < 25 && bytes + program.size() < 3000;
    }
    void add(const std::string& program) {
      programs.push_back(program);
      bytes += program.size() + 30;
    }
    std::string text() const {
      std::string text = "[";
      for (const std::string& program : programs) {
        text += fmt::format("{}(try [[{}\n]] catch .)", text.size() > 1 ? ",\n" : "", program);
      }
      return text + "]";
    }
    Evaluation evaluation(const std::vector<std::string>& inputs) const {
      Evaluation evaluation;
      for (const std::string& input : inputs) {
        // As instances have it: with the keys in order.
        evaluation.queries.push_back({text(), shared_text(dump_json(*parse_json(input)))});
      }
      return evaluation;
    }

    std::vector<std::string> programs;
    size_t bytes = 0;
    std::future<std::vector<QueryResult>> answers;
  };

  /// Of `[results]` or a message.
  static QueryResult one_result(const Json& answer) {
    if (answer.is_string()) return evaluation_failed(kJqBadCommand, answer.get<std::string>());
    if (answer[0].size() != 1) return evaluation_failed("", "there is not one result");
    return answer[0][0];
  }
};

TEST_F(FastLaneEqualsLibjq, OnEveryFormOfItsSyntax) {
  compare({std::begin(kPrograms), std::end(kPrograms)}, {std::begin(kInputs), std::end(kInputs)});
}

TEST_F(FastLaneEqualsLibjq, BeyondTheNumbersOfJson) {
  std::vector<std::string> programs;
  for (const std::string value : {"(.m + .m)", "(-.m - .m)", "((.m + .m) - (.m + .m))", "(-.z)"}) {
    for (const char* const use :
         {".", "[., {a: .}]", "-.", "length", "not", ". // 1", ". + 1", ". - .",
          "\"\\(.) \\([.])\"", ". + {}", "[. == ., . != ., . < ., . <= ., . > ., . >= .]",
          "[. == 1, . < 1, . > 1, 1 < ., 1 > ., . < null, null < ., . < true, . == 0]",
          "[.] | [. == ., . != ., . < ., . <= ., . == [.[0]], . < [.[0]], . >= [.[0]], . - .]",
          "[[.]] | [.[0] == .[0], .[0] < .[0]]",
          "{a: .} | [. == ., . < ., . <= ., . >= {a: 1}, .a == .a, {a: .a} == {a: .a}]",
          "[., 1] - [., 2]", "[[., 1], [1, .], 3] - [[., 1], [1, .], 2]", ". and 1", "[.] + [.]"}) {
      programs.push_back(value + " | " + use);
    }
  }
  compare(programs, {R"({"m":1.7976931348623157e308,"z":0})"});
}

TEST_F(FastLaneEqualsLibjq, InTheTextOfAnyNumber) {
  std::mt19937_64 random(1);
  std::vector<std::string> inputs;
  while (inputs.size() < 200) {
    Json numbers = Json::array();
    while (numbers.size() < 100) {
      const auto bits = random();
      const int exponent = static_cast<int>(random() % 140) - 70;
      double number = std::bit_cast<double>(bits);
      if (numbers.size() % 4 == 0) number = std::ldexp(static_cast<double>(bits), exponent);
      if (numbers.size() % 4 == 1) number = std::pow(10, exponent / 3);
      if (numbers.size() % 4 == 2)
        number = static_cast<double>(bits % 10'000) * std::pow(10, exponent / 3);
      if (std::isfinite(number)) numbers.push_back(number);
    }
    inputs.push_back(dump_json(numbers));
  }
  compare({R"x("\(.)")x", ".[0] + {}", ".[1] + {}", ".[2] + {}", ".[3] + {}"}, inputs);
}

TEST_F(FastLaneEqualsLibjq, OnKeysOfAnyLength) {
  std::vector<std::string> programs;
  for (const size_t length : {0, 20, 26, 27, 28, 29, 30, 31, 1000}) {
    for (const char* const end : {"", "x", "é", "é€😀"}) {
      programs.push_back(fmt::format(".[\"{}{}\"]", std::string(length, 'x'), end));
    }
  }
  compare(programs, {"1"});
}

/// Draws values and programs over few names, so that paths often lead somewhere.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Json value(int depth = 0) {
    switch (pick(depth < 4 ? 10 : 6)) {
      case 0:
        return pick(3) == 0 ? Json(pick(2) == 0) : Json(nullptr);
      case 1:
      case 2:
        return number();
      case 3:
      case 4:
        return name();
      case 5:
        return text();
      case 6:
      case 7: {
        Json array = Json::array();
        for (size_t n = pick(4); n > 0; --n) array.push_back(value(depth + 1));
        return array;
      }
      default: {
        Json object = Json::object();
        for (size_t n = pick(5); n > 0; --n) object[name()] = value(depth + 1);
        return object;
      }
    }
  }

  /// Tokens at random: few are programs at all.
  std::string tokens() {
    const char* const all[] = {
        ".",     ".a",      ".b",     "..",  "[",   "]",   "(",    ")",     "{",   "}",
        ",",     "|",       ":",      "?",   "==",  "<",   "and",  "or",    "not", "//",
        "-",     "1",       "0",      "-1",  "1.5", "a",   "null", "b",     "+",   "+",
        "\"a\"", "true",    "[0]",    "-",   ".a?", ".b?", "[0]?", "\"x",   "\"",  "\\(",
        ")",     "[\"a\"]", ".\"b\"", ">=",  "=",   "$x",  "|",    "empty", " ",   " ",
        "\n",    "//",      "length", "?//", "..",  "+ 1", "{a:1", ", b:",  "}",   "[.a]"};
    std::string text;
    for (size_t n = 1 + pick(9); n > 0; --n) text += all[pick(std::size(all))];
    return text;
  }

  /// Terms with operators between them, mostly without parentheses.
  std::string program(int depth = 0) {
    std::string text = term(depth);
    for (size_t n = pick(depth == 0 ? 4 : 3); n > 0; --n) {
      const char* const operators[] = {"+",  "+", "+",  "-", "-",  "|",   "|",  "//",
                                       "==", "<", "<=", ">", ">=", "and", "or", "!="};
      const std::string spelled = operators[pick(std::size(operators))];
      const bool tight = pick(3) == 0 && !std::isalpha(spelled[0]);
      text += tight ? spelled : " " + spelled + " ";
      text += term(depth);
    }
    return text;
  }

 private:
  size_t pick(size_t below) { return random_() % below; }
  std::string name() { return std::string(1, "abc"[pick(3)]); }

  Json number() {
    const Json all[] = {0.1,
                        1e15,
                        1e16,
                        1e17,
                        -1e18,
                        1e-5,
                        0.0001,
                        123456.789,
                        1e300,
                        std::numeric_limits<double>::max(),
                        -std::numeric_limits<double>::max(),
                        5e-324,
                        -0.0,
                        9007199254740991,
                        INT64_C(9007199254740993),
                        1.7e20};
    switch (pick(8)) {
      case 0:
        return static_cast<double>(pick(100)) / 8;
      case 1:
        return all[pick(std::size(all))];
      case 2:
        return std::ldexp(static_cast<double>(random_()), static_cast<int>(pick(200)) - 130);
      default:
        return static_cast<int64_t>(pick(7)) - 3;
    }
  }

  std::string text() {
    const char* const pieces[] = {"",   "x",  "abcdefghij", "é",  "€",    "😀",
                                  "\"", "\\", "\n",         "\t", "\x01", "\x7f"};
    std::string text;
    for (size_t n = pick(5); n > 0; --n) text += pieces[pick(std::size(pieces))];
    return text;
  }

  std::string term(int depth) {
    switch (pick(depth < 3 ? 15 : 6)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return path();
      case 4:
        return scalar();
      case 5:
        return pick(2) == 0 ? "length" : "not";
      case 6:
        return "(" + program(depth + 1) + ")";
      case 7:
        return "(" + program(depth + 1) + ")" + step();
      case 8:
        return "-" + term(depth + 1);
      case 9:
      case 10: {
        std::string array = "[";
        for (size_t n = pick(4); n > 0; --n) {
          array += program(depth + 1) + (n > 1 ? ", " : "");
        }
        return array + "]";
      }
      case 11:
      case 12:
      case 13: {
        std::string object = "{";
        for (size_t n = pick(4); n > 0; --n) {
          object += name();
          if (pick(3) > 0) object += ": " + member(depth);
          if (n > 1) object += ", ";
        }
        return object + "}";
      }
      default: {
        std::string string = "\"";
        for (size_t n = pick(3); n > 0; --n) {
          string += name() + "\\(" + program(depth + 1) + ")";
        }
        return string + name() + "\"";
      }
    }
  }

  std::string member(int depth) {
    std::string text = term(depth + 1);
    if (pick(4) == 0) text += " | " + member(depth + 1);
    return text;
  }

  std::string scalar() {
    switch (pick(8)) {
      case 0:
        return "null";
      case 1:
        return pick(2) == 0 ? "true" : "false";
      case 2:
      case 3:
        return std::to_string(pick(5));
      case 4:
        return "0.5";
      case 5:
        return "\"\"";
      default:
        return "\"" + name() + "\"";
    }
  }

  std::string step() {
    const char* const question = pick(4) == 0 ? "?" : "";
    switch (pick(4)) {
      case 0:
        return fmt::format("[{}]{}", static_cast<int64_t>(pick(5)) - 2, question);
      case 1:
        return fmt::format("[\"{}\"]{}", name(), question);
      default:
        return fmt::format(".{}{}", name(), question);
    }
  }

  std::string path() {
    std::string path;
    for (size_t n = pick(4); n > 0; --n) path += step();
    return path.starts_with('.') ? path : "." + path;
  }

  std::mt19937_64 random_;
};

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST_F(FastLaneEqualsLibjq, OnGeneratedProgramsAndInputs) {
  Campaign campaign("fast lane", "20 000 times the value or the error of libjq");
  const uint64_t first = from_environment("MILLRACE_SEED", 1);
  const uint64_t count = from_environment("MILLRACE_SEEDS", 1);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    campaign.run(fmt::format("MILLRACE_SEED={}", seed), [&] {
      Generator generator(seed);
      std::vector<std::string> inputs;
      while (inputs.size() < 20) inputs.push_back(dump_json(generator.value()));
      std::vector<std::string> programs;
      while (programs.size() < 1000) {
        std::string program = generator.program();
        if (program.size() < 2000 && compile_fast(program)) programs.push_back(std::move(program));
      }
      compare(programs, inputs);
    });
    if (HasFailure()) return;
  }
}

TEST_F(FastLaneEqualsLibjq, OnWhateverTextItTakes) {
  Generator generator(from_environment("MILLRACE_SEED", 20210902));
  std::set<std::string> taken;
  while (taken.size() < 1000) {
    std::string text = generator.tokens();
    if (compile_fast(text)) taken.insert(std::move(text));
  }
  compare({taken.begin(), taken.end()},
          {"null", "1", R"({"a":{"a":[1],"b":false},"b":"x"})", R"([{"a":null,"b":1}])"});
}

}  // namespace
}  // namespace millrace
