// How a message of the event stream becomes what the processor takes: the same for JetStream and
// for its twin. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "cloudevents/subject.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// What the stream says of a message that it delivers.
struct DeliveredAs {
  uint64_t sequence = 0;
  TimePoint stamped;
  bool more = false;  ///< others wait behind it
  /// What subjects of the stream begin with.
  std::string_view prefix = kEventSubjectPrefix;
};

/// An EventInput, or an UnreadableInput that keeps `message` as it is: `event.*` as decode_nats
/// says, `event.subject` where the subject has no namespace.
Delivery read_delivery(NatsMessage message, const DeliveredAs& as);

}  // namespace millrace
