#include "orchestrator/engine/early_events.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace millrace {
namespace {

/// Whether the instance waits in that state with a listener of that entry.
bool listens(const Instance& instance, uint64_t entered, uint32_t entry) {
  return instance.entered == entered && instance.phase == Phase::kWaiting &&
         std::any_of(instance.listeners.begin(), instance.listeners.end(),
                     [&](const Listener& one) { return one.entry == entry; });
}

/// The size of what the event adds to the instance and its history, about.
size_t size_of_early(const Event& event) {
  return event.id.size() + event.source.size() + event.type.size() +
         (event.data ? event.data->size() : 0);
}

bool has_reached_limit(const StepContext& step) {
  const size_t bytes = step.result.bytes;
  if (bytes >= step.limits.bytes_per_step) return true;
  return step.limits.budget != nullptr && step.limits.budget->is_spent(bytes);
}

/// Lets later steps offer the other early events: until then the instance is entering its state,
/// and the step in which it waits is still to come.
void leave_others(StepContext& step) {
  Instance& instance = step.instance;
  instance.phase = Phase::kEntering;
  instance.status = InstanceStatus::kRunning;
  --instance.step;
  step.result.has_early_left = true;
}

}  // namespace

void offer_early(StepContext& step, const std::vector<EarlyEvent>& events, uint64_t entered) {
  Instance& instance = step.instance;
  for (const EarlyEvent& early : events) {
    if (!listens(instance, entered, early.entry)) return;
    if (!step.result.early.empty() && has_reached_limit(step)) return leave_others(step);
    // The early events are those up to `listen_from`, which therefore stays.
    const EventPosition at{instance.listen_from.event.stream, early.sequence};
    instance.consumed.add(at, early.known_as);
    step.result.early.push_back({at, early.known_as});
    take_event(step, *early.event, std::array<size_t, 1>{early.entry});
    step.result.bytes += size_of_early(*early.event);
  }
}

Outcome enter_further(StepContext& step, Visit& visit) {
  const Instance& instance = step.instance;
  const std::vector<std::optional<Duration>> lookbacks = step.state().lookbacks();
  std::vector<EarlyListener> listeners;
  for (const Listener& one : instance.listeners) {
    if (one.entry >= lookbacks.size() || !lookbacks[one.entry]) continue;
    listeners.push_back({.entry = one.entry,
                         .filter = one.filter,
                         .since = instance.state_from - *lookbacks[one.entry]});
  }
  if (listeners.empty()) return Wait{};
  return visit.look_back(std::move(listeners), true).value_or(Wait{});
}

}  // namespace millrace
