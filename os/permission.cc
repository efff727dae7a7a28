#include "os/permission.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace millrace {
namespace {

using std::chrono::nanoseconds;

/// A shorter suspension is not noticed. A thread that has to wait for a processor between the reads
/// of the clocks looks like a suspension, at the cost of one renewal.
constexpr nanoseconds kShortestSuspension = std::chrono::milliseconds(10);

/// A longer permission would overflow.
constexpr nanoseconds kForEver = std::chrono::hours(24) * 365;

}  // namespace

ClockReading read_clocks() {
  ClockReading reading;
  std::timespec lasting{};
  reading.steady = std::chrono::steady_clock::now();
  ::clock_gettime(CLOCK_BOOTTIME, &lasting);
  reading.steady_after = std::chrono::steady_clock::now();
  reading.lasting = std::chrono::seconds(lasting.tv_sec) + nanoseconds(lasting.tv_nsec);
  return reading;
}

Permission::Permission(bool is_guarded, Clocks clocks)
    : is_guarded_(is_guarded), clocks_(std::move(clocks)) {
  const ClockReading now = clocks_();
  suspended_ = now.lasting - now.steady_after.time_since_epoch();
}

bool Permission::allow_until(Time until, std::optional<Time> asked) {
  if (!is_guarded_) return false;
  const std::lock_guard lock(mutex_);
  const ClockReading now = clocks_();
  const nanoseconds most = now.lasting - now.steady.time_since_epoch();
  if (most - suspended_ > kShortestSuspension) may_have_slept_ = now.steady_after;
  suspended_ = now.lasting - now.steady_after.time_since_epoch();
  if (asked && may_have_slept_ && *asked <= *may_have_slept_) return false;
  // Of the two reads of the steady clock, the later one gives the earlier end.
  nanoseconds left{0};
  if (until > now.steady_after) left = std::min<nanoseconds>(until - now.steady_after, kForEver);
  const nanoseconds end = now.lasting + left;
  const nanoseconds before = until_.exchange(end);
  const nanoseconds then = clocks_().lasting;
  return before <= then && then < end;
}

void Permission::forbid() { until_ = nanoseconds::min(); }

bool Permission::is_valid() const {
  if (!is_guarded_) return true;
  const nanoseconds until = until_.load();
  return until != nanoseconds::min() && clocks_().lasting < until;
}

}  // namespace millrace
