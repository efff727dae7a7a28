#include "orchestrator/service/definition_deadline.h"

#include <chrono>

#include <fmt/format.h>

namespace millrace {

ProgramCheck DefinitionDeadline::bound(const TimedCheck& check) const {
  return [&clock = clock_, &check, at_most = at_most_,
          deadline = deadline_](std::span<const std::string> texts) {
    const Duration left = deadline - clock.elapsed();
    if (left > Duration(0)) return check(texts, left);
    const Error error{
        "jq.check_failed",
        fmt::format("not checked: the checks of this definition have taken {} s; write fewer jq "
                    "programs and schemas, or simpler ones",
                    std::chrono::duration_cast<std::chrono::seconds>(at_most).count())};
    return std::vector<std::optional<Error>>(texts.size(), error);
  };
}

}  // namespace millrace
