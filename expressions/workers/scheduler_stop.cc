// How jobs are ended whose results are not needed any more, because their instance has ended.
#include <algorithm>
#include <iterator>
#include <utility>

#include "expressions/workers/scheduler.h"

namespace millrace {

/// Ends the stopped jobs, except those in fast slots, which take a slice at most: to replace a fast
/// jq worker costs more.
void JqPool::Scheduler::end_stopped() {
  std::vector<Job> stopped = take_stopped();
  for (Slot& slot : slots_) {
    if (!slot.slow || slot.jobs.empty() || !slot.jobs.front().is_stopped()) continue;
    if (slot.stage != Stage::kNone) end_worker(slot);
    finish(slot, Job::End::kStopped, kStoppedJob);
  }
  publish_stats();
  for (Job& job : stopped) job.done(Job::End::kStopped, std::move(job.replies), kStoppedJob);
}

/// Takes the stopped jobs out of all queues.
std::vector<Job> JqPool::Scheduler::take_stopped() {
  const auto is_stopped = [](const Job& job) { return job.is_stopped(); };
  std::vector<Job> stopped = queue_.take_if(is_stopped);
  const auto take = [&](std::deque<Job>& jobs) {
    const auto from = std::stable_partition(jobs.begin(), jobs.end(),
                                            [&](const Job& job) { return !is_stopped(job); });
    std::move(from, jobs.end(), std::back_inserter(stopped));
    jobs.erase(from, jobs.end());
  };
  take(large_);
  for (auto& [number, lane] : lanes_) take(lane.queue);
  turns_.take_if([this](uint64_t lane) { return lanes_.at(lane).queue.empty(); });
  return stopped;
}

}  // namespace millrace
