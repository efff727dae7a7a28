#include "orchestrator/loop/end_waiters.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/rows/head_rows.h"

namespace millrace {

void EndWaiters::add(std::vector<EndWaiter> waiters, Duration elapsed) {
  if (waiters.empty()) return;
  if (waiters_.size() >= most_) forget_left();
  const Result<Snapshot> committed = Snapshot::take(environment_);
  for (EndWaiter& waiter : waiters) {
    const Result<bool> active =
        committed ? is_active(*committed, waiter) : tl::unexpected(committed.error());
    if (active && *active) {
      const Duration deadline = elapsed + waiter.at_most;
      const InstanceId id = waiter.id;
      by_instance_.emplace(id, waiters_.emplace(deadline, std::move(waiter)));
    } else {
      waiter.done(active ? Status() : tl::unexpected(active.error()));
    }
  }
}

void EndWaiters::forget_left() {
  std::erase_if(by_instance_, [&](const auto& one) {
    const EndWaiter& waiter = one.second->second;
    if (!waiter.caller || !waiter.caller->expired()) return false;
    waiters_.erase(one.second);
    return true;
  });
  most_ = std::max(kFew, 2 * waiters_.size());
}

Result<bool> EndWaiters::is_active(const View& committed, const EndWaiter& waiter) const {
  const auto ns = catalog_.find_namespace(waiter.ns);
  if (!ns) return false;
  const auto head = TRY(read_live_head(committed, *ns, waiter.id));
  return head && !has_ended(head->status);
}

void EndWaiters::on_end(const InstanceId& id) {
  const auto [begin, end] = by_instance_.equal_range(id);
  for (auto one = begin; one != end; ++one) {
    one->second->second.done({});
    waiters_.erase(one->second);
  }
  by_instance_.erase(begin, end);
}

void EndWaiters::expire(Duration elapsed) {
  while (!waiters_.empty() && waiters_.begin()->first <= elapsed) {
    const auto first = waiters_.begin();
    const EndWaiter waiter = std::move(first->second);
    const auto [begin, end] = by_instance_.equal_range(waiter.id);
    by_instance_.erase(
        std::find_if(begin, end, [&](const auto& one) { return one.second == first; }));
    waiters_.erase(first);
    waiter.done(fail("wait.timeout", fmt::format("instance {} has not ended within the wait",
                                                 to_string(waiter.id))));
  }
}

std::optional<Duration> EndWaiters::next_deadline() const {
  if (waiters_.empty()) return std::nullopt;
  return waiters_.begin()->first;
}

std::vector<Refuse> EndWaiters::abandoned() {
  std::vector<Refuse> left;
  by_instance_.clear();
  for (auto& [at, waiter] : std::exchange(waiters_, {})) {
    left.emplace_back(
        [done = std::move(waiter.done)](const Error& why) { done(tl::unexpected(why)); });
  }
  return left;
}

}  // namespace millrace
