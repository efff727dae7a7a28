#include "orchestrator/outgoing/webhook_queue.h"

#include <algorithm>

namespace millrace {

bool WebhookQueue::has_share(const Lane& lane) const {
  return in_flight_.size() < window_ && lane.in_flight < window_ - in_flight_.size();
}

void WebhookQueue::forget_if_empty(Lanes::iterator lane) {
  if (lane->second.due.empty() && lane->second.in_flight == 0) lanes_.erase(lane);
}

void WebhookQueue::put(const DueWebhook& due) { lanes_[due.ns].due.emplace(due.at, due.number); }

bool WebhookQueue::remove(const DueWebhook& due) {
  const auto lane = lanes_.find(due.ns);
  if (lane == lanes_.end() || lane->second.due.erase({due.at, due.number}) == 0) return false;
  forget_if_empty(lane);
  return true;
}

void WebhookQueue::clear_due() {
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    lane->second.due.clear();
    forget_if_empty(lane++);
  }
}

std::optional<DueWebhook> WebhookQueue::take(TimePoint now) {
  auto lane = lanes_.upper_bound(last_);
  for (size_t left = lanes_.size(); left > 0; --left, ++lane) {
    if (lane == lanes_.end()) lane = lanes_.begin();
    auto& due = lane->second.due;
    if (due.empty() || due.begin()->first > now || !has_share(lane->second)) continue;
    const DueWebhook next{
        .ns = lane->first, .at = due.begin()->first, .number = due.begin()->second};
    due.erase(due.begin());
    put_in_flight(next.number, next.ns);
    last_ = next.ns;
    return next;
  }
  return std::nullopt;
}

std::optional<TimePoint> WebhookQueue::next_due() const {
  std::optional<TimePoint> next;
  for (const auto& [ns, lane] : lanes_) {
    if (lane.due.empty() || !has_share(lane)) continue;
    next = std::min(next.value_or(lane.due.begin()->first), lane.due.begin()->first);
  }
  return next;
}

bool WebhookQueue::has_due() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const auto& one) { return !one.second.due.empty(); });
}

void WebhookQueue::put_in_flight(uint64_t number, NamespaceNumber ns) {
  if (in_flight_.emplace(number, ns).second) ++lanes_[ns].in_flight;
}

std::optional<NamespaceNumber> WebhookQueue::end(uint64_t number) {
  const auto found = in_flight_.find(number);
  if (found == in_flight_.end()) return std::nullopt;
  const NamespaceNumber ns = found->second;
  in_flight_.erase(found);
  const auto lane = lanes_.find(ns);
  --lane->second.in_flight;
  forget_if_empty(lane);
  return ns;
}

}  // namespace millrace
