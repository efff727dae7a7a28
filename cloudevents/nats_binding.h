// The NATS protocol binding. Version 1.0.2 defines the structured mode only; the binary mode is
// implemented as the next version (1.0.3) defines it, because producers use it already.
#pragma once

#include <string>

#include "base/event.h"
#include "base/result.h"
#include "cloudevents/headers.h"
#include "cloudevents/limits.h"

namespace millrace {

struct NatsMessage {
  std::string subject;
  Headers headers;
  std::string data;
};

/// Reads the event in a message; the subject is ignored. A message without a content type and
/// without `ce-` headers is read in the JSON format. Errors: `event.*`; for a batch
/// `event.unsupported_format`.
Result<Event> decode_nats(const NatsMessage& message, const EventLimits& limits = {});

/// The event as a message in structured mode; the caller sets the subject (event_subject).
NatsMessage encode_nats(const Event& event);

}  // namespace millrace
