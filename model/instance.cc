#include "model/instance.h"

#include <array>
#include <utility>

namespace millrace {
namespace {

constexpr std::array<std::pair<InstanceStatus, std::string_view>, 8> kStatusNames = {{
    {InstanceStatus::kPending, "pending"},
    {InstanceStatus::kRunning, "running"},
    {InstanceStatus::kWaiting, "waiting"},
    {InstanceStatus::kPaused, "paused"},
    {InstanceStatus::kComplete, "complete"},
    {InstanceStatus::kFailed, "failed"},
    {InstanceStatus::kCancelled, "cancelled"},
    {InstanceStatus::kTimedOut, "timedout"},
}};

}  // namespace

std::string_view to_string(InstanceStatus status) {
  for (const auto& [value, name] : kStatusNames) {
    if (value == status) return name;
  }
  return "unknown";
}

std::optional<InstanceStatus> parse_status(std::string_view text) {
  for (const auto& [value, name] : kStatusNames) {
    if (name == text) return value;
  }
  return std::nullopt;
}

bool waits_for(const Instance& instance, const Caller& call) {
  if (!waits_for_calls(instance) || instance.entered != call.entered) return false;
  if (call.index >= instance.calls.size()) return false;
  const Call& own = instance.calls[call.index];
  return own.status == Call::Status::kRunning && own.attempt == call.attempt;
}

void note_compensation(Instance& instance, Compensation compensation) {
  instance.new_compensations.push_back(std::move(compensation));
  ++instance.compensations;
}

void remove_compensation(Instance& instance) {
  if (!instance.new_compensations.empty()) instance.new_compensations.pop_back();
  --instance.compensations;
}

void remove_compensations(Instance& instance) {
  instance.new_compensations.clear();
  instance.compensations = 0;
  instance.compensation_error.reset();
}

std::optional<TimePoint> latest_end(const Instance& instance, const Call& call) {
  std::optional<TimePoint> end;
  if (!instance.paused) {
    end = call.deadlines[static_cast<size_t>(TimeoutKind::kScheduleToClose)];
  }
  for (const Timer& timer : instance.timers) {
    if (timer.kind == TimerKind::kCalls || timer.kind == TimerKind::kInterrupt) continue;
    end = std::min(end.value_or(timer.deadline), timer.deadline);
  }
  return end;
}

}  // namespace millrace
