// Publisher: the port that publishes messages to streams of the broker.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

struct PublishAck {
  uint64_t sequence = 0;
  bool duplicate = false;  ///< the Nats-Msg-Id was already in the duplicate window of the stream
};

/// The error of a message that is too large for the broker or its stream, so that no retry helps.
inline constexpr std::string_view kTooLarge = "broker.too_large";

/// Publishes messages to streams. Any thread; never blocks.
class Publisher {
 public:
  virtual ~Publisher() = default;
  using Done = std::function<void(Result<PublishAck>)>;
  /// `done` is called exactly once, on any thread, possibly within this call. Messages that one
  /// thread publishes are sent in the order of its calls. A message whose publish failed may or may
  /// not have arrived; sending it again under its Nats-Msg-Id is safe. Errors:
  /// `broker.unreachable`, `broker.timeout`, `broker.too_large`, `broker.refused` (with the
  /// broker's message).
  virtual void publish(NatsMessage message, Done done) = 0;

  /// Sends the messages without asking for acknowledgements, in the order of publish(): whether
  /// they arrive must be seen in their stream. If a message that the same thread publishes later is
  /// acknowledged, these have arrived before, or never will. Returns for each message whether it is
  /// sent. Error: `broker.too_large`.
  virtual std::vector<Status> publish_unacknowledged(std::vector<NatsMessage> messages) {
    for (NatsMessage& message : messages) {
      publish(std::move(message), [](const Result<PublishAck>&) {});
    }
    return std::vector<Status>(messages.size());
  }
};

}  // namespace millrace
