#include "orchestrator/batch/timer_inputs.h"

#include <variant>

#include "orchestrator/batch/call_waits.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "states/state.h"

namespace millrace {

Result<bool> TimerInputs::may_be_overtaken(TimePoint now, const TimerInput& timer) {
  if (std::holds_alternative<TimerInput::OfGroupedEvent>(timer.owner)) return true;
  const auto* const owner = std::get_if<TimerInput::OfInstance>(&timer.owner);
  if (owner == nullptr || owner->kind == TimerKind::kDelay || owner->kind == TimerKind::kRetry) {
    return false;
  }
  if (batch_.waiting.listens(owner->instance)) return true;
  const LoadedInstance* const loaded = TRY(instances_.load(now, owner->ns, owner->instance));
  if (loaded == nullptr || loaded->instance.phase != Phase::kEntering) return false;
  // The instance is evaluating what it will listen for.
  const Instance& instance = loaded->instance;
  const auto workflow = TRY(batch_.catalog.definition(batch_.tx, instance.revision));
  return !workflow->states[instance.state]->awaited_types().empty();
}

Status TimerInputs::apply_input(TimePoint now, const TimerInput& input) {
  if (TRY(awaits_match(input))) return {};
  ++batch_.outcome.counts.timers_fired;
  return std::visit([&](const auto& owner) { return fire(now, input.deadline, owner); },
                    input.owner);
}

Status TimerInputs::fire(TimePoint now, TimePoint deadline, const TimerInput::OfInstance& owner) {
  batch_.crash_note.take_instance({owner.ns, owner.instance});
  LoadedInstance* const loaded = TRY(instances_.load(now, owner.ns, owner.instance));
  if (loaded == nullptr) return {};
  if (fan_outs_.has_target(owner.ns, owner.instance)) {
    TRY(instances_.offer_kept_events(now, *loaded));
    if (batch_.kept_events.undecided().has(owner.instance)) return {};
  }
  const Timer timer{owner.kind, deadline};
  if (TRY(awaits_early_events(timer, loaded->instance))) return {};
  if (TRY(instances_.fire(now, *loaded, timer, batch_.listen_from_now()))) {
    TRY(instances_.offer_kept_events(now, *loaded));
  }
  return {};
}

/// Whether an event that came before the timer is undecided for the instance or the group of the
/// timer. Instances::catch_up() and LateMatches arm the timer again.
Result<bool> TimerInputs::awaits_match(const TimerInput& input) {
  if (!batch_.kept_events.holds_any()) return false;
  Undecided& undecided = batch_.kept_events.undecided();
  if (const auto* const instance = std::get_if<TimerInput::OfInstance>(&input.owner)) {
    return undecided.has(instance->instance);
  }
  const auto* const grouped = std::get_if<TimerInput::OfGroupedEvent>(&input.owner);
  if (grouped == nullptr || !undecided.has_starts()) return false;
  const auto event = TRY(batch_.damages.pass_over(read_grouped(batch_.tx, grouped->number)));
  if (!event || !undecided.has(event->queue.workflow)) return false;
  undecided.defer_lifespan(event->queue.workflow, grouped->number);
  return true;
}

/// Whether early events of the instance come before the timer. Those that were found and are
/// offered in several turns come before each timer. Before the timeout of a state, so do those for
/// which it asks again: because it has taken only some of them, or since the caches were loaded.
/// The step that takes them arms the timer again.
Result<bool> TimerInputs::awaits_early_events(const Timer& timer, const Instance& instance) {
  const bool is_timeout = timer.kind == TimerKind::kStateTimeout;
  if (takes_early_events(instance) && !instance.paused) return is_timeout || !instance.parked;
  const bool is_of_before = is_timeout && timer.deadline <= batch_.loaded_at;
  if (!is_of_before || !instance.parked || instance.phase != Phase::kEntering) return false;
  const auto workflow = TRY(batch_.catalog.definition(batch_.tx, instance.revision));
  return workflow->states[instance.state]->looks_back();
}

Status TimerInputs::fire(TimePoint, TimePoint, const TimerInput::OfDelayedEvent& owner) {
  const auto read = read_delayed(batch_.tx, owner.number);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  if (read && !*read) return {};
  const auto event = read ? event_of(owner.number, **read) : tl::unexpected(read.error());
  if (!event) {  // the damaged row stays in the store
    batch_.damages.note(event.error());
    return {};
  }
  const auto& record = *read;
  erase_delayed(batch_.tx, owner.number);
  if (!batch_.catalog.has_namespace(record->ns)) return {};  // the namespace was deleted
  return batch_.publish(record->ns, record->instance, *event, record->sealed);
}

Status TimerInputs::fire(TimePoint, TimePoint, const TimerInput::OfGroupedEvent& owner) {
  return groups_.expire(owner.number);
}

Status TimerInputs::fire(TimePoint now, TimePoint deadline, const TimerInput::OfSchedule& owner) {
  return schedules_.tick(now, owner.workflow, deadline);
}

Status TimerInputs::fire(TimePoint now, TimePoint, const TimerInput::OfPendingStarts&) {
  return instances_.pending().fire(now);
}

/// The StartQueues go on at the end of the unit of work.
Status TimerInputs::fire(TimePoint, TimePoint, const TimerInput::OfThrottledStarts&) {
  batch_.has_due_throttle = true;
  return {};
}

/// The CallQueues go on at the end of the unit of work.
Status TimerInputs::fire(TimePoint now, TimePoint, const TimerInput::OfThrottledCalls&) {
  batch_.has_due_call_throttle = true;
  return end_call_waits(batch_, instances_, now);
}

}  // namespace millrace
