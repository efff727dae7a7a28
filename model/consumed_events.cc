#include "model/consumed_events.h"

#include <algorithm>

namespace millrace {

bool ConsumedEvents::has(const Fingerprint& known_as) const {
  return std::any_of(events.begin(), events.end(),
                     [&](const ConsumedEvent& one) { return one.known_as == known_as; });
}

void ConsumedEvents::add(const EventPosition& at, const Fingerprint& known_as) {
  if (at.stream == 0) return;
  if (at.stream != stream) *this = {.stream = at.stream};
  if (events.size() >= kMost) {
    const auto oldest = std::min_element(
        events.begin(), events.end(),
        [](const ConsumedEvent& a, const ConsumedEvent& b) { return a.sequence < b.sequence; });
    forgotten = std::max(forgotten, oldest->sequence);
    events.erase(oldest);
  }
  events.push_back({at.sequence, known_as});
}

}  // namespace millrace
