#include "orchestrator/batch/timer_inputs.h"

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
  if (batch_.waiting.listens(owner->instance)) return true;
  const LoadedInstance* const loaded = TRY(instances_.load(now, owner->ns, owner->instance));
  if (loaded == nullptr || loaded->instance.phase != Phase::kEntering) return false;
  // The instance is evaluating what it will listen for.
  const Instance& instance = loaded->instance;
  const auto workflow = TRY(batch_.catalog.definition(batch_.tx, instance.revision));
  return !workflow->states[instance.state]->awaited_types().empty();
}

Status TimerInputs::apply_input(TimePoint now, const TimerInput& input) {
  ++batch_.outcome.counts.timers_fired;
  return std::visit([&](const auto& owner) { return fire(now, input.deadline, owner); },
                    input.owner);
}

Status TimerInputs::fire(TimePoint now, TimePoint deadline, const TimerInput::OfInstance& owner) {
  batch_.crash_note.take_instance({owner.ns, owner.instance});
  LoadedInstance* const loaded = TRY(instances_.load(now, owner.ns, owner.instance));
  if (loaded == nullptr) return {};
  if (!fan_outs_.empty()) TRY(instances_.offer_kept_events(now, *loaded));
  const Timer timer{owner.kind, deadline};
  if (TRY(instances_.fire(now, *loaded, timer, batch_.listen_from_now()))) {
    TRY(instances_.offer_kept_events(now, *loaded));
  }
  return {};
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

}  // namespace millrace
