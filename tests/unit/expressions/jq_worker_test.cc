// Programs that crash, hang or fill a jq worker, or try to leave its sandbox. The pool returns a
// result for each such program, and afterwards also for a valid program.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pool_fixture.h"

namespace millrace {
namespace {

constexpr const char* kBad = "direktiv.jq.badCommand";
constexpr const char* kTime = "millrace.timeout.task";
constexpr const char* kMemory = "millrace.jq.memory";

struct HostileRow {
  const char* program;
  const char* outcome;       ///< the code of the error, or the value
  const char* message = "";  ///< part of the message of the error
};

class JqWorkerTest : public PoolTest {
 protected:
  void SetUp() override {
    setenv("MILLRACE_TEST_SECRET", "visible", 1);
    start({.workers = 1, .slice = Duration(20), .probation = Duration(0)});
  }

  /// Evaluates the program of the row, with a short timeout if the row expects a timeout, and with
  /// a long timeout otherwise.
  QueryResult run(const HostileRow& row) {
    const bool never_ends = row.outcome == std::string_view(kTime);
    return evaluate_later(pool(), {.queries = {{row.program, shared_text("null")}},
                                   .timeout = never_ends ? Duration(50) : kNoTimeout})
        .get()
        .at(0);
  }

  void expect(std::span<const HostileRow> rows) {
    for (const HostileRow& row : rows) {
      const QueryResult result = run(row);
      if (row.outcome == std::string_view(kBad) || row.outcome == std::string_view(kTime) ||
          row.outcome == std::string_view(kMemory)) {
        ASSERT_FALSE(result) << row.program << " yields " << result->text();
        EXPECT_EQ(result.error().code, row.outcome) << row.program;
        EXPECT_THAT(result.error().message, testing::HasSubstr(row.message)) << row.program;
      } else {
        EXPECT_EQ(result, *parse_json(row.outcome)) << row.program;
      }
      EXPECT_EQ(evaluate(". + 1", "1"), Json(2)) << "after " << row.program;
    }
  }
};

TEST_F(JqWorkerTest, HidesItsEnvironmentFromPrograms) {
  expect(std::initializer_list<HostileRow>{
      {"env", "{}"},
      {"$ENV", "{}"},
      {"def f: $ENV; f", "{}"},
      {"env.MILLRACE_TEST_SECRET", "null"},
      {"\"\\(env)\"", R"("{}")"},
      {"@json \"\\($ENV)\"", R"("{}")"},
      {"input", kBad, "`input` is not available"},
      {"[inputs]", "[]"},
      {"input_filename", "null"},
      {"input_line_number", "null"},
      {"get_search_list", "[]"},
      {"$__prog_args", kBad, "the variable `$__prog_args` at column 1 is not bound"},
      {"$__loc__", R"({"file":"<top-level>","line":1})"},
      {"import \"a\" as a; .", kBad, "jq's modules are not available"},
      {"import \"/etc/passwd\" as $p; $p", kBad, "jq's modules are not available"},
      {"include \".jq\"; .", kBad, "jq's modules are not available"},
      {"module {}; .", kBad, "jq's modules are not available"},
      {"\"a\" | modulemeta", kBad, "`modulemeta` is not available"},
      {"now", "0"},  // the time of the evaluation
      {"0 | localtime | mktime", "0"},
      {"0 | strflocaltime(\"%H %Z\")", R"("00 UTC")"},
      {".) | env | (.", kBad, "has no matching opening bracket"},
  });
}

TEST_F(JqWorkerTest, IgnoresDebugOutputAndRefusesToHalt) {
  start({.workers = 1, .most_waiting = kOnlyProcessorTime});
  expect(std::initializer_list<HostileRow>{
      {"5 | debug", "5"},
      {"5 | stderr", "5"},
      {"halt", kBad, "`halt` is not available"},
      {"halt_error", kBad, "`halt_error` is not available"},
      {"\"x\" | halt_error(1)", kBad, "`halt_error` is not available"},
  });
  EXPECT_EQ(pool().stats().started, 1) << "no program ended its worker";
}

TEST_F(JqWorkerTest, FailsOnlyTheProgramThatCrashesLibjq) {
  expect(std::initializer_list<HostileRow> {
    {"1e18 | todate", kBad, "died of signal 6"},
        {"1e18 | strftime(\"%Y\")", kBad, "died of signal 6"},
        {"nan | todate", kBad, "died of signal 6"},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers catch signals
        {"-9223372036854775808 % -1", kBad, "died of signal 8"},
        {"reduce range(300000) as $i (0; [.]) | length", kBad, "died of signal 11"},
#endif
  });
}

TEST_F(JqWorkerTest, StopsProgramsThatNeverEnd) {
  expect(std::initializer_list<HostileRow>{
      {"def f: f; f", kTime, "a try may use 50 ms of processor time"},
      {"def f(g): f(g | g); f(.)", kTime},
      {"def f: ltrimstr(f); f", kTime},
      {"last(range(1e18))", kTime},
      {"until(false; .)", kTime},
      {"[repeat(1)]", kTime},
      {"[recurse(.; true)]", kTime},
      {"reduce repeat(1) as $x (0; .)", kTime},
      {"foreach repeat(1) as $x (0; .; empty)", kTime},
      {"[range(1e9)]", kTime},
      {"\"x\" | gsub(\"^\"; \"x\")", kTime},
      {"\"x\" | gsub(\"\"; \"x\")", kTime},
      {"\"x\" | index(\"\")", kTime},
      {"\"x\" | indices(\"\")", kTime},
      {"\"x\" * 1e9", kTime},
      {"\"x\" * 20000 | gsub(\"x\"; \"y\")", kTime},
      {"[range(20) | [range(20)]] | combinations | select(false)", kTime},
  });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers: no memory limit
TEST_F(JqWorkerTest, StopsProgramsThatNeedTooMuchMemory) {
  expect(std::initializer_list<HostileRow>{
      {".[1e9] = 1", kMemory, "needs more memory than a jq worker may use"},
      {"setpath([1e9]; 1)", kMemory},
      {"reduce range(30) as $i (\"x\"; . + .) | length", kMemory},
  });
}
#endif

TEST_F(JqWorkerTest, RefusesResultsBeyondTheLimits) {
  expect(std::initializer_list<HostileRow>{
      {"[range(1000000)]", kBad, "larger than 4194304 bytes"},
      {"\"x\" * 5000000", kBad, "larger than 4194304 bytes"},
      {"reduce range(200) as $i (0; [.])", kBad, "nests deeper than 128 levels"},
      {"repeat(1)", kBad, "several results"},
      {"while(true; .)", kBad, "several results"},
      {"limit(-1; 1, 2)", kBad, "several results"},
      {"label $f | break $f", kBad, "no result"},
      {"error(null)", kBad, "no result"},  // libjq does not distinguish it from `empty`
  });
}

TEST_F(JqWorkerTest, EvaluatesUnusualProgramsAsJqDoes) {
  expect(std::initializer_list<HostileRow>{
      {"limit(0; repeat(1))", "1"},  // jq 1.6 checks the count after the first result
      {"first(repeat(1))", "1"},
      {"[nan] | tojson | fromjson", "[null]"},
      {"\"nan\" | fromjson", "null"},
      {"1e1000 | tojson", R"("1.7976931348623157e+308")"},
      {"\"[\" * 10000 | fromjson", kBad, "Exceeds depth limit"},
      {"reduce range(300) as $i (0; [.]) | tojson | fromjson", kBad, "Exceeds depth limit"},
      {"{} | @sh", kBad, "can not be escaped for shell"},
      {"[1, \"a b\", \"$(id)\"] | @sh", R"("1 'a b' '$(id)'")"},
      {"\"!!!\" | @base64d", kBad, "is not valid base64 data"},
      {"\"/w==\" | @base64d", R"("\ufffd")"},
      {"[1114112, -1, 1e18, infinite] | implode", R"("\ufffd\ufffd\ufffd\ufffd")"},
      {"65 | ascii", kBad, "there is no function `ascii`"},
      {"{a: 1} | getpath([\"a\", \"b\"])", kBad, "Cannot index number"},
      {"getpath(1)", kBad, "Path must be specified as an array"},
      {"[1, 2] | getpath([1e9])", "null"},
      {"[1] | .[nan], .[1e300] | select(.)", kBad, "no result"},
      {"[1, 2] | delpaths([[1e18]])", "[1,2]"},
      {"[1] | .[1e18:2e18]", "[]"},
      {"[][-1] = 1", kBad, "Invalid path expression"},
      {"5 % 0", kBad, "the divisor is zero"},
      {"ldexp(1; 1e9)", "1.7976931348623157e308"},
      {"1e18 | gmtime", kBad, "converting number of seconds"},
      {"\"x\" | strptime(\"%Y\")", kBad, "does not match format"},
      {"\"a\" * 50 + \"!\" | test(\"^(a+)+$\")", kBad, "retry-limit-in-match over"},
      {"\"x\" | test(\"(\")", kBad, "unmatched parenthesis"},
      {"\"\\u0000\" | test(\"\\u0000\")", "true"},
      {"break $x", kBad, "the `break $x` at column 1 is not within a label"},
      {"IN(1; 1, 2)", "true"},
  });
}

TEST_F(JqWorkerTest, RefusesProgramsLongerThan4096Bytes) {
  const std::string long_one = "." + std::string(4096, ' ');
  EXPECT_EQ(check({&long_one, 1}).at(0)->code, "jq.too_long");
  EXPECT_EQ(evaluate(long_one).error().code, kBad);
}

}  // namespace
}  // namespace millrace
