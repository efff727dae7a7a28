// BearerToken: the token that callers must send (RFC 6750). Only the token's hash is stored: a
// comparison takes the same time for every token, and there is no text that could be logged.
// Immutable; any thread.
#pragma once

#include <array>
#include <string_view>

#include "base/result.h"
#include "cloudevents/headers.h"

namespace millrace {

class BearerToken {
 public:
  explicit BearerToken(std::string_view token);

  /// Checks that the headers contain `Authorization: Bearer TOKEN`. Errors: `token.missing`,
  /// `token.wrong`; neither error message contains the token that was sent.
  Status admit(const Headers& headers) const;

 private:
  using Hash = std::array<unsigned char, 32>;
  static Hash hash(std::string_view token);

  Hash hash_;
};

}  // namespace millrace
