// Publishes into JetStream. One thread sends queued messages in order. `done` of a message is
// called once: at its acknowledgement, at its deadline or at the end of the connection. The queue
// is not a Mailbox (os/mailbox.h), for two reasons: a message is queued and starts to wait under
// one lock, so that the queue and the waiting messages have the same order and a lost connection
// empties both; and the thread sleeps until the next deadline.
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

/// The time limit for an acknowledgement, from the call of publish().
inline constexpr Duration kAckTimeout{5000};

class JetStreamPublisher : public Publisher {
 public:
  /// `connection` must outlive this object. `no_stream` is called, on any thread, when no stream
  /// accepted a message. A subject under `millrace.` is published under the prefix
  /// (broker_subject).
  explicit JetStreamPublisher(
      Connection& connection, Duration ack_timeout = kAckTimeout,
      std::function<void()> no_stream = [] {}, std::string prefix = std::string(kDefaultPrefix));

  /// Messages that the broker has not answered end with `broker.unreachable`; afterwards no `done`
  /// is called. Do not destroy this object within a `done`.
  ~JetStreamPublisher() override;

  void publish(NatsMessage message, Done done) override;
  std::vector<Status> publish_unacknowledged(std::vector<NatsMessage> messages) override;

  /// Ok, or `broker.unreachable` as long as messages cannot be sent; each message then fails with
  /// that error.
  Status health() const;

  /// Waits until the broker has answered all published messages. Returns false if that took longer
  /// than `at_most`.
  bool flush(Duration at_most);

  /// The number of published messages that the broker has not answered.
  size_t waiting() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

/// Reads a broker's acknowledgement. Errors: `broker.refused` and `broker.too_large` with the
/// broker's text, `broker.protocol` if `json` is not an acknowledgement.
Result<PublishAck> read_publish_ack(std::string_view json);

}  // namespace millrace
