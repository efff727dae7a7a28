// SpentMessages: messages of nats.c that are not needed any more. nats.c frees messages on a thread
// of its own: the first free wakes that thread, and as soon as it runs, each further free waits for
// a lock that it has. So some messages are freed at once, before it runs. Private to broker/; for
// one thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "broker/nats_handles.h"

namespace millrace {

class SpentMessages {
 public:
  /// Frees the message later, at the latest when kMost messages or kMostBytes bytes are there.
  void add(NatsMsgHandle message) {
    bytes_ += static_cast<size_t>(natsMsg_GetDataLength(message.get()));
    messages_.push_back(std::move(message));
    if (messages_.size() < kMost && bytes_ < kMostBytes) return;
    messages_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostBytes = size_t{1} << 20;

  std::vector<NatsMsgHandle> messages_;
  size_t bytes_ = 0;  ///< of the data of messages_
};

}  // namespace millrace
