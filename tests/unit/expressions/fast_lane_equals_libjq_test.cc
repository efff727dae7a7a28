// The fast lane must give the results of libjq: both run the same programs on the same inputs, and
// must agree on the value or the error. Random cases have a seed: MILLRACE_SEED=… repeats a seed
// that a failure shows, MILLRACE_SEEDS=… sets the number of seeds; each seed has 20 000 cases.
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
#include "tests/unit/expressions/fast_lane_cases.h"

namespace millrace {
namespace {

/// Whether two values are equal, except for the spelling of numbers.
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

bool equal(const Result<Json>& a, const Result<Json>& b) { return a && b ? equal(*a, *b) : a == b; }

std::string described(const Result<Json>& result) {
  return result ? dump_json(*result) : result.error().code + ": " + result.error().message;
}

class FastLaneTest : public PoolTest {
 protected:
  /// Runs every program on every input, in the fast lane and with libjq.
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
          ASSERT_TRUE(answers[i]) << answers[i].error().message << "\n" << group.text();
          const Result<Json> expected = one_result(answers[i]->value()[p]);
          const Result<Json> result = fast->run(*parse_json(inputs[i]));
          EXPECT_TRUE(equal(result, expected))
              << program << " on " << inputs[i] << "\nlibjq: " << described(expected)
              << "\nfast:  " << described(result);
        }
      }
    }
  }

 private:
  /// Programs that libjq compiles together, which takes as long as compiling one of them.
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
        // The input has sorted keys, as the data of instances has.
        evaluation.queries.push_back({text(), shared_text(dump_json(*parse_json(input)))});
      }
      return evaluation;
    }

    std::vector<std::string> programs;
    size_t bytes = 0;
    std::future<std::vector<QueryResult>> answers;
  };

  /// The only result of a program. `answer` is an array with the array of results, or an error
  /// message.
  static Result<Json> one_result(const Json& answer) {
    if (answer.is_string()) return fail(std::string(kJqBadCommand), answer.get<std::string>());
    if (answer[0].size() != 1) return fail("", "there is not one result");
    return answer[0][0];
  }
};

TEST_F(FastLaneTest, AgreesWithLibjqOnEveryFormOfTheFastLaneSyntax) {
  compare({std::begin(kPrograms), std::end(kPrograms)}, {std::begin(kInputs), std::end(kInputs)});
}

TEST_F(FastLaneTest, AgreesWithLibjqOnNumbersThatJsonCannotExpress) {
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

TEST_F(FastLaneTest, AgreesWithLibjqOnHowAnyNumberIsWrittenAsText) {
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

TEST_F(FastLaneTest, AgreesWithLibjqOnTheErrorForAKeyOfAnyLength) {
  std::vector<std::string> programs;
  for (const size_t length : {0, 20, 26, 27, 28, 29, 30, 31, 1000}) {
    for (const char* const end : {"", "x", "é", "é€😀"}) {
      programs.push_back(fmt::format(".[\"{}{}\"]", std::string(length, 'x'), end));
    }
  }
  compare(programs, {"1"});
}

/// Generates values and programs with few names, so that paths often lead to a value.
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

  /// Random tokens; only a few of these texts are programs.
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

TEST_F(FastLaneTest, AgreesWithLibjqOnGeneratedProgramsAndInputs) {
  Campaign campaign("fast lane", "20 000 cases with the value or the error of libjq");
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

TEST_F(FastLaneTest, AgreesWithLibjqOnRandomTextsThatTheFastLaneAccepts) {
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
