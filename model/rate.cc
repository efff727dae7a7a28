#include "model/rate.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr uint64_t kParts = 1'000;  ///< of a token, so that a millisecond adds a whole number

}  // namespace

bool Rate::take(RateUse& use, TimePoint now, uint64_t count) const {
  const uint64_t most = per_second * seconds * kParts;
  const TimePoint at = std::max(use.at, now);
  // The bucket is full again after so many seconds; without this bound the product may overflow.
  const bool is_full = at - use.at >= std::chrono::seconds(seconds);
  const uint64_t refilled =
      is_full ? most : per_second * static_cast<uint64_t>((at - use.at).count());
  const uint64_t used = use.used > refilled ? use.used - refilled : 0;
  if (count > per_second * seconds || used + count * kParts > most) return false;
  use = {.used = used + count * kParts, .at = at};
  return true;
}

}  // namespace millrace
