// What is asked of jq and what comes back, as plain values that travel between the engine, the fast
// lane and the workers. A failed evaluation is an outcome of the workflow (a `catch` may take it):
// its Error has the code that workflows see.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// Any jq error, and none or several results where one is wanted.
inline constexpr std::string_view kJqBadCommand = "direktiv.jq.badCommand";
/// The program ran past its time.
inline constexpr std::string_view kTaskTimeout = "millrace.timeout.task";
/// The program needed more memory than a worker has.
inline constexpr std::string_view kJqMemory = "millrace.jq.memory";

/// The subject does not match the schema, or cannot be validated.
inline constexpr std::string_view kSchemaFailed = "direktiv.schema.failed";

/// The largest JSON text that a program may make, in bytes.
inline constexpr size_t kMaxResultBytes = size_t{4} << 20;

/// The error of a result that nests deeper than kMaxJsonDepth.
inline tl::unexpected<Error> result_too_deep() {
  return fail(std::string(kJqBadCommand),
              fmt::format("the result nests deeper than {} levels", kMaxJsonDepth));
}

/// The error of a result whose text is longer than kMaxResultBytes.
inline tl::unexpected<Error> result_too_large() {
  return fail(std::string(kJqBadCommand),
              fmt::format("the result is larger than {} bytes of JSON", kMaxResultBytes));
}

/// The one result of a program, or why there is none.
using QueryResult = Result<Json>;

/// One program to be run by a worker, or one schema.
struct Query {
  enum class Mode : uint8_t {
    kOne,        ///< exactly one result; none or several is direktiv.jq.badCommand
    kCondition,  ///< a switch condition: true if any result is_true, false if none is
    kSchema,     ///< the program is a JSON Schema: true if the input matches, else an error
  };

  std::string program;
  std::shared_ptr<const std::string> input;  ///< JSON text that parse_json took; may be shared
  Mode mode = Mode::kOne;
};

/// What one worker evaluates in one round trip, in order.
struct Evaluation {
  std::vector<Query> queries;
  bool stop_at_true = false;  ///< end after the first result that is true, or the first error
  TimePoint now;              ///< what `now` yields
  /// Of computing, all queries together; waiting in line is free. None: whoever evaluates has one.
  std::optional<Duration> timeout = std::nullopt;
  uint64_t lane = 0;  ///< whose it is: those of one lane wait for its slow ones
};

/// What came of one Evaluation, as far as it got: the outcome of the query at the same place. There
/// are fewer than queries when it stopped early: at a true, or after an error that ended its
/// worker.
using EvaluationResult = std::vector<QueryResult>;

/// Whether a switch takes the value for a match: all but `null false "" 0 [] {}`.
inline bool is_true(const Json& value) {
  if (value.is_number()) return value.get<double>() != 0;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.empty();
}

}  // namespace millrace
