#include "orchestrator/engine/early_events.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace millrace {
namespace {

/// Whether the instance waits in that state with a listener of that entry.
bool listens(const Instance& instance, uint64_t entered, uint32_t entry) {
  return instance.entered == entered && instance.phase == Phase::kWaiting &&
         std::any_of(instance.listeners.begin(), instance.listeners.end(),
                     [&](const Listener& one) { return one.entry == entry; });
}

}  // namespace

void offer_early(StepContext& step, const std::vector<EarlyEvent>& events, uint64_t entered) {
  Instance& instance = step.instance;
  for (const EarlyEvent& early : events) {
    if (!listens(instance, entered, early.entry)) return;
    // The early events are those up to `listen_from`, which therefore stays.
    const EventPosition at{instance.listen_from.event.stream, early.sequence};
    instance.consumed.add(at, early.known_as);
    step.result.early.push_back({at, early.known_as});
    take_event(step, *early.event, std::array<size_t, 1>{early.entry});
  }
}

}  // namespace millrace
