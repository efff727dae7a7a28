// ConsumedEvents: the events that one instance has taken, so that a state with `lookback` does not
// get one of them again. Only instances of workflows with such a state have them. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "model/cursor.h"

namespace millrace {

struct ConsumedEvent {
  uint64_t sequence = 0;   ///< of its message in the event stream
  Fingerprint known_as{};  ///< the fingerprint of its namespace, source and id

  bool operator==(const ConsumedEvent&) const = default;
};

struct ConsumedEvents {
  /// The most events that are remembered. With one more, the one with the lowest sequence is
  /// forgotten.
  static constexpr size_t kMost = 500;

  uint32_t stream = 0;     ///< the number of the stream of all these events; 0: there are none
  uint64_t forgotten = 0;  ///< the highest sequence of a forgotten event; 0: none is forgotten
  std::vector<ConsumedEvent> events;  ///< in the order in which the instance took them

  bool empty() const { return events.empty(); }
  /// Whether the instance has taken the event, as far as it is remembered.
  bool has(const Fingerprint& known_as) const;
  /// Remembers an event that has a position. The events of another stream are forgotten: they
  /// cannot be read any more.
  void add(const EventPosition& at, const Fingerprint& known_as);

  bool operator==(const ConsumedEvents&) const = default;
};

}  // namespace millrace
