// Errors of an instance in its state: another attempt of the state, a `catch`, or the failure of
// the instance.
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "orchestrator/engine/compensation.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/engine/step_context.h"
#include "states/retrying.h"

namespace millrace {
namespace {

bool leads_to_error_state(const Workflow& workflow, const Catch& entry) {
  return entry.transition && workflow.states[*entry.transition]->common().type == "error";
}

/// Makes the instance leave its state by an entry of `catch` that has `continueAsNew`.
void leave_by_catch(StepContext& step, const StateCommon& common, const Catch& entry) {
  Instance& instance = step.instance;
  instance.phase = Phase::kLeaving;
  instance.exit = common.exits.size() + static_cast<size_t>(&entry - common.catches.data());
  ++instance.step;
  step.result.changed = true;
}

/// Restores the instance as if the state had not been entered, and makes it wait until the next
/// attempt is due.
void wait_for_retry(StepContext& step, TimePoint at) {
  Instance& instance = step.instance;
  if (instance.found_data) instance.data = *std::exchange(instance.found_data, std::nullopt);
  step.record(HistoryKind::kRetrying,
              Json{{"attempt", instance.attempt + 1}, {"at", format_rfc3339(at)}});
  wait_for_attempt(step, at);
}

}  // namespace

void raise(StepContext& step, Error error, Retries retries) {
  Instance& instance = step.instance;
  if (instance.compensating) return fail_compensating(step, error);
  clear_waits(step);
  step.record_error(HistoryKind::kRaised, error);
  const StateCommon& common = step.state().common();
  if (error.code == kTaskTimeout) retries = Retries::kNo;
  // While an entry of `catch` leads to the next run, the state has been given up: to retry it, or
  // to catch the error of that entry, could go on without an end.
  const bool is_by_catch =
      instance.phase == Phase::kLeaving && instance.exit >= common.exits.size();
  if (retries == Retries::kYes && common.retries && !is_by_catch) {
    AfterFailure next = after_failure(
        *common.retries, {.instance = instance.id,
                          .state = common.id,
                          .attempt = instance.attempt,
                          .first_at = instance.state_from,
                          .now = step.now,
                          .error = error,
                          .data = instance.found_data ? *instance.found_data : instance.data,
                          .is_caught = find_catch(common, error.code) != nullptr});
    if (const auto* const at = std::get_if<TimePoint>(&next)) return wait_for_retry(step, *at);
    if (std::get<Error>(next) != error) {
      error = std::get<Error>(std::move(next));
      step.record_error(HistoryKind::kRaised, error);
    }
  }
  const Catch* const entry = is_by_catch ? nullptr : find_catch(common, error.code);
  if (!instance.error) forget_failure(instance);
  if (entry == nullptr || leads_to_error_state(step.workflow, *entry)) note_failure(step);
  // A manual retry starts with the data without the error.
  const bool may_fail_later = entry != nullptr && entry->continue_as_new && !instance.found_data;
  if (may_fail_later) instance.found_data = instance.data;
  // If the instance already has a final error, that error stays.
  put_error(instance, entry == nullptr ? instance.error.value_or(error) : error);
  if (entry == nullptr) return fail(step, error, InstanceStatus::kFailed, retries);
  step.record(HistoryKind::kCaught, LazyJson::object({{"error", entry->error}}));
  if (entry->continue_as_new) return leave_by_catch(step, common, *entry);
  go_to(step, entry->transition);
}

void exceed_transitions(StepContext& step, StateIndex next) {
  Instance& instance = step.instance;
  const Error error{"millrace.limits.transitions",
                    fmt::format("the instance made more than {} transitions without an event and "
                                "without a wait of at least a second; end the loop, or wait in it",
                                step.limits.transitions_per_instance)};
  instance.state = next;  // where a manual retry starts
  instance.found_data.reset();
  step.record_error(HistoryKind::kRaised, error);
  if (!instance.error) forget_failure(instance);
  note_failure(step);
  fail(step, error);
}

void put_error(Instance& instance, const Error& error) {
  instance.data = with_error(std::move(instance.data), error);
}

}  // namespace millrace
