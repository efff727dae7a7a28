// WorkTotals: what the batches have done since the process started, as a few sums for charts. The
// engine thread counts; any thread reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orchestrator/batch/batch_counts.h"

namespace millrace {

class WorkTotals {
 public:
  /// The names of the sums in the API.
  static constexpr std::array<std::string_view, 8> kNames = {
      "events", "started", "woken", "ended", "failed", "published", "timers", "deadLetters"};
  using Sums = std::array<uint64_t, kNames.size()>;

  void add(const BatchCounts& counts) {
    uint64_t ended = 0;
    for (const uint64_t number : counts.ended) ended += number;
    const uint64_t failed = counts.ended[static_cast<size_t>(InstanceStatus::kFailed)] +
                            counts.ended[static_cast<size_t>(InstanceStatus::kTimedOut)];
    const Sums more = {
        counts.events, counts.instances_started, counts.instances_woken, ended,
        failed,        counts.published,         counts.timers_fired,    counts.dead_letters};
    for (size_t i = 0; i < more.size(); ++i) {
      sums_[i].fetch_add(more[i], std::memory_order_relaxed);
    }
  }

  Sums sums() const {
    Sums sums{};
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = sums_[i].load(std::memory_order_relaxed);
    return sums;
  }

 private:
  std::array<std::atomic<uint64_t>, kNames.size()> sums_{};
};

}  // namespace millrace
