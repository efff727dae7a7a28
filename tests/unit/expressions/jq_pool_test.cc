#include <atomic>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expressions/workers/pool.h"
#include "pool_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class JqPoolTest : public PoolTest {};

TEST_F(JqPoolTest, ReturnsTheResultsInTheOrderOfThePrograms) {
  const auto input = shared_text(R"({"a":[1,2,3],"b":"x"})");
  const std::vector<QueryResult> results = evaluate(Evaluation{
      .queries = {{".a | add", input}, {"{b, a: .a[0]}", input}, {". + 1", shared_text("4")}}});
  ASSERT_EQ(results.size(), 3);
  EXPECT_EQ(results[0], Json(6));
  EXPECT_EQ(results[1], Json({{"a", 1}, {"b", "x"}}));
  EXPECT_EQ(results[2], Json(5));
}

TEST_F(JqPoolTest, ReturnsEveryKindOfJsonValue) {
  struct Row {
    const char* program;
    const char* result;
  };
  for (const auto& [program, result] : std::initializer_list<Row>{
           {"nan", "null"},
           {"[infinite, -infinite]", "[1.7976931348623157e+308,-1.7976931348623157e+308]"},
           {"[0.1, -2.5, 1e3, 100000000000000000, 1e-7]", "[0.1,-2.5,1000,1e+17,1e-07]"},
           {R"("\u0000\u001f\"\\/é😀\u007f")", R"("\u0000\u001f\"\\/é😀\u007f")"},
           {R"({b: 1, a: [true, false, null, {}, []]})", R"({"a":[true,false,null,{},[]],"b":1})"},
           {"[range(5)] | map(. * 2)", "[0,2,4,6,8]"},
       }) {
    EXPECT_EQ(evaluate(program), *parse_json(result)) << program;
  }
}

TEST_F(JqPoolTest, ReportsTheErrorsOfAProgramWithTheCodeDirektivJqBadCommand) {
  struct Row {
    std::string program;
    std::string message;
  };
  for (const auto& [program, message] : std::initializer_list<Row>{
           {".a.b", "Cannot index number with string \"b\""},
           {"error(\"mine\")", "mine"},
           {"error({code: 1})", R"({"code":1})"},
           {"empty", "the program has no result, expected one"},
           {"1, 2", "the program has several results, expected one"},
           {"nosuch",
            "there is no function `nosuch` at column 1; write `.nosuch` for a key, or \"nosuch\" "
            "for a text"},
           {". foo",
            "unexpected `foo` at column 3; write `.foo` without a blank for a key, or `|` after "
            "the dot for a function"},
           {"1 |\n|",
            "unexpected `|` at line 2, column 1; expected a value, such as `.key`, a number or a "
            "function"},
           {".) | env | (.",
            "the `)` at column 2 of the jq program has no matching opening bracket; remove it, or "
            "write the opening bracket"},
           {"reduce range(200) as $i (0; [.])", "the result nests deeper than 128 levels"},
           {"[range(1000000)]", "the result is larger than 4194304 bytes of JSON"},
           {"error(\"" + std::string(2000, 'x') + "\")", std::string(1000, 'x') + "…"},
       }) {
    const QueryResult result = evaluate(program, R"({"a":1})");
    ASSERT_FALSE(result) << program;
    EXPECT_EQ(result.error(), (Error{"direktiv.jq.badCommand", message})) << program;
  }
}

TEST_F(JqPoolTest, EvaluatesTheQueriesAfterAFailedQuery) {
  const auto input = shared_text("1");
  const std::vector<QueryResult> results =
      evaluate(Evaluation{.queries = {{".a", input}, {". + 1", input}}});
  ASSERT_EQ(results.size(), 2);
  EXPECT_FALSE(results[0]);
  EXPECT_EQ(results[1], Json(2));
}

