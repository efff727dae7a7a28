// A subscription whose messages come on a thread of nats.c. Private to broker/.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "broker/connection.h"
#include "broker/nats_handles.h"
#include "broker/spent_messages.h"

namespace millrace {

/// The destructor returns when no call of the handler is under way. So do not destroy a Listening
/// within such a call, or under a lock that the handler takes. nats.c subscribes again at each
/// reconnect; only a new connection needs a new Listening.
class Listening {
 public:
  /// The handler may move the message out; otherwise the message is freed after the call.
  using Handler = std::function<void(NatsMsgHandle& message)>;

  Listening(const Connection& connection, const std::string& subject, Handler handler);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  /// The result of subscribing. If it is not NATS_OK, the handler may still get all or some of the
  /// messages: destroy this object.
  natsStatus status() const { return status_; }
  const std::shared_ptr<natsConnection>& handle() const { return handle_; }

 private:
  /// The data that the thread of nats.c uses.
  struct Calls {
    Handler handler;
    SpentMessages spent;
    std::mutex mutex;  // held during a call of the handler
    std::condition_variable changed;
    bool closed = false;  ///< the handler is not called any more
    bool over = false;    ///< nats.c makes no more calls
  };

  const Connection& connection_;
  const std::shared_ptr<natsConnection> handle_;
  std::unique_ptr<Calls> calls_;
  natsStatus status_ = NATS_OK;
  bool reports_end_ = false;  ///< whether nats.c will report its last call, which sets `over`
  natsSubscription* subscription_ = nullptr;
};

}  // namespace millrace
