#include "model/call_limit.h"

#include <string>

#include <fmt/format.h>

#include "policies/timeout_policy.h"

namespace millrace {

Error call_limit_error(Duration limit) {
  return {std::string(error_code(TimeoutKind::kStartToClose)),
          fmt::format("the service did not answer within {} ms, the time for calls without a "
                      "timeout (--call-timeout); set startToCloseTimeout or maxRuntime if it needs "
                      "longer",
                      limit.count())};
}

}  // namespace millrace