TEST_F(JqPoolTest, EvaluatesAConditionAsTrueIfAnyResultIsTrue) {
  struct Row {
    const char* program;
    bool matches;
  };
  for (const auto& [program, matches] : std::initializer_list<Row>{
           {".a > 0", true},
           {".a", true},
           {"[0]", true},
           {"0, \"\", [], {}, null, false, nan, 1", true},
           {"1, error(\"is not reached\")", true},
           {"0, \"\", [], {}, null, false, nan, -0", false},
           {"empty", false},
           {".a > 1", false},
       }) {
    EXPECT_EQ(evaluate(program, R"({"a":1})", Query::Mode::kCondition), Json(matches)) << program;
  }
  EXPECT_FALSE(evaluate("0, error(\"x\")", "null", Query::Mode::kCondition));
}

TEST_F(JqPoolTest, EndsASwitchAtTheFirstConditionThatIsTrueOrFails) {
  constexpr auto kCondition = Query::Mode::kCondition;
  const auto input = shared_text("5");
  std::vector<QueryResult> results = evaluate(Evaluation{
      .queries = {{". > 9", input, kCondition}, {". > 4", input, kCondition}, {"error", input}},
      .stop_at_true = true});
  ASSERT_EQ(results.size(), 2);
  EXPECT_EQ(results[0], Json(false));
  EXPECT_EQ(results[1], Json(true));

  results = evaluate(
      Evaluation{.queries = {{"error(\"x\")", input, kCondition}, {"true", input, kCondition}},
                 .stop_at_true = true});
  ASSERT_EQ(results.size(), 1);
  EXPECT_FALSE(results[0]);
}

TEST_F(JqPoolTest, EvaluatesTheFunctionNowAsTheGivenTime) {
  const auto input = shared_text("null");
  const std::vector<QueryResult> results = evaluate(Evaluation{
      .queries = {{"now", input}, {"now | floor | todate", input}, {"[now, now] | unique", input}},
      .now = from_millis(1630497600123)});
  ASSERT_EQ(results.size(), 3);
  EXPECT_EQ(results[0], Json(1630497600.123));
  EXPECT_EQ(results[1], Json("2021-09-01T12:00:00Z"));
  EXPECT_EQ(results[2], Json({1630497600.123}));
}

TEST_F(JqPoolTest, GivesTheInstanceToTheProgramsThatNameIt) {
  const auto input = shared_text(R"({"n":9007199254740993})");
  const auto instance = shared_text(R"({"attempt":2,"event":null,"id":"i-1"})");
  const Evaluation evaluation{
      .queries = {{"$instance.id | ascii_upcase", input},
                  {"[.n, $instance.attempt + 1]", input},
                  {"{$instance} | tojson", input},
                  {"def f($x): $x + $instance.id; f(\"a\")", input},
                  {"\"\\($instance.event) \\($instance)\"", input},
                  {". as $instance | $instance.n", input},
                  {"[$instance.id, (1 as $x | $instance.id)] | unique", input},
                  {"first($instance.id == \"i-1\")", input, Query::Mode::kCondition}},
      .instance = instance};
  const Json expected[] = {"I-1",
                           Json::parse("[9007199254740993,3]"),
                           R"({"instance":{"attempt":2,"event":null,"id":"i-1"}})",
                           "ai-1",
                           R"(null {"attempt":2,"event":null,"id":"i-1"})",
                           Json::parse("9007199254740993"),
                           Json::parse(R"(["i-1"])"),
                           true};
  const std::vector<QueryResult> results = evaluate(evaluation);
  ASSERT_EQ(results.size(), std::size(expected));
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i], LazyJson(expected[i])) << evaluation.queries[i].program;
  }
  EXPECT_EQ(evaluate("first($instance)", "1"), Json()) << "without an instance it is null";
  const QueryResult own = evaluate("$instance.id as $x | . as $instance | $x", "1");
  EXPECT_FALSE(own) << "a program that binds the name itself does not get the instance";
}

