#include "orchestrator/batch/timer_inputs.h"

#include <algorithm>
#include <variant>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/event_rows.h"
#include "states/state.h"

namespace millrace {

Result<bool> TimerInputs::may_be_overtaken(TimePoint now, const TimerInput& timer) {
  if (std::holds_alternative<TimerInput::OfGroupedEvent>(timer.owner)) return true;
  const auto* const owner = std::get_if<TimerInput::OfInstance>(&timer.owner);
  if (owner == nullptr || owner->kind == TimerKind::kDelay || owner->kind == TimerKind::kRetry) {
    return false;
  }
  if (draft_.waiting.listens(owner->instance)) return true;
  const Touched* const touched = TRY(instances_.touch(now, owner->space, owner->instance));
  if (touched == nullptr || touched->instance.phase != Phase::kEntering) return false;
  // It evaluates what it is to listen for.
  const Instance& instance = touched->instance;
  const auto workflow = TRY(draft_.catalog.definition(draft_.tx, instance.revision));
  return !workflow->states[instance.state]->awaited_types().empty();
}

Status TimerInputs::take(TimePoint now, const TimerInput& input) {
  ++draft_.outcome.counts.timers_fired;
  return std::visit([&](const auto& owner) { return fire(now, input.deadline, owner); },
                    input.owner);
}

Status TimerInputs::fire(TimePoint now, TimePoint deadline, const TimerInput::OfInstance& owner) {
  draft_.in_hand.take_instance({owner.space, owner.instance});
  Touched* const touched = TRY(instances_.touch(now, owner.space, owner.instance));
  if (touched == nullptr) return {};
  if (!fan_outs_.empty()) TRY(instances_.offer_recent(now, *touched));
  const auto& timers = touched->instance.timers;
  const Timer timer{owner.kind, deadline};
  if (std::find(timers.begin(), timers.end(), timer) == timers.end()) return {};
  Instance& instance = touched->instance;
  if (owner.kind == TimerKind::kCalls && awaits_look(now, instance)) return {};
  // For one that is on its way the events since it was moved are kept; for another one they are
  // not.
  if (!is_on_its_way(instance)) instance.listen_from = draft_.recent.last();
  TRY(instances_.step(now, *touched, Fired{.kind = owner.kind, .deadline = deadline}));
  return {};
}

/// Workers need not report that they have a task, so the runner is asked before a schedule-to-start
/// deadline counts. The timer of the calls stays as it is meanwhile: the answer fires it again, or
/// has it armed anew.
bool TimerInputs::awaits_look(TimePoint now, const Instance& instance) {
  bool awaits = false;
  for (const Call& call : instance.calls) {
    const auto& deadline = call.deadlines[static_cast<size_t>(TimeoutKind::kScheduleToStart)];
    if (call.status != Call::Status::kRunning || !call.outside || !deadline) continue;
    if (*deadline <= now) awaits |= draft_.tasks.awaits_look(call.id, *deadline);
  }
  return awaits;
}

Status TimerInputs::fire(TimePoint, TimePoint, const TimerInput::OfDelayedEvent& owner) {
  const auto read = read_delayed(draft_.tx, owner.number);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  if (read && !*read) return {};
  const auto event = read ? event_of(owner.number, **read) : tl::unexpected(read.error());
  if (!event) {  // its row stays
    draft_.damages.note(event.error());
    return {};
  }
  const auto& record = *read;
  erase_delayed(draft_.tx, owner.number);
  if (!draft_.catalog.has_namespace(record->space)) return {};  // it was deleted
  return draft_.publish(record->space, record->instance, *event, record->sealed);
}

Status TimerInputs::fire(TimePoint, TimePoint, const TimerInput::OfGroupedEvent& owner) {
  return groups_.expire(owner.number);
}

Status TimerInputs::fire(TimePoint now, TimePoint deadline, const TimerInput::OfSchedule& owner) {
  return schedules_.tick(now, owner.workflow, deadline);
}

}  // namespace millrace
