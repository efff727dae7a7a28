// DefinitionDeadline: a bound in time for all checks of one definition, whatever number of jq
// programs and schemas it has. Any thread, one at a time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/ports/clock.h"

namespace millrace {

/// A ProgramCheck or SchemaCheck that takes at most about `at_most`.
using TimedCheck = std::function<std::vector<std::optional<Error>>(
    std::span<const std::string> texts, Duration at_most)>;

class DefinitionDeadline {
 public:
  /// The time begins now. `clock` outlives the checks.
  DefinitionDeadline(const Clock& clock, Duration at_most)
      : clock_(clock), at_most_(at_most), deadline_(clock.elapsed() + at_most) {}

  /// The check with the time that is left when it is called. If no time is left, each text has the
  /// error `jq.check_failed`. `check` outlives the result.
  ProgramCheck bound(const TimedCheck& check) const;

 private:
  const Clock& clock_;
  const Duration at_most_;
  const Duration deadline_;  ///< Clock::elapsed()
};

}  // namespace millrace
