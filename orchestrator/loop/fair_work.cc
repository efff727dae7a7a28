#include "orchestrator/loop/fair_work.h"

namespace millrace {

void FairWork::add(const WorkLane& lane, Item item) {
  queues_[lane].push_back(item);
  shares_.add(lane, meter_.now());
}

Status FairWork::run(double share, const Apply& apply) {
  waits_for_rate_ = false;
  bool is_first = true;
  while (!queues_.empty() && (is_first || !meter_.is_turn_spent(share))) {
    const auto lane = shares_.next(meter_.now());
    if (!lane) {
      waits_for_rate_ = true;
      return {};
    }
    const auto queue = queues_.find(*lane);
    if (queue == queues_.end()) {  // a lost batch had its work
      shares_.remove(*lane, meter_.now());
      continue;
    }
    is_first = false;
    const bool done = TRY(apply(*lane, queue->second.front()));
    const UnitCost cost = meter_.end();
    shares_.charge(*lane, cost.time, cost.bytes, meter_.now());
    if (!done) continue;
    queue->second.pop_front();
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
