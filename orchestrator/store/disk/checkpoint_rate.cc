#include "orchestrator/store/disk/checkpoint_rate.h"

#include <algorithm>
#include <cmath>

namespace millrace {
namespace {

/// A checkpoint counts from this part of a full one on.
constexpr double kLeastPart = 1.0 / 16;
/// After as many full checkpoints, a checkpoint has half of its weight.
constexpr double kHalfLife = 2;

}  // namespace

CheckpointRate::CheckpointRate(uint64_t checkpoint_bytes)
    : least_bytes_(kLeastPart * static_cast<double>(checkpoint_bytes)),
      half_bytes_(kHalfLife * static_cast<double>(std::max<uint64_t>(checkpoint_bytes, 1))) {}

void CheckpointRate::add(uint64_t bytes, Time time) {
  const auto added = static_cast<double>(bytes);
  // A time of 0 is that of a clock that stands still.
  if (bytes == 0 || added < least_bytes_ || time <= Time(0)) return;
  const double kept = std::exp2(-added / half_bytes_);
  bytes_ = kept * bytes_ + added;
  seconds_ = kept * seconds_ + std::chrono::duration<double>(time).count();
  rate_.store(std::max<uint64_t>(1, static_cast<uint64_t>(bytes_ / seconds_)),
              std::memory_order_relaxed);
}

std::optional<uint64_t> CheckpointRate::get() const {
  const uint64_t rate = rate_.load(std::memory_order_relaxed);
  return rate == 0 ? std::nullopt : std::optional(rate);
}

}  // namespace millrace
