#include "orchestrator/backup/rate_limit.h"

#include <algorithm>

namespace millrace {

Duration RateLimit::count(uint64_t bytes, Duration now) {
  if (rate_ == 0) return Duration(0);
  constexpr double kMillis = 1'000;
  const double millis = static_cast<double>(bytes) / static_cast<double>(rate_) * kMillis;
  free_at_ = std::max(free_at_, now) + Duration(static_cast<int64_t>(millis));
  return free_at_ - now;
}

}  // namespace millrace
