#include "gateway/token_failures.h"

#include <utility>

#include <fmt/format.h>

namespace millrace {

std::optional<std::string> TokenFailures::note(const TokenFailure& failure, Duration now) {
  ++(failure.error.code == "token.wrong" ? wrong_ : missing_);
  if (last_line_ && now - *last_line_ < kBetweenLines) return std::nullopt;
  last_line_ = now;
  return fmt::format(
      "{} requests with a wrong token and {} without a token were refused since the last such "
      "line; the latest came from {}",
      std::exchange(wrong_, 0), std::exchange(missing_, 0), failure.peer);
}

}  // namespace millrace
