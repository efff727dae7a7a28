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

  using Key = std::array<unsigned char, 32>;
  /// A key for this purpose, which only a holder of the token can compute.
  Key derived_key(std::string_view purpose) const;

 private:
  using Hash = std::array<unsigned char, 32>;
  static Hash hash(std::string_view token);

  Hash hash_;
};

/// The hash (BLAKE2b) of a text with a key: a message authentication code, or another key.
BearerToken::Key keyed_hash(const BearerToken::Key& key, std::string_view text);

/// Whether the headers contain a bearer token, valid or not.
bool has_bearer_token(const Headers& headers);

}  // namespace millrace
