// The part of Model for `throttle`: docs/language.md, heading "Throttle".
#include <algorithm>

#include "tests/simulation/queue_model.h"

namespace millrace::queue_model {

std::string Model::throttle_key(const Start& start) const {
  return definition_.throttle_keyed ? start.customer : "";
}

/// "A start that is paused by itself takes no turn", and "while the workflow is paused, no start
/// begins".
bool Model::takes_turns(size_t which) const {
  return instances_[which].throttled && !is_paused(which);
}

std::set<std::string> Model::throttle_keys() const {
  std::set<std::string> keys;
  for (size_t i = 0; i < instances_.size(); ++i) {
    if (takes_turns(i)) keys.insert(throttle_key(instances_[i].start));
  }
  return keys;
}

std::vector<size_t> Model::throttled(const std::string& key) const {
  std::vector<size_t> all;
  for (size_t i = 0; i < instances_.size(); ++i) {
    if (takes_turns(i) && throttle_key(instances_[i].start) == key) all.push_back(i);
  }
  std::sort(all.begin(), all.end(), [&](size_t a, size_t b) {
    const Instance& first = instances_[a];
    const Instance& second = instances_[b];
    return goes_before(first.start, first.throttle_place, second.start, second.throttle_place);
  });
  return all;
}

std::optional<TimePoint> Model::throttle_permits_at(const std::string& key) const {
  const auto found = permitted_.find(key);
  if (found == permitted_.end()) return std::nullopt;
  const int more = fault_ == Fault::kOneStartMore ? 1 : 0;
  return permitted_at(found->second, definition_.throttle_limit + more,
                      definition_.throttle_period);
}

/// Lets a start begin, or makes it wait: "a new start does not pass those that wait with its key".
void Model::ask_throttle(size_t which) {
  Instance& one = instances_[which];
  const std::string key = throttle_key(one.start);
  if (!is_paused(which) && throttled(key).empty() && !throttle_permits_at(key))
    return pass_throttle(which);
  one.throttled = true;
  one.waited = true;
  one.throttle_place = ++places_;
  begin_wait(which);
}

/// "It counts when its first run begins, and so do the timeouts of this run."
void Model::pass_throttle(size_t which) {
  Instance& one = instances_[which];
  one.throttled = false;
  const bool is_early = fault_ == Fault::kCountsWhileItWaits;
  permitted_[throttle_key(one.start)].push_back(is_early ? one.began : now_);
  begin_wait(which);
}

/// Lets the starts of the key begin that the throttle permits now.
void Model::release(const std::string& key) {
  for (const size_t next : throttled(key)) {
    if (throttle_permits_at(key)) return;
    pass_throttle(next);
  }
}

void Model::release_all() {
  for (const std::string& key : throttle_keys()) release(key);
}

void Model::set_throttle_limit(int limit) {
  definition_.throttle_limit = limit;
  release_all();
}

}  // namespace millrace::queue_model
