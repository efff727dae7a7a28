// Converts a message of the event stream into input for the processor. JetStreamEvents and
// MemoryBroker both use this function. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "cloudevents/subject.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// What the stream reports about a message that it delivers.
struct DeliveredAs {
  uint64_t sequence = 0;
  TimePoint stamped;
  bool more = false;  ///< the stream has more messages after this one
  /// The common start of all subjects of the stream.
  std::string_view prefix = kEventSubjectPrefix;
};

/// An EventInput, or an UnreadableInput that holds `message` unchanged. The error of an
/// UnreadableInput is one of decode_nats (`event.*`), `event.subject` if the subject has no
/// namespace, or `event.origin` if the header of a source is malformed.
Delivery read_delivery(NatsMessage message, const DeliveredAs& as);

}  // namespace millrace
