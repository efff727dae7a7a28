#include "orchestrator/batch/large_instances.h"

#include <iterator>
#include <numeric>
#include <utility>

#include "base/lazy_json.h"

namespace millrace {
namespace {

/// The bytes of the texts that are copied and checked when the instance is read.
size_t text_bytes(const Instance& instance) {
  size_t bytes = instance.data.known_size();
  for (const auto* const part : {&instance.found_data, &instance.failed_data}) {
    if (*part) bytes += (*part)->known_size();
  }
  for (const auto& slot : instance.slots) bytes += slot ? slot->known_size() : 0;
  for (const Call& call : instance.calls) {
    bytes += call.input.known_size() + call.result.known_size();
  }
  return bytes;
}

/// Leaves the texts, whose bytes count. A tree needs several times as much memory. The values of
/// many calls are short.
void drop_trees(KeptInstance& kept) {
  Instance& instance = kept.instance;
  instance.input = {};
  instance.data = instance.data.without_tree();
  for (auto* const part : {&instance.found_data, &instance.failed_data}) {
    if (*part) **part = (*part)->without_tree();
  }
  for (auto& slot : instance.slots) {
    if (slot) *slot = slot->without_tree();
  }
  if (instance.calls.size() >= LargeInstances::kFewestCalls) return;
  for (auto* const calls : {&instance.calls, &kept.calls}) {
    for (Call& call : *calls) {
      call.input = call.input.without_tree();
      call.result = call.result.without_tree();
    }
  }
}

}  // namespace

bool LargeInstances::is_large(const Instance& instance) {
  return instance.calls.size() >= kFewestCalls || text_bytes(instance) > kLargeJson;
}

uint64_t LargeInstances::bytes_of(const Instance& instance) {
  return std::accumulate(instance.part_bytes.begin(), instance.part_bytes.end(), uint64_t{0});
}

void LargeInstances::put(KeptInstance kept) {
  Instance& instance = kept.instance;
  if (!is_large(instance) || has_ended(instance.status)) return;
  const std::pair place(instance.ns, instance.id);
  take(instance.ns, instance.id);  // an instance is kept once
  drop_trees(kept);
  calls_ += instance.calls.size();
  bytes_ += bytes_of(instance);
  kept_.push_front(std::move(kept));
  places_.emplace(place, kept_.begin());
  while (calls_ > limits_.calls || bytes_ > limits_.bytes) remove(std::prev(kept_.end()));
}

std::optional<KeptInstance> LargeInstances::take(NamespaceNumber ns, const InstanceId& id) {
  const auto found = places_.find(std::pair(ns, id));
  if (found == places_.end()) return std::nullopt;
  return remove(found->second);
}

KeptInstance LargeInstances::remove(Kept::iterator one) {
  KeptInstance removed = std::move(*one);
  kept_.erase(one);
  places_.erase(std::pair(removed.instance.ns, removed.instance.id));
  calls_ -= removed.instance.calls.size();
  bytes_ -= bytes_of(removed.instance);
  return removed;
}

}  // namespace millrace
