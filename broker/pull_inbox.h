// The inbox to which the broker sends the messages and statuses for a pull consumer. poll_inbox()
// and listen_to_inbox() create the two kinds of subscription for an inbox. Private to broker/.
// take() is called on one thread, interrupt() on any.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/nats_handles.h"

namespace millrace {

class PullInbox {
 public:
  enum class Took {
    kMessage,
    kNothing,      ///< no message came in time
    kDestroyed,    ///< a message came, but nats.c freed it without returning it
    kTooMany,      ///< more messages came than may wait
    kInterrupted,  ///< interrupt() was called, or the connection was lost
  };

  virtual ~PullInbox() = default;
  PullInbox(const PullInbox&) = delete;
  PullInbox& operator=(const PullInbox&) = delete;

  /// Takes the next message; waits up to `at_most` for it. After kTooMany or kInterrupted there are
  /// no more messages.
  virtual Took take(Duration at_most, NatsMsgHandle& message) = 0;
  /// How many messages have come and are not taken.
  virtual size_t waiting() = 0;
  /// Ends take() with kInterrupted.
  virtual void interrupt() = 0;

 protected:
  PullInbox() = default;
};

/// A synchronous subscription: one thread switch for each message. natsSubscription_NextMsg (nats.c
/// 3.4.1), which take() calls, destroys every message that has the status 503 and no data. A NATS
/// server sends such a message if no consumer answers, but any client may store one as well.
Result<std::unique_ptr<PullInbox>> poll_inbox(Connection& connection, const std::string& subject);

/// An asynchronous subscription. It destroys no message, and costs one more thread switch for each
/// message than poll_inbox(). At most `most` messages may wait. The queue of messages is not a
/// Mailbox (os/mailbox.h), because the queue is bounded, take() waits with a time limit, and an
/// overflow or interrupt() comes before the messages that wait.
Result<std::unique_ptr<PullInbox>> listen_to_inbox(Connection& connection,
                                                   const std::string& subject, size_t most);

}  // namespace millrace
