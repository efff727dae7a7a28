// FollowedCounter: a counter of Prometheus that grows with a total of another module; that total
// may restart at 0. For one thread at a time.
#pragma once

#include <cstdint>
#include <utility>

#include <prometheus/counter.h>

namespace millrace {

class FollowedCounter {
 public:
  explicit FollowedCounter(prometheus::Counter& counter) : counter_(counter) {}

  void set(uint64_t total) {
    const uint64_t before = std::exchange(last_, total);
    counter_.Increment(static_cast<double>(total < before ? total : total - before));
  }

 private:
  prometheus::Counter& counter_;
  uint64_t last_ = 0;
};

}  // namespace millrace
