// TokenFailures: requests that were refused because they had no valid token. Counts them for the
// log: a client that guesses tokens could otherwise fill the log, or go unnoticed. Pure; for one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// A request that was refused.
struct TokenFailure {
  Error error;       ///< of authorize(): `token.missing`, `token.wrong` or `session.ended`
  std::string peer;  ///< address of the client, or of the proxy in front of millrace
};

class TokenFailures {
 public:
  /// The shortest time between two lines.
  static constexpr Duration kBetweenLines = std::chrono::minutes(1);

  /// Notes a refused request at the time `now` of a clock that never goes back. Returns the line
  /// for the log if no line was returned in the last minute: how many requests were refused since
  /// then, and from where the latest one came.
  std::optional<std::string> note(const TokenFailure& failure, Duration now);

 private:
  uint64_t missing_ = 0;  ///< since the last line
  uint64_t wrong_ = 0;    ///< since the last line
  std::optional<Duration> last_line_;
};

}  // namespace millrace