TEST_F(JqPoolTest, KeepsTheDigitsOfAnIntegerThatAProgramDoesNotChange) {
  const char* input =
      R"({"id":9007199254740993,"other":9007199254740992,"n":-12345678901234567890,"s":"9007199254740993"})";
  EXPECT_EQ(
      evaluate("del(.other) | . + {}", input),
      *parse_json(R"({"id":9007199254740993,"n":-12345678901234567890,"s":"9007199254740993"})"));
  EXPECT_EQ(evaluate("[.other, .id] | reverse", input),
            *parse_json("[9007199254740993,9007199254740992]"))
      << "an integer keeps its digits also beside an integer that rounds to the same double";
  for (const char* big : {"-9223372036854775809", "123456789012345678901234567890"}) {
    for (const char* program : {"[.] | reverse | .[0]", ". as $x | $x", "[.] | sort | first",
                                "{a: .} | to_entries[0].value", "[.] | add", ". + null",
                                "[limit(1; .)][0]", "[.] | min"}) {
      const QueryResult kept = evaluate(program, big);
      ASSERT_TRUE(kept) << kept.error().message;
      EXPECT_EQ(kept->text(), big) << program;
    }
  }
}

// A computed number is a double, even if an integer of the input rounds to the same double.
TEST_F(JqPoolTest, RoundsAComputedNumberToADouble) {
  EXPECT_EQ(evaluate("map(. + 0)", "[9007199254740993,9007199254740994]"),
            *parse_json("[9007199254740992,9007199254740994]"));
  for (const char* program :
       {". + 1 | [.] | first", "[. * 1] | first", "[. - 1] | first", "[-(-(.))] | first", "floor",
        "[.] | map(. + 0) | add", "tojson | fromjson", "tostring | tonumber"}) {
    const QueryResult computed = evaluate(program, "123456789012345678901234567890");
    ASSERT_TRUE(computed) << program << ": " << computed.error().message;
    EXPECT_EQ(computed->text(), dump_json(Json(123456789012345678901234567890.0))) << program;
  }
  EXPECT_EQ(evaluate("[.n, .n + 1, .n] | map(.)", R"({"n":9007199254740993})"),
            *parse_json("[9007199254740993,9007199254740992,9007199254740993]"));
}

TEST_F(JqPoolTest, ReturnsTheEarlierResultsAndTheErrorIfAProgramCrashesItsJqWorker) {
  const auto input = shared_text("1e18");
  const std::vector<QueryResult> results =
      evaluate(Evaluation{.queries = {{". + 0", input}, {"todate", input}, {"1", input}}});
  ASSERT_EQ(results.size(), 2) << "the result before the crash, and the error";
  EXPECT_EQ(results[0], Json(1e18));
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, "direktiv.jq.badCommand");
  EXPECT_THAT(results[1].error().message, HasSubstr("the jq worker died of signal 6"));
  EXPECT_EQ(evaluate(". + 1", "1"), Json(2));
  EXPECT_EQ(pool().stats().crashed, 2);
}

TEST_F(JqPoolTest, ServesManyThreadsAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::future<std::vector<QueryResult>>> pending;
      for (int i = 0; i < kEach; ++i) {
        pending.push_back(evaluate_later(
            pool(),
            Evaluation{.queries = {{". * 2 + 1", shared_text(std::to_string(t * kEach + i))}}}));
      }
      for (int i = 0; i < kEach; ++i) {
        if (pending[i].get().at(0) == Json(2 * (t * kEach + i) + 1)) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * kEach);
}

