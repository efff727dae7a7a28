// The NATS protocol binding: 1.0.2 has the structured mode only; the binary mode is as in its next
// version (1.0.3), and as the producers that there are write it.
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

/// Reads the event in a message; the subject is not looked at. Without a content type and `ce-`
/// headers it is the JSON format. Errors: `event.*`; a batch is `event.unsupported_format`.
Result<Event> decode_nats(const NatsMessage& message, size_t max_bytes = kMaxEventBytes);

/// A message in structured mode, its subject left to the caller (event_subject).
NatsMessage encode_nats(const Event& event);

}  // namespace millrace
