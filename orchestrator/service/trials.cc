#include "orchestrator/service/trials.h"

#include <limits>
#include <utility>
#include <vector>

#include "expressions/template.h"

namespace millrace {
namespace {

/// The lane of all trials: slow ones wait for each other, and delay no workflow.
constexpr uint64_t kTrialLane = std::numeric_limits<uint64_t>::max();

Result<Template> parse(const ExpressionTrial& trial) {
  switch (trial.as) {
    case ExpressionTrial::As::kQuery:
      return Template::query(trial.text);
    case ExpressionTrial::As::kValue:
      return Template::literal_or_jq(trial.text, Template::Dot::kIdentity);
    case ExpressionTrial::As::kTemplate:
      return Template::literal_or_jq(trial.text, Template::Dot::kLiteral);
  }
  return Template();
}

}  // namespace

void Trials::evaluate(const ExpressionTrial& trial, Done done) {
  Result<Template> parsed = parse(trial);
  if (!parsed) return done(tl::unexpected(std::move(parsed).error()));
  if (parsed->is_constant()) return done(parsed->assemble({}));
  std::vector<Query> queries;
  for (const Program& program : parsed->programs()) {
    queries.push_back({.program = program.text, .input = trial.data.shared_text()});
  }
  const size_t count = queries.size();
  auto instance = parsed->names_instance() ? trial.instance.shared_text() : nullptr;
  run(
      std::move(queries), std::move(instance),
      [done, count, whole = *std::move(parsed)](EvaluationResult results) {
        std::vector<LazyJson> values;
        for (QueryResult& result : results) {
          if (!result) return done(tl::unexpected(std::move(result).error()));
          values.push_back(*std::move(result));
        }
        if (values.size() < count) {
          return done(fail(std::string(kJqBadCommand), "the evaluation ended early"));
        }
        done(whole.assemble(values));
      },
      done);
}

void Trials::validate(std::string schema, std::string input, Done done) {
  std::vector<Query> queries;
  queries.push_back({.program = std::move(schema),
                     .input = std::make_shared<const std::string>(std::move(input)),
                     .mode = Query::Mode::kSchema});
  run(
      std::move(queries), nullptr,
      [done](EvaluationResult results) {
        if (results.empty()) {
          return done(fail(std::string(kSchemaFailed), "the validation ended early"));
        }
        done(std::move(results.front()));
      },
      done);
}

void Trials::run(std::vector<Query> queries, std::shared_ptr<const std::string> instance,
                 std::function<void(EvaluationResult)> done, const Done& fail_with) {
  if (running_->fetch_add(1) >= kMostAtOnce) {
    running_->fetch_sub(1);
    return fail_with(fail("busy", "too many expressions and schemas are being tried; retry later"));
  }
  evaluate_({.queries = std::move(queries),
             .now = clock_.now(),
             .instance = std::move(instance),
             .timeout = kTime,
             .lane = kTrialLane,
             .space = kTrialLane},
            [done = std::move(done), running = running_](EvaluationResult results) {
              running->fetch_sub(1);
              done(std::move(results));
            });
}

}  // namespace millrace
