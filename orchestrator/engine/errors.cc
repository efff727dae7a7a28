// Errors of an instance in its state: another attempt of the state, a `catch`, or the failure of
// the instance.
#include <optional>
#include <utility>
#include <variant>

#include "orchestrator/engine/runs.h"
#include "orchestrator/engine/step_context.h"
#include "states/retrying.h"

namespace millrace {
namespace {

bool leads_to_error_state(const Workflow& workflow, const Catch& entry) {
  return entry.transition && workflow.states[*entry.transition]->common().type == "error";
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
  clear_waits(step);
  step.record_error(HistoryKind::kRaised, error);
  const StateCommon& common = step.state().common();
  if (error.code == kTaskTimeout) retries = Retries::kNo;
  if (retries == Retries::kYes && common.retries) {
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
  const Catch* const entry = find_catch(common, error.code);
  if (!instance.error) forget_failure(instance);
  if (entry == nullptr || leads_to_error_state(step.workflow, *entry)) note_failure(step);
  // If the instance already has a final error, that error stays.
  put_error(instance, entry == nullptr ? instance.error.value_or(error) : error);
  if (entry == nullptr) return fail(step, error, InstanceStatus::kFailed, retries);
  step.record(HistoryKind::kCaught, LazyJson::object({{"error", entry->error}}));
  go_to(step, entry->transition);
}

void put_error(Instance& instance, const Error& error) {
  instance.data = with_error(std::move(instance.data), error);
}

}  // namespace millrace
