#include "http/held_timeouts.h"

#include <algorithm>

namespace millrace {

void HeldTimeouts::add(Ticket ticket, Duration left) {
  // A timeout may be as long as a Duration can be.
  const Duration due = left > Duration::max() - held_ ? Duration::max() : held_ + left;
  due_.emplace(due, ticket);
  due_of_.emplace(ticket, due);
}

std::optional<Duration> HeldTimeouts::remove(Ticket ticket) {
  const auto found = due_of_.find(ticket);
  if (found == due_of_.end()) return std::nullopt;
  const Duration due = found->second;
  due_of_.erase(found);
  due_.erase({due, ticket});
  return std::max(due - held_, Duration(1));
}

void HeldTimeouts::note(Time now, bool is_held) {
  if (since_ && now > *since_) {
    const Duration passed = std::chrono::duration_cast<Duration>(now - *since_);
    held_ += passed;
    *since_ += passed;  // what is less than a millisecond counts at a later call
  }
  if (!is_held) since_.reset();
  if (is_held && !since_) since_ = now;
}

std::optional<HeldTimeouts::Ticket> HeldTimeouts::first_expired() const {
  if (due_.empty() || due_.begin()->first > held_) return std::nullopt;
  return due_.begin()->second;
}

}  // namespace millrace
