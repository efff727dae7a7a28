#include "orchestrator/memory/damages.h"

#include <spdlog/spdlog.h>

namespace millrace {

void Damages::note(const Error& damage) {
  {
    const std::lock_guard guard(lock_);
    if (known_.contains(damage.message)) return;
    if (known_.size() < kKnown) known_.insert(damage.message);
    if (listed_.size() < kListed) listed_.push_back(damage.message);
    ++count_;
  }
  spdlog::error(
      "a row of the store is damaged, and the instance, event or workflow that it belongs to is "
      "skipped: {}",
      damage.message);
}

Status Damages::pass_over(Status status) {
  if (status || !is_damaged_row(status.error())) return status;
  note(status.error());
  return {};
}

void Damages::hold(const Error& damage) {
  note(damage);
  const std::lock_guard guard(lock_);
  if (!held_) held_ = damage;
}

Status Damages::ready() const {
  const std::lock_guard guard(lock_);
  if (held_) return tl::unexpected(*held_);
  return {};
}

size_t Damages::count() const {
  const std::lock_guard guard(lock_);
  return count_;
}

Json Damages::list() const {
  const std::lock_guard guard(lock_);
  return listed_;
}

}  // namespace millrace