TEST_F(JqPoolTest, EvaluatesALargeInput) {
  Json list = Json::array();
  for (int i = 0; i < 400'000; ++i) list.push_back(i);
  EXPECT_EQ(evaluate("length", dump_json(list)), Json(400'000));
  EXPECT_EQ(evaluate(".", dump_json(list)), list);
}

TEST_F(JqPoolTest, ReturnsALargeResultInTheFormOfDumpJson) {
  const Json large = {{"z", std::string(kLargeJson, '\n')},
                      {"a\"", {1.0, 1e17, 123456789012345678, *parse_json("18446744073709551616")}},
                      {"b", {{"y", nullptr}, {"x", "é"}}}};
  for (const char* program : {". + {}", "with_entries(.)"}) {
    const QueryResult result = evaluate(program, dump_json(large));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->is_large());
    EXPECT_EQ(result->text(), dump_json(result->value())) << program;
    EXPECT_EQ(result->value()["z"], large["z"]) << program;
  }
}

TEST_F(JqPoolTest, FindsTheInvalidProgramsAmongMany) {
  std::vector<std::string> programs;
  for (int i = 0; i < 50; ++i) programs.push_back(".a[" + std::to_string(i) + "] | length");
  programs[17] = ".a | nosuch";
  programs[30] = ".a b";
  programs[31] = "(.a";
  programs[49] = ". # a comment";
  const std::vector<std::optional<Error>> verdicts = check(programs);
  ASSERT_EQ(verdicts.size(), 50);
  EXPECT_EQ(verdicts[17], (Error{"jq.syntax",
                                 "there is no function `nosuch` at column 6; write `.nosuch` for a "
                                 "key, or \"nosuch\" for a text"}));
  EXPECT_EQ(verdicts[30],
            (Error{"jq.syntax",
                   "unexpected `b` at column 4; expected an operator, such as `|`, or the end"}));
  EXPECT_EQ(verdicts[31],
            (Error{"jq.unbalanced",
                   "the `(` at column 1 of the jq program is not closed; write the missing `)`"}));
  for (size_t i = 0; i < verdicts.size(); ++i) {
    EXPECT_EQ(verdicts[i].has_value(), i == 17 || i == 30 || i == 31) << i;
  }
}

TEST_F(JqPoolTest, ChecksAnyNumberOfPrograms) {
  EXPECT_TRUE(check({}).empty());
  std::vector<std::string> programs(450, ".a | length");
  programs[449] = "$x";
  const std::vector<std::optional<Error>> verdicts = check(programs);
  EXPECT_EQ(std::count(verdicts.begin(), verdicts.end(), std::nullopt), 449);
  EXPECT_EQ(verdicts[449],
            (Error{"jq.syntax",
                   "the variable `$x` at column 1 is not bound; write `… as $x | …` before it"}));
}

TEST_F(JqPoolTest, ChecksProgramsOnSeveralWorkersAtOnce) {
  start({.workers = 2, .checks_at_once = 2});
  std::vector<std::string> programs(450, ".a | length");
  for (const size_t wrong : {size_t{0}, size_t{149}, size_t{150}, size_t{449}}) {
    programs[wrong] = fmt::format("$x{}", wrong);
  }
  const std::vector<std::optional<Error>> verdicts = check(programs);
  EXPECT_EQ(std::count(verdicts.begin(), verdicts.end(), std::nullopt), 446);
  for (const size_t wrong : {size_t{0}, size_t{149}, size_t{150}, size_t{449}}) {
    EXPECT_EQ(
        verdicts[wrong],
        (Error{
            "jq.syntax",
            fmt::format(
                "the variable `$x{0}` at column 1 is not bound; write `… as $x{0} | …` before it",
                wrong)}));
  }
}

/// Makes programs with valid syntax; some use names that do not exist or are out of scope.
class ProgramMaker {
 public:
  std::string program(int depth) {
    if (depth == 0) return pick({".", ".a", "1", "length", "$x", "$y", "nosuch", "\"s\"", ".[0]?"});
    const std::string one = program(depth - 1);
    const std::string two = program(depth - 1);
    switch (random_() % 14) {
      case 0:
        return fmt::format("{} | {}", one, two);
      case 1:
        return fmt::format("{}, {}", one, two);
      case 2:
        return fmt::format("({}) as $x | {}", one, two);
      case 3:
        return fmt::format("(. as $y | {}) + ({})", one, two);
      case 4:
        return fmt::format("map({})", one);
      case 5:
        return fmt::format("first({}; {})", one, two);  // first/2 does not exist
      case 6:
        return fmt::format("limit({}; {})", one, two);
      case 7:
        return fmt::format("if {} then {} else . end", one, two);
      case 8:
        return fmt::format("{{length, a: ({}), b: [{}]}}", one, two);
      case 9:
        return fmt::format(".[({}):({})]", one, two);
      case 10:
        return fmt::format("reduce .[] as $x ({}; {})", one, two);
      case 11:
        return fmt::format("\"\\({})\"", one);
      case 12:
        return fmt::format("[limit(1; . as $x | {}), {}]", one, two);
      default:
        return fmt::format("try ({})", one);
    }
  }

 private:
  std::string pick(std::initializer_list<const char*> words) {
    return *(words.begin() + random_() % words.size());
  }

  std::mt19937 random_{20210901};
};

TEST_F(JqPoolTest, AgreesWithLibjqOnWhetherTheNamesInAProgramExist) {
  ProgramMaker maker;
  size_t good = 0;
  for (int i = 0; i < 150; ++i) {
    // The names of the second program are not plain, so libjq checks it.
    const std::string program = maker.program(1 + i % 3);
    const std::vector<std::string> both = {program, fmt::format("({}) | $__loc__", program)};
    const auto verdicts = check(both);
    EXPECT_EQ(verdicts[0].has_value(), verdicts[1].has_value()) << program;
    good += verdicts[0] ? 0 : 1;
  }
  EXPECT_GT(good, 30);
  EXPECT_LT(good, 120);
}

TEST_F(JqPoolTest, StopsACheckAtTheFirstProgramsThatDoNotCompileInTime) {
  start({.workers = 1, .compiling = Duration(1)});
  const std::vector<std::string> one{".a | length"};
  EXPECT_EQ(check(one).at(0),
            (Error{"jq.check_failed", "jq does not compile the program in time"}));
  const std::vector<std::string> many(201, ".a | length");
  const std::vector<std::optional<Error>> verdicts = check(many);
  EXPECT_EQ(verdicts[0],
            (Error{"jq.check_failed", "jq does not compile this program and 99 others in time"}));
  EXPECT_EQ(verdicts[99], verdicts[0]);
  EXPECT_EQ(verdicts[100],
            (Error{"jq.check_failed", "not checked: programs before this one took too long"}));
  EXPECT_EQ(pool().stats().timed_out, 2);
  EXPECT_EQ(evaluate("length"), Json(0));
}

TEST_F(JqPoolTest, ChecksEachProgramWithoutTheDefinitionsOfTheOthers) {
  const std::vector<std::string> programs{"def f: 1; f", "f", "$__now_"};
  const std::vector<std::optional<Error>> verdicts = check(programs);
  EXPECT_EQ(verdicts[0], std::nullopt);
  EXPECT_EQ(
      verdicts[1],
      (Error{"jq.syntax",
             "there is no function `f` at column 1; write `.f` for a key, or \"f\" for a text"}));
}

TEST_F(JqPoolTest, ReportsThatNoJqWorkerCanBeStarted) {
  EXPECT_EQ(JqLauncher::start("/nonexistent").error().code, "jq.start");

  auto launcher = JqLauncher::start("/bin/false");
  ASSERT_TRUE(launcher);
  auto broken = JqPool::start(*std::move(launcher), {.workers = 1});
  ASSERT_TRUE(broken);
  const std::vector<std::string> programs{"."};
  const std::vector<std::optional<Error>> verdicts = (*broken)->check(programs, kPatience);
  ASSERT_TRUE(verdicts.at(0));
  EXPECT_EQ(verdicts[0], (Error{"jq.unavailable", "the launcher of the jq workers has ended"}));
  EXPECT_GE((*broken)->stats().start_failures, 3);
}

}  // namespace
}  // namespace millrace
