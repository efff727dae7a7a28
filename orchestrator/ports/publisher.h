// Publisher: the port to streams of the broker that messages are put into.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

struct PublishAck {
  uint64_t sequence = 0;
  bool duplicate = false;  ///< the stream had a message of that Nats-Msg-Id in its window
};

/// The error of a message that the broker or its stream will never take, as large as it is.
inline constexpr std::string_view kTooLarge = "broker.too_large";

/// Puts messages into streams. Any thread; never blocks.
class Publisher {
 public:
  virtual ~Publisher() = default;
  using Done = std::function<void(Result<PublishAck>)>;
  /// `done` is called just once, on any thread, this call's included. Messages of one caller are
  /// sent in the order of the calls; one that failed may or may not have arrived, and sending it
  /// again under its Nats-Msg-Id is safe. Errors: `broker.unreachable`, `broker.timeout`,
  /// `broker.too_large`, `broker.refused` (with the broker's words).
  virtual void publish(NatsMessage message, Done done) = 0;
};

}  // namespace millrace
