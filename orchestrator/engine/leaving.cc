// How an instance leaves a state: by an exit, or by an entry of `catch` that leads to the next run.
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "model/quota.h"
#include "orchestrator/engine/compensation.h"
#include "orchestrator/engine/step_context.h"
#include "states/state.h"
#include "states/visit.h"

namespace millrace {
namespace {

/// Raises the error of a quota of bytes that is exceeded, once in each run, so that a `catch` can
/// lead to further states. The error is not retried: an attempt would write more.
bool exceeds_bytes(StepContext& step) {
  const std::optional<ExceededQuota>& exceeded = step.limits.exceeded;
  if (step.instance.over_bytes || !exceeded) return false;
  step.instance.over_bytes = true;
  raise(step, over_quota(exceeded->quota, exceeded->limit), Retries::kNo);
  return true;
}

/// The program of the `continueAsNew` by which the instance leaves its state; null: by none. An
/// instance that will end with an error ends instead.
const Template* next_run_of(const Instance& instance, const StateCommon& common) {
  if (instance.error) return nullptr;
  const size_t exits = common.exits.size();
  const std::optional<Template>& own = instance.exit < exits
                                           ? common.exits[instance.exit].continue_as_new
                                           : common.catches[instance.exit - exits].continue_as_new;
  return own ? &*own : nullptr;
}

/// What the instance gets when it leaves its state.
struct Leaving {
  std::optional<LazyJson> compensation;  ///< the input of the compensation that it notes
  std::optional<LazyJson> data;          ///< the result of the transform
  std::optional<LazyJson> next_run;      ///< the input of the next run
};

/// The input of the next run, evaluated over `data`, the result of the transform. The data of the
/// instance stays as it is: if the next run cannot begin, the error finds it as that of a transform
/// would.
Evaluated<LazyJson> next_run_input(Visit& visit, const Template& program, const LazyJson& data) {
  data.text();  // an input of a program has its text
  auto input = visit.evaluate_over(program, data);
  if (!input) return tl::unexpected(std::move(input).error());
  const size_t levels = input->is_object() ? kMaxJsonDepth : kMaxJsonDepth - 1;  // {"input": …}
  if (input->nests_deeper(levels)) {
    const Raise too_deep{{"millrace.limits.data",
                          fmt::format("the input of the next run would be nested deeper than {} "
                                      "levels",
                                      kMaxJsonDepth)}};
    return tl::unexpected(Outcome(too_deep));
  }
  return std::move(*input);
}

/// Evaluates what the exit names into `leaving`; nullopt: without an error.
std::optional<Outcome> evaluate_exit(StepContext& step, Visit& visit, const Exit& exit,
                                     Leaving& leaving) {
  if (exit.transform) {
    auto value = visit.evaluate(*exit.transform);
    if (!value) return std::move(value).error();
    leaving.data = std::move(*value);
  }
  const Template* const program = next_run_of(step.instance, step.state().common());
  if (program == nullptr) return std::nullopt;
  auto input = next_run_input(visit, *program, leaving.data ? *leaving.data : step.instance.data);
  if (!input) return std::move(input).error();
  leaving.next_run = std::move(*input);
  return std::nullopt;
}

}  // namespace

/// The compensation of the state is noted also if the transform then fails: the state has done its
/// work. An entry of `catch` notes none.
void leave(StepContext& step, Visit& visit) {
  if (step.instance.compensating) return go_on_compensating(step);
  const StateCommon& common = step.state().common();
  static const Exit kByCatch;  // an entry of `catch` has neither a transform nor a state to go to
  const bool is_exit = step.instance.exit < common.exits.size();
  const Exit& exit = is_exit ? common.exits[step.instance.exit] : kByCatch;
  Leaving leaving;
  if (is_exit) {
    auto input = compensation_input(step, visit);
    if (!input) return apply_outcome(step, visit, input.error());
    leaving.compensation = std::move(*input);
  }
  const auto failed = evaluate_exit(step, visit, exit, leaving);
  // A visit that waits for an evaluation is repeated from its beginning.
  if (failed && std::holds_alternative<Park>(*failed)) return apply_outcome(step, visit, *failed);
  note(step, std::move(leaving.compensation));
  if (exit.transition && exceeds_bytes(step)) return;
  if (failed) return apply_outcome(step, visit, *failed);
  if (leaving.next_run) {
    take_notes(step, visit);
    step.result.next_run = std::move(*leaving.next_run);
    return;
  }
  if (leaving.data) {
    if (const auto raised = visit.set_data(std::move(*leaving.data)))
      return apply_outcome(step, visit, *raised);
  }
  take_notes(step, visit);
  go_to(step, exit.transition);
}

}  // namespace millrace
