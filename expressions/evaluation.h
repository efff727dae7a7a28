// Requests to jq and their results, as plain values that are passed between the engine, the fast
// lane and the jq workers. A failed evaluation is an error in the workflow, which `catch` may
// match: its Error has the error code that workflows see.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// The error code of any jq error, and of a jq program that has no result, or several, where one is
/// expected.
inline constexpr std::string_view kJqBadCommand = "direktiv.jq.badCommand";
/// The jq program used more processor time than its timeout, in two tries.
inline constexpr std::string_view kTaskTimeout = "millrace.timeout.task";
/// The jq program needed more memory than a jq worker has.
inline constexpr std::string_view kJqMemory = "millrace.jq.memory";

/// The error code if the subject of a validation does not match the schema, or cannot be validated.
inline constexpr std::string_view kSchemaFailed = "direktiv.schema.failed";

/// The largest JSON text of a jq program's result, in bytes.
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

/// The values besides its input that a jq program may name.
struct Bindings {
  TimePoint now;  ///< the result of `now`
  /// The value of `$instance`; null: null. Set if the program names it (instance_name.h) and an
  /// instance exists.
  const LazyJson* instance = nullptr;
};

/// The one result of a jq program, or the error. A large result is text.
using QueryResult = Result<LazyJson>;

/// One jq program that a jq worker runs, or one JSON Schema that a jq worker applies.
struct Query {
  enum class Mode : uint8_t {
    kOne,        ///< exactly one result is expected; none or several is direktiv.jq.badCommand
    kCondition,  ///< a switch condition: true if is_true holds for any result, otherwise false
    kSchema,     ///< the jq program is a JSON Schema: true if the input matches, otherwise an error
  };

  std::string program;
  std::shared_ptr<const std::string> input;  ///< JSON text that is_json() accepts; may be shared
  Mode mode = Mode::kOne;
};

/// The queries that one jq worker evaluates in one round trip, in order.
struct Evaluation {
  std::vector<Query> queries;
  bool stop_at_true = false;  ///< end after the first result that is true, or the first error
  TimePoint now;              ///< the result of jq's `now`
  /// The value of `$instance`, JSON text that is_json() accepts; null: null.
  std::shared_ptr<const std::string> instance = nullptr;
  /// The limit on processor time, for all queries together and for each of two tries; time in a
  /// queue does not count. nullopt: the evaluator's default applies.
  std::optional<Duration> timeout = std::nullopt;
  /// The workflow of the evaluation. A slow evaluation delays only evaluations of the same lane.
  uint64_t lane = 0;
  /// The namespace of the workflow. The namespaces take turns with the jq workers.
  uint64_t space = 0;
  /// Requests the end of the evaluation, because its result is not needed any more. An evaluation
  /// that waits is not started then, and one that a slow jq worker runs is ended; their result is
  /// an error, which its caller does not use.
  std::stop_token stop = {};
};

/// The bytes of the inputs. An input that queries next to each other share counts once.
inline size_t input_bytes(const Evaluation& evaluation) {
  size_t bytes = 0;
  const std::string* counted = nullptr;
  for (const Query& query : evaluation.queries) {
    if (std::exchange(counted, query.input.get()) != query.input.get()) {
      bytes += query.input->size();
    }
  }
  return bytes;
}

/// The results of one Evaluation: entry i is the outcome of query i. There are fewer entries than
/// queries if the evaluation stopped early: at a true result, or after an error that ended its jq
/// worker.
using EvaluationResult = std::vector<QueryResult>;

/// Whether a switch condition with this value matches: any value except `null false "" 0 [] {}`.
inline bool is_true(const Json& value) {
  if (value.is_number()) return value.get<double>() != 0;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.empty();
}
/// As is_true(const Json&). A large value is a string, an array or an object that is not empty.
inline bool is_true(const LazyJson& value) { return value.is_large() || is_true(value.value()); }

}  // namespace millrace
