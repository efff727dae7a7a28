// EncodedEvent: an event with its attributes decoded and its data as the bytes received. The data
// is decoded only if the event matches a start or an instance; most events match neither.
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

  /// Wraps an event that was not received as a message.
  explicit EncodedEvent(Event event);

  /// Reads the event in a message and, on success, moves the data out of the message. take()
  /// accepts the same events and returns the same errors as decode_nats().
  static Result<EncodedEvent> take(NatsMessage& message, const EventLimits& limits = {});

  const Attributes& attributes() const { return attributes_; }

  /// The complete event; each call decodes it again.
  Event event() const;

  /// The bytes of memory that the attributes and the data take.
  size_t size() const { return attributes_.size() + (bytes_ ? bytes_->size() : 0); }

 private:
  Attributes attributes_;
  std::optional<std::string> bytes_;  ///< the data; if is_json_event_, the whole event in JSON
  bool is_json_event_ = false;
  KnownJson data_json_;  ///< Event::data_json, if the event was decoded
};

}  // namespace millrace
