// An event as it travels through the process until somebody wants it: its attributes, read, and its
// data as the bytes that came. Most events concern nobody and are never more than this.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/attributes.h"
#include "base/event.h"
#include "base/result.h"
#include "cloudevents/limits.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

class EncodedEvent {
 public:
  EncodedEvent() = default;

  /// One that did not come as a message.
  explicit EncodedEvent(Event event);

  /// Reads the event in a message, and takes the message's data away if it is one. The same events
  /// and the same errors as decode_nats.
  static Result<EncodedEvent> take(NatsMessage& message, size_t max_bytes = kMaxEventBytes);

  const Attributes& attributes() const { return attributes_; }

  /// The whole event, made anew with each call.
  Event event() const;

 private:
  Attributes attributes_;
  std::optional<std::string> bytes_;  ///< the data, or a JSON text that they are a member of
  bool is_json_event_ = false;
};

}  // namespace millrace
