#include "policies/timeout_policy.h"

namespace millrace {

std::string_view error_code(TimeoutKind kind) {
  static constexpr std::array<std::string_view, kTimeoutKinds> kCodes = {
      "millrace.timeout.scheduleToClose", "millrace.timeout.startToClose",
      "millrace.timeout.heartbeat", "millrace.timeout.scheduleToStart"};
  return kCodes[static_cast<size_t>(kind)];
}

TimeoutPolicy TimeoutPolicy::over(const TimeoutPolicy& farther) const {
  TimeoutPolicy both = *this;
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    if (!both.timeouts[i]) both.timeouts[i] = farther.timeouts[i];
  }
  return both;
}

}  // namespace millrace
