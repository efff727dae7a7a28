// The subject to which a server sends what a pull consumer asked for, as one of two subscriptions.
// Private to broker/. take() is called on one thread, interrupt() on any.
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
    kNothing,      ///< in that time
    kDestroyed,    ///< a message came, and nats.c destroyed it
    kTooMany,      ///< more messages came than may wait
    kInterrupted,  ///< by interrupt(), or the connection was lost
  };

  virtual ~PullInbox() = default;
  PullInbox(const PullInbox&) = delete;
  PullInbox& operator=(const PullInbox&) = delete;

  /// Takes the next message, for which it waits for `at_most`. Behind kTooMany and kInterrupted
  /// nothing more is to be had.
  virtual Took take(Duration at_most, NatsMsgHandle& message) = 0;
  /// Ends take() with kInterrupted.
  virtual void interrupt() = 0;

 protected:
  PullInbox() = default;
};

/// A synchronous subscription: one switch between threads for each message. Its library call,
/// natsSubscription_NextMsg (nats.c 3.4.1), destroys every message that has the status 503 and no
/// data. The server says so that no consumer answers, but any client may store such a message.
Result<std::unique_ptr<PullInbox>> poll_inbox(Connection& connection, const std::string& subject);

/// An asynchronous subscription: it destroys nothing, and costs one more switch between threads for
/// each message. At most `most` messages may wait. Its queue is no Mailbox (os/mailbox.h): it is
/// bounded, take() waits in it for a time, and an overflow or interrupt() comes before what waits.
Result<std::unique_ptr<PullInbox>> listen_to_inbox(Connection& connection,
                                                   const std::string& subject, size_t most);

}  // namespace millrace
