#include "orchestrator/engine/fit.h"

#include <algorithm>

#include <fmt/format.h>

#include "states/compensation.h"
#include "states/state.h"

namespace millrace {
namespace {

/// No deadline is more than one span (100 years at most) after the time at which the deadline was
/// set. This check allows twice that distance.
constexpr Duration kFarthest = std::chrono::duration_cast<Duration>(std::chrono::years(200));

Status unfit(std::string message) { return fail("instance.unfit", std::move(message)); }

class Fit {
 public:
  Fit(const Workflow& workflow, const Instance& instance, TimePoint now)
      : state_(*state_of(workflow, instance)),
        waits_(state_.waits()),
        instance_(instance),
        now_(now) {}

  Status check() const {
    if (instance_.phase == Phase::kLeaving && !state_.common().is_way_out(instance_.exit)) {
      return unfit(fmt::format(
          "the instance leaves {} by exit {} (counted from 0), and the state has {} exits", name(),
          instance_.exit, state_.common().exits.size()));
    }
    TRY(check_listeners());
    for (const auto* const timers : {&instance_.timers, &instance_.held_timers}) {
      for (const Timer& timer : *timers) TRY(check(timer));
    }
    return check_calls();
  }

 private:
  std::string name() const {
    return fmt::format("state \"{}\" of type {}", state_.common().id, state_.common().type);
  }
  bool is_waiting() const { return instance_.phase == Phase::kWaiting; }

  Status check_listeners() const {
    const auto& listeners = instance_.listeners;
    if (listeners.empty()) return {};
    const bool looks_back = waits_.keeps_events && state_.looks_back();
    if (!is_waiting() && !(takes_early_events(instance_) && looks_back)) {
      return unfit("the instance listens for events, but does not wait");
    }
    const auto& slots = instance_.slots;
    if (waits_.keeps_events && slots.size() != waits_.events) {
      return unfit(fmt::format("the instance has slots for {} events, and {} waits for {} events",
                               slots.size(), name(), waits_.events));
    }
    for (const Listener& listener : listeners) {
      if (listener.entry >= waits_.events) {
        return unfit(fmt::format(
            "the instance listens for event {} (counted from 0), and {} waits for {} events",
            listener.entry, name(), waits_.events));
      }
      if (waits_.keeps_events && slots[listener.entry]) {
        return unfit(
            fmt::format("the instance listens for event {} (counted from 0), which has arrived",
                        listener.entry));
      }
    }
    return {};
  }

  Status check_time(TimePoint time, std::string_view what) const {
    if (time >= instance_.started_at && time <= now_ + kFarthest) return {};
    return unfit(
        fmt::format("{} at {} is before the start of the instance or more than 200 years ahead",
                    what, format_rfc3339(time)));
  }

  Status check(const Timer& timer) const {
    TRY(check_time(timer.deadline, "a timer"));
    if (timer.kind == TimerKind::kDelay && !(is_waiting() && waits_.delay)) {
      return unfit(fmt::format(
          "the instance has the timer of a delay, and does not wait for a delay in {}", name()));
    }
    if (timer.kind == TimerKind::kRetry && !(is_waiting() && instance_.listeners.empty())) {
      return unfit("the instance has the timer of a retry, but does not wait for one");
    }
    return {};
  }

  Status check_calls() const {
    const auto& calls = instance_.calls;
    if (calls.empty()) return {};
    // An instance that leaves a state with many calls removes them in several steps.
    const bool is_leaving = instance_.phase == Phase::kLeaving;
    if (!waits_for_calls(instance_) && !is_leaving) {
      return unfit("the instance has calls, but does not wait");
    }
    // An instance that still makes its calls has fewer, and so has one that was cancelled then.
    const bool may_lack_some = makes_calls(instance_) || instance_.cancelling || is_leaving;
    const bool are_too_few = !may_lack_some && calls.size() < waits_.least_calls;
    if (are_too_few || calls.size() > waits_.most_calls) {
      const std::string least =
          waits_.least_calls < waits_.most_calls ? fmt::format("{} to ", waits_.least_calls) : "";
      return unfit(fmt::format("the instance has {} calls, and {} makes {}{}", calls.size(), name(),
                               least, waits_.most_calls));
    }
    if (makes_calls(instance_) && calls.size() == waits_.most_calls) {
      return unfit("the instance still makes calls, but has as many as its state makes");
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      const Status fits = check(calls[i]);
      if (!fits) return unfit(fmt::format("call {}: {}", i, fits.error().message));
    }
    return {};
  }

  Status check(const Call& call) const {
    using Status = Call::Status;
    if (call.retry_at.has_value() != (call.status == Status::kBetween)) {
      return unfit("the time of the next attempt does not fit the status of the call");
    }
    if (call.retry_at) TRY(check_time(*call.retry_at, "an attempt"));
    if (!has_ended(call) && instance_.phase == Phase::kLeaving) {
      return unfit("the call has not ended, but the instance leaves its state");
    }
    for (const auto& deadline : call.deadlines) {
      if (!deadline) continue;
      if (has_ended(call)) return unfit("the call has ended, but has a deadline");
      TRY(check_time(*deadline, "a deadline"));
    }
    if (call.attempt == 0 && (call.status == Status::kRunning || call.status == Status::kBetween)) {
      return unfit("the call is running or between two attempts, but its attempt number is 0");
    }
    return {};
  }

  const State& state_;
  const Waits waits_;
  const Instance& instance_;
  const TimePoint now_;
};

}  // namespace

Status check_fit(const Workflow& workflow, const Instance& instance, TimePoint now) {
  if (instance.state >= workflow.states.size()) {
    return unfit(
        fmt::format("the instance is in state {} (counted from 0), and its workflow has {} states",
                    instance.state, workflow.states.size()));
  }
  if (state_of(workflow, instance) == nullptr) {
    return unfit(fmt::format(
        "the instance makes the compensation of state \"{}\", which has no `compensate`",
        workflow.states[instance.state]->common().id));
  }
  return Fit(workflow, instance, now).check();
}

}  // namespace millrace
