#include "orchestrator/engine/events.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "model/hops.h"

namespace millrace {
namespace {

/// Gives the waiting instance an event that its listeners with these entries match.
void take_event(StepContext& step, const Event& event, std::span<const size_t> entries) {
  Instance& instance = step.instance;
  instance.hops = hops_of(event);
  // The instance cannot wake itself for ever: a chain of generated events ends at kMaxHops.
  count_again(instance);
  step.record(HistoryKind::kWoken,
              LazyJson::object({{"type", event.type}, {"source", event.source}, {"id", event.id}}));
  const LazyJson found = instance.data.without_tree();
  Visit visit = step.visit();
  apply_outcome(step, visit, step.state().take(visit, event, entries));
  keep_found(instance, visit, found);
  proceed(step);
}

/// Whether the instance still waits in the state that it entered in the step `entered`, with a
/// listener of that entry.
bool listens(const Instance& instance, uint64_t entered, uint32_t entry) {
  return instance.entered == entered && instance.phase == Phase::kWaiting &&
         std::any_of(instance.listeners.begin(), instance.listeners.end(),
                     [&](const Listener& one) { return one.entry == entry; });
}

}  // namespace

void apply(StepContext& step, const EvaluationDone& resumed) {
  Instance& instance = step.instance;
  if (!instance.parked || instance.paused || evaluation_of(instance) != resumed.step) return;
  step.makes_more = true;
  step.early = resumed.early;
  const uint64_t entered = instance.entered;
  proceed(step, resumed.results);
  if (resumed.early == nullptr || !*resumed.early) return;
  // The early events are those up to `listen_from`, which therefore stays.
  for (const EarlyEvent& early : **resumed.early) {
    if (!listens(instance, entered, early.entry)) return;
    const EventPosition at{instance.listen_from.event.stream, early.sequence};
    instance.consumed.add(at, early.known_as);
    step.result.early.push_back({at, early.known_as});
    take_event(step, *early.event, std::array<size_t, 1>{early.entry});
  }
}

void apply(StepContext& step, const Matched& matched) {
  Instance& instance = step.instance;
  if (instance.phase != Phase::kWaiting) return;
  instance.listen_from = matched.position;
  if (step.workflow.looks_back) {
    instance.consumed.add(matched.position.event, matched.known_as);
  }
  take_event(step, *matched.event, matched.entries);
}

}  // namespace millrace
