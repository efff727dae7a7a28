// BearerToken: what a caller has to show to be let in (RFC 6750). Only its hash is held: comparing
// takes the same time whatever was sent, and there is no text that could be logged. Immutable; any
// thread.
#pragma once

#include <array>
#include <string_view>

#include "base/result.h"
#include "cloudevents/headers.h"

namespace millrace {

class BearerToken {
 public:
  explicit BearerToken(std::string_view token);

  /// Whether `Authorization: Bearer TOKEN` is there. Errors: `token.missing`, `token.wrong`;
  /// neither says what was sent.
  Status admit(const Headers& headers) const;

 private:
  using Hash = std::array<unsigned char, 32>;
  static Hash hash(std::string_view token);

  Hash hash_;
};

}  // namespace millrace
