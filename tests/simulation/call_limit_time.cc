// What becomes due in the model of the limits of calls, and in which order.
#include <algorithm>
#include <numeric>

#include "tests/simulation/call_limit_model.h"

namespace millrace::call_limit_model {
namespace {

/// "The time of its `timeout` begins again each time it is over" while the service of a detached
/// call is paused; a minute at least.
constexpr Duration kLeastHeld = std::chrono::minutes(1);

}  // namespace

std::optional<TimePoint> Model::next_due() const {
  std::optional<TimePoint> first;
  const auto offer = [&](const std::optional<TimePoint>& at) {
    if (at) first = std::min(first.value_or(*at), *at);
  };
  for (const Call& one : calls_) {
    if (!one.open()) continue;
    offer(one.wait_end);
    offer(one.start_end);
    offer(one.run_end);
    if (!is_left_out(one)) offer(one.retry_at);
  }
  for (const Key& key : keys_at(Stage::kThrottle)) {
    const auto next = next_of(Stage::kThrottle, key);
    if (next && !is_paused(calls_[*next].limits.service) && !is_left_out(calls_[*next]))
      offer(permitted_at(calls_[*next]));
  }
  return first;
}

/// Ends the attempt if one of its times is over.
void Model::time_out(size_t which) {
  Call& call = calls_[which];
  const auto is_over = [&](const std::optional<TimePoint>& at) { return at && *at <= now_; };
  if (is_over(call.run_end)) return end_attempt(which, "millrace.timeout.startToClose");
  if (is_over(call.start_end)) {
    return end_attempt(which, "millrace.timeout.scheduleToStart", true);
  }
  if (!is_over(call.wait_end)) return;
  const bool of_slot = call.stage == Stage::kSlot;
  if (!counts_time(call)) {
    const Duration time = of_slot ? call.limits.slot_timeout : call.limits.rate_timeout;
    call.wait_end = now_ + std::max(time, kLeastHeld);
    return;
  }
  end_attempt(which, of_slot ? "millrace.concurrency.timeout" : "millrace.throttle.timeout");
}

/// All calls, the one of which the time is over first before the others.
std::vector<size_t> Model::by_time_of_timeout() const {
  std::vector<size_t> all(calls_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  const auto first_end = [&](size_t which) {
    const Call& one = calls_[which];
    TimePoint first = TimePoint::max();
    for (const auto& at : {one.wait_end, one.start_end, one.run_end}) {
      if (at) first = std::min(first, *at);
    }
    return first;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](size_t one, size_t other) { return first_end(one) < first_end(other); });
  return all;
}

/// What is due now.
void Model::happen() {
  for (const size_t i : by_time_of_timeout()) time_out(i);
  for (size_t i = 0; i < calls_.size(); ++i) {
    const auto& at = calls_[i].retry_at;
    if (at && *at <= now_ && !is_left_out(calls_[i])) make_attempt(i);
  }
  settle();
}

void Model::advance(TimePoint to, bool dead) {
  if (dead) {
    now_ = to;
    happen();
  }
  for (auto due = next_due(); due && *due <= to; due = next_due()) {
    now_ = std::max(now_, *due);
    happen();
  }
  now_ = to;
}

}  // namespace millrace::call_limit_model
