// RateLimit: spreads work over time, so that it does not exceed a number of bytes per second. Pure:
// the caller passes the time of a steady clock, and waits.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace millrace {

class RateLimit {
 public:
  /// 0: no limit.
  explicit RateLimit(uint64_t bytes_per_second) : rate_(bytes_per_second) {}

  /// Counts bytes that were processed by the time `now`. Returns how long to wait before the next
  /// bytes. Time in which nothing was processed is not made up for later.
  Duration count(uint64_t bytes, Duration now);

 private:
  uint64_t rate_;
  Duration free_at_{};  ///< the time at which all counted bytes are within the limit
};

}  // namespace millrace
