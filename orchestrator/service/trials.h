// Trials: evaluations that callers of the API ask for, to see what an expression or a schema does
// with some data. They run in the jq workers, beside those of the engine, and change nothing. Any
// thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/evaluator.h"

namespace millrace {

/// An expression to evaluate.
struct ExpressionTrial {
  enum class As {
    kQuery,     ///< a string is a jq program
    kValue,     ///< jq(…) in its strings is evaluated; the text "." is all data
    kTemplate,  ///< jq(…) in its strings is evaluated
  };

  Json text;
  As as = As::kQuery;
  LazyJson data = Json::object();
  LazyJson instance = {};  ///< the value of `$instance`
};

class Trials {
 public:
  /// How many trials may run at the same time.
  static constexpr size_t kMostAtOnce = 16;
  /// The processor time of a trial.
  static constexpr Duration kTime{100};

  /// `clock` must outlive the object.
  Trials(Evaluator evaluate, const Clock& clock) : evaluate_(std::move(evaluate)), clock_(clock) {}

  using Done = std::function<void(Result<LazyJson>)>;

  /// Evaluates an expression. `done` is called once, also after the object is destroyed. Errors:
  /// those of Template and of the jq workers; `millrace.timeout.task`; `busy`.
  void evaluate(const ExpressionTrial& trial, Done done);
  /// Validates a JSON text: true, or the error `direktiv.schema.failed` whose message lists what
  /// does not match. Other errors as above.
  void validate(std::string schema, std::string input, Done done);

 private:
  /// `instance`: the value of `$instance`; null: null.
  void run(std::vector<Query> queries, std::shared_ptr<const std::string> instance,
           std::function<void(EvaluationResult)> done, const Done& fail_with);

  const Evaluator evaluate_;
  const Clock& clock_;
  /// The trials that run; callbacks share the counter, because they may outlive the object.
  std::shared_ptr<std::atomic<size_t>> running_ = std::make_shared<std::atomic<size_t>>(0);
};

}  // namespace millrace
