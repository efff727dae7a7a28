// A subscription whose messages come on a thread of nats.c. Private to broker/.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "broker/connection.h"
#include "broker/nats_handles.h"

namespace millrace {

/// Gone means that no call is under way: not to be destroyed within one, or under a lock that the
/// handler takes. nats.c subscribes again at each reconnect; only a new connection needs another.
class Listening {
 public:
  /// May take the message; what it leaves is freed.
  using Handler = std::function<void(NatsMsgHandle& message)>;

  Listening(const Connection& connection, const std::string& subject, Handler handler);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  /// What came of subscribing. Where it is not NATS_OK messages may come nevertheless, or only some
  /// of them: it is to be thrown away.
  natsStatus status() const { return status_; }
  const std::shared_ptr<natsConnection>& handle() const { return handle_; }

 private:
  /// What the thread of nats.c touches.
  struct Calls {
    Handler handler;
    std::vector<NatsMsgHandle> spent;
    std::mutex mutex;  // held during a call
    std::condition_variable changed;
    bool closed = false;  ///< no more calls of the handler
    bool over = false;    ///< no more calls of nats.c
  };

  const Connection& connection_;
  const std::shared_ptr<natsConnection> handle_;
  std::unique_ptr<Calls> calls_;
  natsStatus status_ = NATS_OK;
  bool tells_end_ = false;  ///< whether nats.c says when it is over
  natsSubscription* subscription_ = nullptr;
};

}  // namespace millrace
