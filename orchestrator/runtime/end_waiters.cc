#include "orchestrator/runtime/end_waiters.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/tables.h"

namespace millrace {

void EndWaiters::add(std::vector<EndWaiter> waiters) {
  for (EndWaiter& waiter : waiters) {
    const auto space = catalog_.find_namespace(waiter.space);
    Result<std::optional<Instance>> instance = std::optional<Instance>();
    if (space) instance = read_instance(view_, *space, waiter.id);
    if (instance && *instance && !has_ended((*instance)->status)) {
      waiters_.emplace(waiter.id, std::move(waiter));
    } else {
      waiter.done(queries_.instance(view_, waiter.space, waiter.id));
    }
  }
}

void EndWaiters::tell(const InstanceId& id) {
  const auto [begin, end] = waiters_.equal_range(id);
  for (auto waiter = begin; waiter != end; ++waiter) {
    // By the name that was asked for: the namespace may have been deleted in the same batch.
    waiter->second.done(queries_.instance(view_, waiter->second.space, id));
  }
  waiters_.erase(begin, end);
}

void EndWaiters::expire(Duration elapsed) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    if (waiter->second.deadline > elapsed) {
      ++waiter;
      continue;
    }
    waiter->second.done(fail(
        "wait.timeout", fmt::format("instance {} has not ended yet", to_string(waiter->first))));
    waiter = waiters_.erase(waiter);
  }
}

std::optional<Duration> EndWaiters::next_deadline() const {
  std::optional<Duration> next;
  for (const auto& [id, waiter] : waiters_) {
    next = std::min(next.value_or(waiter.deadline), waiter.deadline);
  }
  return next;
}

std::vector<EndWaiter::Done> EndWaiters::abandoned() {
  std::vector<EndWaiter::Done> left;
  for (auto& [id, waiter] : std::exchange(waiters_, {})) left.push_back(std::move(waiter.done));
  return left;
}

}  // namespace millrace
