#include "orchestrator/engine/state_entry.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/engine/timeouts.h"
#include "states/evaluate_time.h"

namespace millrace {
namespace {

/// The maximum size of a `log` value, see docs/language.md.
constexpr size_t kMaxLogBytes = size_t{64} << 10;

/// How long a wait whose `until` is past lasts at least. The kept events came until now, and the
/// timers up to the time of an event fire before it: so all of them come before this timeout.
constexpr Duration kShortestWait = Duration(1);

/// Evaluates the `log` of the state and adds it to the history. nullopt: the state may be entered.
std::optional<Outcome> write_log(StepContext& step, Visit& visit) {
  const auto& log = step.state().common().log;
  if (!log) return std::nullopt;
  auto value = visit.evaluate(*log);
  if (!value) return std::move(value).error();
  if (const size_t size = value->text().size(); size > kMaxLogBytes) {
    return Raise{{"millrace.limits.log",
                  fmt::format("the value of `log` is {} bytes of JSON; a record holds at most {}",
                              size, kMaxLogBytes)}};
  }
  visit.record(HistoryKind::kLog,
               LazyJson::of_text(fmt::format(R"({{"value":{}}})", value->text())));
  return std::nullopt;
}

}  // namespace

Outcome log_and_enter(StepContext& step, Visit& visit) {
  if (auto outcome = write_log(step, visit)) return *std::move(outcome);
  const auto& timeout = step.state().common().evaluated_timeout;
  if (!timeout) return step.state().enter(visit);
  auto time = evaluate_time(visit, *timeout);
  if (!time) return std::move(time).error();

  // The timer is armed before the state acts, because the tasks of calls get the deadline.
  Instance& instance = step.instance;
  const TimePoint deadline = std::max(time->at, step.now + kShortestWait);
  arm(instance, {TimerKind::kStateTimeout, deadline});
  instance.state_timeout = std::move(time->span);
  if (instance.state_timeout) instance.state_timeout->text.clear();
  Outcome outcome = step.state().enter(visit);
  if (std::holds_alternative<Park>(outcome)) {
    // The visit is repeated from its beginning when the values of the state are known.
    std::erase_if(instance.timers,
                  [](const Timer& one) { return one.kind == TimerKind::kStateTimeout; });
    instance.state_timeout.reset();
  }
  return outcome;
}

void arm_timeout_again(StepContext& step, const Timer& held) {
  Instance& instance = step.instance;
  const std::optional<Span>& constant = step.state().common().timeout;
  if (constant || instance.state_timeout) {
    arm(instance, held.kind, constant ? constant : instance.state_timeout, step.now);
  } else {
    arm(instance, held);
  }
}

}  // namespace millrace
