#include "orchestrator/check/opened_state.h"

#include <chrono>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "model/lookup.h"
#include "states/visit.h"

namespace millrace {
namespace {

/// A deadline of a task of a paused service is moved to this time from now, or later.
constexpr Duration kHeldAtLeast = std::chrono::hours(1);

/// The check makes all calls of a state in one visit.
constexpr CallPortion kAllCalls{.calls = kMostCalls, .bytes = std::numeric_limits<size_t>::max()};

/// Placeholders for the values that a state reads when the check enters it again: the real values
/// may have changed since.
class Placeholders final : public Lookup {
 public:
  Placeholders(const LazyJson& input, const Compensation* newest)
      : input_(input), newest_(newest) {}

  Result<std::optional<Variable>> variable(const VariableName&) const override {
    return std::nullopt;
  }
  Result<std::optional<std::string>> secret(NamespaceNumber, std::string_view) const override {
    return std::string();
  }
  Result<LazyJson> input(const Instance&) const override { return input_; }
  Result<Compensation> compensation(const Instance& instance, uint32_t number) const override {
    if (newest_ != nullptr) return *newest_;
    return Lookup::compensation(instance, number);
  }
  const RetryPolicy* default_retries(NamespaceNumber) const override { return nullptr; }
  const ServicePolicy* service_policy(NamespaceNumber, const NamedService&) const override {
    return nullptr;
  }
  std::optional<TimePoint> last_moved(NamespaceNumber, const InstanceId&) const override {
    return std::nullopt;
  }

 private:
  const LazyJson& input_;
  const Compensation* newest_;  ///< null: it cannot be read
};

using StartedCall = std::pair<const uint32_t, Effect>;

/// The start of the call with that index, or of another one with the same action; null: there is
/// none. All calls of a foreach have the same action.
const StartedCall* start_like(const OpenedState& opened, const State& state, uint32_t index) {
  auto found = opened.started.find(index);
  if (found == opened.started.end() && state.common().type == "foreach") {
    found = opened.started.begin();
  }
  if (found == opened.started.end() || found->first >= opened.calls.size()) return nullptr;
  return &*found;
}

/// Whether the call of a service starts. The timeouts of such a call may restart without a record:
/// while the service is paused, and when it resumes.
bool is_of_service(const Effect& started) {
  const auto* const task = std::get_if<StartTask>(&started);
  return task != nullptr && std::holds_alternative<NamedService>(task->runs);
}

/// Whether the deadline of a call is set only together with a record: of the start of its attempt,
/// or of the end of a pause of its instance.
bool has_record(TimeoutKind kind, const Call& call) {
  if (kind == TimeoutKind::kHeartbeat) return false;           // a subflow moves it by its steps
  return kind != TimeoutKind::kStartToClose || !call.outside;  // a worker starts a task
}

}  // namespace

std::optional<OpenedState> open_state(const State& state, const Instance& head,
                                      const LazyJson& data, const LazyJson& input, TimePoint at,
                                      const Compensation* newest) {
  const Placeholders lookup(input, newest);
  const std::vector<Effect> nothing_earlier;
  std::vector<EvaluationResult> results;
  // A list of expressions needs one evaluation for each thousand of them.
  constexpr size_t kMostEvaluations = 20;
  while (results.size() <= kMostEvaluations) {
    Instance copy{.id = head.id, .ns = head.ns, .revision = head.revision};
    copy.state = head.state;
    copy.step = head.step;
    copy.entered = head.entered;
    copy.depth = head.depth;
    copy.compensations = head.compensations;
    copy.compensating = head.compensating;
    copy.data = data;
    Visit visit(copy, at, results, lookup, nothing_earlier, kAllCalls);
    const Outcome outcome = state.enter(visit);
    std::vector<Effect> effects = visit.take_effects();
    if (std::holds_alternative<Park>(outcome)) {
      EvaluationResult& result = results.emplace_back();
      for (const Effect& effect : effects) {
        const auto* const asked = std::get_if<Evaluate>(&effect);
        if (asked != nullptr) result.assign(asked->evaluation.queries.size(), Json("x"));
      }
      if (result.empty()) return std::nullopt;
      continue;
    }
    if (!std::holds_alternative<Wait>(outcome)) return std::nullopt;
    OpenedState opened{.at = at,
                       .listeners = std::move(copy.listeners),
                       .slots = copy.slots.size(),
                       .calls = std::move(copy.calls),
                       .is_exact = results.empty()};
    for (const Timer& timer : copy.timers) {
      if (timer.kind == TimerKind::kDelay) opened.delay = timer.deadline;
    }
    for (Effect& effect : effects) {
      const std::optional<Caller>* caller = nullptr;
      if (const auto* const task = std::get_if<StartTask>(&effect)) caller = &task->caller;
      if (const auto* const child = std::get_if<StartChild>(&effect)) caller = &child->caller;
      if (caller == nullptr || !*caller) continue;
      const uint32_t index = (*caller)->index;
      opened.started.emplace(index, std::move(effect));
    }
    return opened;
  }
  return std::nullopt;
}

const Effect* started_like(const OpenedState& opened, const State& state, uint32_t index) {
  const StartedCall* const found = start_like(opened, state, index);
  return found == nullptr ? nullptr : &found->second;
}

Duration slack_from(TimePoint begin) {
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(begin));
  return date.day() >= std::chrono::day(28) ? Duration(std::chrono::hours(24)) : Duration(0);
}

Duration slack_between(TimePoint from, TimePoint to) {
  using std::chrono::year_month_day;
  const auto day_of = [](TimePoint time) {
    return year_month_day(std::chrono::floor<std::chrono::days>(time));
  };
  const bool is_one_month =
      day_of(from).year() == day_of(to).year() && day_of(from).month() == day_of(to).month();
  return is_one_month ? slack_from(to) : Duration(std::chrono::hours(24));
}

Deadlines latest_deadlines(const Call& call, uint32_t index, const State& state,
                           const OpenedState& now, const OpenedState& recorded) {
  Deadlines latest;
  const StartedCall* const start = start_like(now, state, index);
  if (start == nullptr) return latest;
  const bool is_service = is_of_service(start->second);
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    const bool uses_record = !is_service && has_record(static_cast<TimeoutKind>(i), call);
    const OpenedState& opened = uses_record ? recorded : now;
    const StartedCall* const started = start_like(opened, state, index);
    // A task has no startToClose deadline before it starts; the settings of its service may set
    // that timeout.
    if (started == nullptr || !opened.calls[started->first].deadlines[i]) continue;
    latest[i] = *opened.calls[started->first].deadlines[i] + slack_from(opened.at) +
                (is_service ? kHeldAtLeast : Duration(0));
  }
  return latest;
}

}  // namespace millrace
