#include "orchestrator/batch/large_instances.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace millrace {

uint64_t LargeInstances::bytes_of(const Instance& instance) {
  return std::accumulate(instance.part_bytes.begin(), instance.part_bytes.end(), uint64_t{0});
}

void LargeInstances::put(Instance instance) {
  if (instance.calls.size() < kFewestCalls || has_ended(instance.status)) return;
  calls_ += instance.calls.size();
  bytes_ += bytes_of(instance);
  kept_.push_front(std::move(instance));
  while (calls_ > limits_.calls || bytes_ > limits_.bytes) remove(std::prev(kept_.end()));
}

std::optional<Instance> LargeInstances::take(const InstanceId& id) {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Instance& one) { return one.id == id; });
  if (found == kept_.end()) return std::nullopt;
  return remove(found);
}

Instance LargeInstances::remove(std::list<Instance>::iterator one) {
  Instance removed = std::move(*one);
  kept_.erase(one);
  calls_ -= removed.calls.size();
  bytes_ -= bytes_of(removed);
  return removed;
}

}  // namespace millrace
