// ProcessOutlet: the publisher of one simulated process. It sends nothing after its process has
// died, and drops the broker's answers that come after that. For use by one thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "broker/memory_broker.h"

namespace millrace {

class ProcessOutlet final : public Publisher {
 public:
  explicit ProcessOutlet(MemoryBroker& broker) : broker_(broker) {}

  void publish(NatsMessage message, Done done) override {
    if (*alive_) broker_.publish(std::move(message), guard<Result<PublishAck>>(std::move(done)));
  }

  /// Wraps `done` in a function that does nothing if its process has died.
  template <class T>
  std::function<void(T)> guard(std::function<void(T)> done) {
    return [alive = alive_, done = std::move(done)](T value) {
      if (*alive) done(std::move(value));
    };
  }

  bool alive() const { return *alive_; }
  void die() { *alive_ = false; }

 private:
  MemoryBroker& broker_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace
