#include "orchestrator/definition/lint_retries.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

TEST(LintRetries, PointsOutKeysOfARetryPolicyThatHaveNoEffect) {
  const auto keys = [](const char* policy) {
    std::vector<std::string> found;
    for (const std::string& one : lint_of(
             fmt::format("id: a\nstates: [{{id: a, type: generateEvent, event: {{type: t, source: "
                         "s}}, retries: {}}}]",
                         policy))) {
      if (one.find("lint.retry_never") == std::string::npos) continue;
      const std::string path = one.substr(0, one.find(": "));
      found.push_back((one.starts_with("note") ? "note " : "") + path.substr(path.rfind('.') + 1));
    }
    return found;
  };
  using Keys = std::vector<std::string>;
  for (const auto& [policy, expected] : std::vector<std::pair<const char*, Keys>>{
           {"{maxAttempts: 1, delay: 1s, exponentialBackoff: 2, maxDelay: 5s}",
            {"delay", "exponentialBackoff", "maxDelay"}},
           {"{max_attempts: 0, delay: 1s, codes: ['*']}", {"delay"}},
           {"{max_attempts: 2, multiplier: 2, codes: ['*']}", {"multiplier"}},
           {"{max_attempts: 1, delay: 1s, multiplier: 2, codes: ['*']}", {"multiplier"}},
           {"{maxAttempts: 3, delay: 1s, maxDelay: 5s}", {"maxDelay"}},
           {"{maxAttempts: 3, delay: 1s, exponentialBackoff: 2, maxDelay: 2s}", {"note maxDelay"}},
           {"{max_attempts: 0, delay: jq(.wait), codes: ['*']}", {"delay"}},
           {"{maximumAttempts: 1, nonRetryableErrorTypes: [millrace.event.invalid]}",
            {"nonRetryableErrorTypes"}},
           // similar policies in which each key has an effect
           {"{max_attempts: 2, delay: 1s, multiplier: 2, codes: ['*']}", {}},
           {"{max_attempts: 1, delay: 1s, multiplier: 1, codes: ['*']}", {}},
           {"{maxAttempts: 1, delay: 0, vocabulary: steep}", {}},
           {"{maxAttempts: 3, delay: 1s, exponentialBackoff: 2, maxDelay: 1999ms}", {}},
           {"{maxAttempts: -1, delay: 1s, exponentialBackoff: 1.1, maxDelay: 1h}", {}},
           {"{maximumAttempts: 2, nonRetryableErrors: [millrace.event.invalid]}", {}},
           {"{max_attempts: 3, delay: jq(.wait), multiplier: 2, codes: ['*']}", {}},
           {"{maxAttempts: 3, delay: jq(.wait), exponentialBackoff: 2, maxDelay: 1h}", {}},
       }) {
    EXPECT_EQ(keys(policy), expected) << policy;
  }
}

}  // namespace
}  // namespace millrace
