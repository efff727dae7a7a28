#include "expressions/workers/evaluation_loads.h"

namespace millrace {

EvaluationLoads::Counted::Counted(EvaluationLoads& loads, uint64_t space)
    : loads_(&loads), space_(space) {
  loads.add(space_, place_);
}

EvaluationLoads::Counted& EvaluationLoads::Counted::operator=(Counted&& other) noexcept {
  if (this == &other) return *this;
  end();
  loads_ = std::exchange(other.loads_, nullptr);
  space_ = other.space_;
  place_ = other.place_;
  return *this;
}

void EvaluationLoads::Counted::move_to(Place place) {
  if (loads_ == nullptr || place == place_) return;
  loads_->add(space_, place);  // first, so that the row of the namespace stays
  loads_->remove(space_, std::exchange(place_, place));
}

void EvaluationLoads::Counted::end() {
  if (loads_ != nullptr) std::exchange(loads_, nullptr)->remove(space_, place_);
}

std::map<uint64_t, PoolLoad> EvaluationLoads::now() const {
  std::map<uint64_t, PoolLoad> loads;
  const std::lock_guard lock(mutex_);
  for (const auto& [space, counts] : spaces_) {
    const auto of = [&counts = counts](Place place) { return counts[static_cast<size_t>(place)]; };
    loads.emplace(space, PoolLoad{.fast_waiting = of(Place::kFastWaiting),
                                  .fast_running = of(Place::kFastRunning),
                                  .slow_waiting = of(Place::kSlowWaiting),
                                  .slow_running = of(Place::kSlowRunning)});
  }
  return loads;
}

void EvaluationLoads::add(uint64_t space, Place place) {
  const std::lock_guard lock(mutex_);
  ++spaces_[space][static_cast<size_t>(place)];
}

void EvaluationLoads::remove(uint64_t space, Place place) {
  const std::lock_guard lock(mutex_);
  const auto found = spaces_.find(space);
  if (found == spaces_.end()) return;
  --found->second[static_cast<size_t>(place)];
  if (found->second == Counts()) spaces_.erase(found);
}

}  // namespace millrace
