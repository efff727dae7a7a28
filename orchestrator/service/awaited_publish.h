// Publishes messages and waits for their acknowledgements. Any thread that may block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// Which messages the broker acknowledges. An acknowledgement is a message of its own, which the
/// broker writes and millrace reads.
enum class Acks : uint8_t {
  kEach,
  /// Only the last message. With it, those before it count as acknowledged, although the broker may
  /// have refused one: the caller sees that in the stream. Without it, none has an outcome.
  kLast,
};

/// Messages that are being published. Used by one thread.
class AwaitedPublish {
 public:
  /// Publishes the messages in their order, and does not wait.
  AwaitedPublish(Publisher& publisher, std::vector<NatsMessage> messages, Acks which = Acks::kEach);

  /// Whether each message is acknowledged or has failed.
  bool is_over() const;
  /// Waits until each message is acknowledged or has failed, and returns the results in the order
  /// of the messages; once. Errors: those of Publisher::publish(); a message without an outcome
  /// after some seconds more than the publisher needs has `broker.timeout`.
  std::vector<Result<PublishAck>> wait() &&;

 private:
  struct Outcomes;

  void publish(Publisher& publisher, size_t which, NatsMessage message);
  void take_sent(const std::vector<Status>& sent);

  std::shared_ptr<Outcomes> outcomes_;  ///< an outcome may come later than this object lives
  /// Whether the message has the outcome of the last one.
  std::vector<bool> follows_;
};

/// Publishes the messages and waits for their results, as AwaitedPublish does.
std::vector<Result<PublishAck>> publish_and_wait(Publisher& publisher,
                                                 std::vector<NatsMessage> messages);

}  // namespace millrace
