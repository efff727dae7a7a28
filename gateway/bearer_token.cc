#include "gateway/bearer_token.h"

#include <optional>

#include <sodium.h>

#include "base/check.h"

namespace millrace {
namespace {

/// What follows `Bearer`, in any case and behind any number of spaces.
std::optional<std::string_view> credentials(std::string_view header) {
  const size_t space = header.find(' ');
  if (space == std::string_view::npos || !same_header(header.substr(0, space), "Bearer")) {
    return std::nullopt;
  }
  const size_t token = header.find_first_not_of(' ', space);
  return token == std::string_view::npos ? std::string_view() : header.substr(token);
}

}  // namespace

BearerToken::BearerToken(std::string_view token) : hash_(hash(token)) {}

BearerToken::Hash BearerToken::hash(std::string_view token) {
  CHECK(sodium_init() >= 0, "libsodium does not start");
  Hash made;
  crypto_generichash(made.data(), made.size(), reinterpret_cast<const unsigned char*>(token.data()),
                     token.size(), nullptr, 0);
  return made;
}

Status BearerToken::admit(const Headers& headers) const {
  const std::string* header = find_header(headers, "Authorization");
  const auto shown = header == nullptr ? std::nullopt : credentials(*header);
  if (!shown) {
    return fail("token.missing", "this server asks for a token: Authorization: Bearer TOKEN");
  }
  if (sodium_memcmp(hash(*shown).data(), hash_.data(), hash_.size()) != 0) {
    return fail("token.wrong", "the token is not this server's");
  }
  return {};
}

}  // namespace millrace
