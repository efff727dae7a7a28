// The fast lane against libjq, which runs in this process: the first line is the jq program, each
// further line a JSON value. Where the fast lane accepts the jq program, both give the same value,
// or the same error. A compile with libjq takes about 20 ms, so this target runs few inputs in a
// second.
// Covers: expressions/fast_lane.cc expressions/fast_lane_parser.cc expressions/fast_lane_values.cc
// Covers: expressions/fast_lane_order.cc expressions/instance_name.cc expressions/jq_text.cc
// Covers: expressions/large_integers.cc expressions/workers/jq_program.cc
#include <optional>
#include <string>

#include "expressions/fast_lane.h"
#include "expressions/workers/jq_program.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// A run of the fast lane that needs more is not compared: libjq would need as much memory.
constexpr size_t kMostRunBytes = size_t{1} << 20;
constexpr size_t kMostRunInputs = 8;

std::string shown_result(const Result<Json>& result) {
  return result ? excerpt(dump_json(*result), 200)
                : result.error().code + ": " + result.error().message;
}

/// The result of libjq.
Result<Json> libjq_result(JqProgram& program, const Json& input, const LazyJson& instance) {
  const std::string text = dump_json(input);  // keys are sorted, as in the data of instances
  const Result<std::string> result =
      program.run(JqInput(text), TimePoint(), Query::Mode::kOne, instance.text());
  if (!result) return tl::unexpected(result.error());
  return parse_json(*result);
}

void compare_lanes(std::string_view text, const FastProgram& fast, JqProgram& program,
                   const Json& input) {
  const LazyJson instance(Json{{"attempt", 1}, {"event", {{"type", "t"}}}, {"id", "i"}});
  const Bindings bindings{.now = TimePoint(), .instance = &instance};
  size_t left = kMostRunBytes;
  const std::optional<Result<LazyJson>> within =
      fast.run_within(LazyJson(input), left, true, &bindings);
  if (!within) return;
  CHECK(left <= kMostRunBytes, "a run took less than nothing");
  const Result<Json> result = fast.run(input, bindings);
  CHECK(within->has_value() == result.has_value() && (!result || (*within)->value() == *result),
        "{} gives another result within a bound", excerpt(text));
  // These limits hold where the result is used, not in the fast lane itself.
  if (result && nests_deeper(*result, kMaxJsonDepth)) return;
  const Result<Json> expected = libjq_result(program, input, instance);
  const bool is_same = result && expected ? is_same_value(*result, *expected) : result == expected;
  // libjq's messages are cut when they are long.
  const bool is_cut = !result && !expected && result.error().message.size() > 900;
  CHECK(is_same || is_cut, "{} on {}: {}, but {} by libjq", excerpt(text, 300),
        excerpt(dump_json(input), 300), shown_result(result), shown_result(expected));
}

}  // namespace

FUZZ_TARGET(fast_lane) {
  auto [text, rest] = first_line_and_rest(bytes);
  if (text.size() > 512 || rest.size() > 4096) return;
  const std::shared_ptr<const FastProgram> fast = compile_fast(text);
  if (!fast) return;
  std::optional<Result<JqProgram>> program;
  for (size_t inputs = 0; !rest.empty() && inputs < kMostRunInputs; ++inputs) {
    const auto [line, behind] = first_line_and_rest(rest);
    rest = behind;
    const Result<Json> input = parse_json(line);
    if (!input) continue;
    if (!program) program = JqProgram::compile(text);
    CHECK(*program, "only the fast lane accepts {}: {}", excerpt(text, 300),
          program->error().message);
    compare_lanes(text, *fast, **program, *input);
  }
}

}  // namespace millrace::fuzz
