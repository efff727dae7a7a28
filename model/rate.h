// Rate: a limit of so many in a second, as a token bucket in whole numbers. The bucket is a plain
// value that can be stored, and the time is an argument, so equal calls decide equally on every
// machine and after a restart.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace millrace {

/// How far a bucket is used up. A bucket that was never used is full.
struct RateUse {
  uint64_t used = 0;  ///< in thousandths of a token
  TimePoint at;       ///< the time to which `used` belongs

  bool operator==(const RateUse&) const = default;
};

struct Rate {
  uint64_t per_second = 0;  ///< 1 to 1 000 000
  uint64_t seconds = 1;     ///< how many seconds' tokens the bucket holds

  /// Takes `count` tokens; false: the bucket does not have that many, and is not changed. A time
  /// before that of `use` counts as the same time.
  bool take(RateUse& use, TimePoint now, uint64_t count = 1) const;
};

}  // namespace millrace
