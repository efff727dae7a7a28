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
  using Handler = std::function<void(natsMsg*)>;

  Listening(const Connection& connection, const std::string& subject, Handler handler);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  /// What came of subscribing.
  natsStatus status() const { return status_; }
  const std::shared_ptr<natsConnection>& handle() const { return handle_; }

 private:
  const Connection& connection_;
  const std::shared_ptr<natsConnection> handle_;
  Handler handler_;
  natsStatus status_ = NATS_OK;
  natsSubscription* subscription_ = nullptr;
  std::vector<NatsMsgHandle> spent_;  ///< only for the thread that calls
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

}  // namespace millrace
