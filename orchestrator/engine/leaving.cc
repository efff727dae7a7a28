// How an instance leaves a state: by an exit, or by an entry of `catch` that leads to the next run.
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "model/quota.h"
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

/// Evaluates the input of the next run over `data`, the result of the transform. The data of the
/// instance stays as it is: if the next run cannot begin, the error finds it as that of a transform
/// would.
void end_run(StepContext& step, Visit& visit, const Template& program, const LazyJson& data) {
  data.text();  // an input of a program has its text
  auto input = visit.evaluate_over(program, data);
  if (!input) return apply_outcome(step, visit, input.error());
  const size_t levels = input->is_object() ? kMaxJsonDepth : kMaxJsonDepth - 1;  // {"input": …}
  if (input->nests_deeper(levels)) {
    const Raise too_deep{{"millrace.limits.data",
                          fmt::format("the input of the next run would be nested deeper than {} "
                                      "levels",
                                      kMaxJsonDepth)}};
    return apply_outcome(step, visit, too_deep);
  }
  take_notes(step, visit);
  step.result.next_run = std::move(*input);
}

}  // namespace

void leave(StepContext& step, Visit& visit) {
  const StateCommon& common = step.state().common();
  static const Exit kByCatch;  // an entry of `catch` has neither a transform nor a state to go to
  const bool is_exit = step.instance.exit < common.exits.size();
  const Exit& exit = is_exit ? common.exits[step.instance.exit] : kByCatch;
  if (exit.transition && exceeds_bytes(step)) return;
  std::optional<LazyJson> data;
  if (exit.transform) {
    auto value = visit.evaluate(*exit.transform);
    if (!value) return apply_outcome(step, visit, value.error());
    data = std::move(*value);
  }
  if (const Template* const program = next_run_of(step.instance, common)) {
    return end_run(step, visit, *program, data ? *data : step.instance.data);
  }
  if (data) {
    if (const auto raised = visit.set_data(std::move(*data)))
      return apply_outcome(step, visit, *raised);
  }
  take_notes(step, visit);
  go_to(step, exit.transition);
}

}  // namespace millrace
