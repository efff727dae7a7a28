// Publishing into JetStream: one thread sends what was handed in, in order, and answers each
// message once when its acknowledgement, its deadline or the end of the connection comes. Its queue
// is no Mailbox (os/mailbox.h): a message is queued and begins to wait under one lock, so that both
// are in one order and a lost connection empties both; and its thread sleeps to the next deadline.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "broker/connection.h"
#include "broker/stream_options.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// How long an acknowledgement is waited for, from the call of publish().
inline constexpr Duration kAckTimeout{5000};

class JetStreamPublisher : public Publisher {
 public:
  /// `connection` outlives it. `no_stream` is called, on any thread, when no stream took a message.
  /// What is published under `millrace.` goes under the prefix (broker_subject).
  explicit JetStreamPublisher(
      Connection& connection, Duration ack_timeout = kAckTimeout,
      std::function<void()> no_stream = [] {}, std::string prefix = std::string(kDefaultPrefix));

  /// What is still waiting ends with `broker.unreachable`; no `done` is called after it. Not from
  /// within a `done`.
  ~JetStreamPublisher() override;

  void publish(NatsMessage message, Done done) override;

  /// `broker.unreachable` while messages cannot be sent: each one fails with the same error.
  Status health() const;

  /// Waits until all that was handed in is answered; false: not within `at_most`.
  bool flush(Duration at_most);

  /// How many are not answered yet.
  size_t waiting() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

/// Reads a broker's acknowledgement. Errors `broker.refused` and `broker.too_large` have the
/// broker's words, `broker.protocol`: it is none.
Result<PublishAck> read_publish_ack(std::string_view json);

}  // namespace millrace
