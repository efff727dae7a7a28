#include "orchestrator/service/after_timer.h"

#include <string_view>

#include "states/state.h"

namespace millrace {
namespace {

/// Where an error that nothing catches leads. A policy that may begin another run decides first.
std::optional<StateIndex> after_failure(const TimedInstance& instance, const Workflow& workflow) {
  const bool has_state = workflow.timeouts.on_any_failure && !instance.failing;
  return has_state ? workflow.timeouts.on_failure : std::nullopt;
}

/// The state that follows an exit or an entry of `catch`; that of the next run has the id that the
/// revision of the instance gives it.
template <class Way>
std::optional<StateIndex> after_way(const Way& way, const Workflow& workflow) {
  return way.continue_as_new ? std::optional(workflow.start.state) : way.transition;
}

/// Where an error leads that the state raises. `retries`: whether retry policies apply to it.
std::optional<StateIndex> after_error(std::string_view code, bool retries,
                                      const TimedInstance& instance, const Workflow& workflow) {
  const StateCommon& state = workflow.states[instance.state]->common();
  if (retries && state.retries) return std::nullopt;
  if (const Catch* const entry = find_catch(state, code)) return after_way(*entry, workflow);
  if (retries && workflow.retries) return std::nullopt;
  return after_failure(instance, workflow);
}

std::optional<StateIndex> index_after(TimerKind kind, const TimedInstance& instance,
                                      const Workflow& workflow) {
  const StateCommon& state = workflow.states[instance.state]->common();
  switch (kind) {
    case TimerKind::kStateTimeout:
      return after_error("direktiv.stateTimeout", true, instance, workflow);
    case TimerKind::kInterrupt:
      return after_error("direktiv.cancels.timeout", false, instance, workflow);
    case TimerKind::kDelay:
      return state.exits.empty() ? std::nullopt : after_way(state.exits.front(), workflow);
    case TimerKind::kRetry:
      if (instance.awaits_run) return workflow.start.state;
      return instance.has_calls ? std::nullopt : std::optional(instance.state);
    case TimerKind::kExecution:
      if (!workflow.timeouts.fails || instance.failing) return std::nullopt;
      return workflow.timeouts.on_failure;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> state_after(TimerKind kind, const TimedInstance& instance,
                                       const Workflow& workflow) {
  if (instance.cancelling || instance.state >= workflow.states.size()) return std::nullopt;
  const std::optional<StateIndex> next = index_after(kind, instance, workflow);
  if (!next || *next >= workflow.states.size()) return std::nullopt;
  return workflow.states[*next]->common().id;
}

}  // namespace millrace
