#include "orchestrator/loop/fair_work.h"

#include <algorithm>

namespace millrace {

void FairWork::add(const WorkLane& lane, const Item& item) {
  std::deque<Item>& queue = queues_[lane];
  const bool is_last = queue.empty() || queue.back().since <= item.since;
  const auto is_before = [](uint64_t since, const Item& one) { return since < one.since; };
  const auto place =
      is_last ? queue.end() : std::upper_bound(queue.begin(), queue.end(), item.since, is_before);
  queue.insert(place, item);
  shares_.add(lane, meter_.now());
}

Status FairWork::run(Added added, const Ends& ends, const Apply& apply, Lanes lanes) {
  waits_for_rate_ = false;
  bool has_ended = false;
  while (!queues_.empty() && !has_ended) {
    const auto lane = shares_.next(meter_.now());
    if (!lane) {
      waits_for_rate_ = true;
      return {};
    }
    if (lanes == Lanes::kSparse && !shares_.is_next_sparse()) return {};
    const auto queue = queues_.find(*lane);
    if (queue == queues_.end()) {
      if (added == Added::kSome) {
        shares_.suspend(*lane, meter_.now());
      } else {
        shares_.remove(*lane, meter_.now());  // a lost batch had its work
      }
      continue;
    }
    const bool done = TRY(apply(*lane, queue->second.front()));
    const UnitCost cost = meter_.end();
    has_ended = ends(cost);
    shares_.charge(*lane, cost.all_time(), cost.bytes, meter_.now());
    Item item = queue->second.front();
    queue->second.pop_front();
    if (!done) {
      item.since = turn_;
      queue->second.push_back(item);
    }
    if (!queue->second.empty()) continue;
    queues_.erase(queue);
    shares_.remove(*lane, meter_.now());
  }
  return {};
}

void FairWork::each_left(const std::function<void(const Item& item)>& see) const {
  for (const auto& [lane, queue] : queues_) {
    for (const Item& item : queue) see(item);
  }
}

}  // namespace millrace
