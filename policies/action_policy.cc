#include "policies/action_policy.h"

#include <algorithm>

namespace millrace {

const TimeoutKey* WrittenTimeouts::key_of(Vocabulary vocabulary) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const TimeoutKey* key) {
    return key != nullptr && key->vocabulary == vocabulary;
  });
  return found == keys.end() ? nullptr : *found;
}

WrittenTimeouts WrittenTimeouts::over(const WrittenTimeouts& farther) const {
  WrittenTimeouts all = farther;
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    // Zart's one key, `timeout`, may set this kind of timeout in the farther policy and another
    // kind in the nearer one: then the nearer key wins.
    if (std::find(keys.begin(), keys.end(), all.keys[i]) != keys.end()) {
      all.keys[i] = nullptr;
      all.policy.timeouts[i].reset();
    }
    if (keys[i] != nullptr) all.keys[i] = keys[i];
  }
  all.policy = policy.over(all.policy);
  return all;
}

TimeoutPolicy WrittenTimeouts::with_defaults() const {
  TimeoutPolicy all = policy;
  auto& one = all[TimeoutKind::kStartToClose];
  const TimeoutKey* const whole = keys[static_cast<size_t>(TimeoutKind::kScheduleToClose)];
  if (!one && whole != nullptr && whole->vocabulary == Vocabulary::kTemporal) {
    one = Timeout{.span = policy[TimeoutKind::kScheduleToClose]->span,
                  .expiry = Timeout::Expiry::kRetryable};
  }
  return all;
}

bool ServicePolicy::empty() const {
  return !retries && std::all_of(timeouts.keys.begin(), timeouts.keys.end(),
                                 [](const TimeoutKey* key) { return key == nullptr; });
}

ActionPolicy ActionPolicy::over(const ServicePolicy& service) const {
  ActionPolicy policy = *this;
  policy.written = written.over(service.timeouts);
  policy.timeouts = policy.written.with_defaults();
  if (policy.retries || is_settled) return policy;
  policy.retries = service.retries;
  if (!policy.retries && service.timeouts.key_of(Vocabulary::kTemporal) != nullptr) {
    policy.retries = default_policy(Vocabulary::kTemporal);
  }
  return policy;
}

}  // namespace millrace
