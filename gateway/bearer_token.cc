#include "gateway/bearer_token.h"

#include <optional>

#include <sodium.h>

#include "base/check.h"

namespace millrace {
namespace {

/// Returns the text after the word `Bearer`, in any case, and any number of spaces; nullopt: the
/// header does not begin with `Bearer` and a space.
std::optional<std::string_view> credentials(std::string_view header) {
  const size_t blank = header.find(' ');
  if (blank == std::string_view::npos || !same_header(header.substr(0, blank), "Bearer")) {
    return std::nullopt;
  }
  const size_t token = header.find_first_not_of(' ', blank);
  return token == std::string_view::npos ? std::string_view() : header.substr(token);
}

/// The bearer token of the headers; nullopt: they have none.
std::optional<std::string_view> shown_token(const Headers& headers) {
  const std::string* const header = find_header(headers, "Authorization");
  return header == nullptr ? std::nullopt : credentials(*header);
}

}  // namespace

BearerToken::BearerToken(std::string_view token) : hash_(hash(token)) {}

BearerToken::Hash BearerToken::hash(std::string_view token) {
  CHECK(sodium_init() >= 0, "libsodium cannot be initialised");
  Hash made;
  crypto_generichash(made.data(), made.size(), reinterpret_cast<const unsigned char*>(token.data()),
                     token.size(), nullptr, 0);
  return made;
}

BearerToken::Key BearerToken::derived_key(std::string_view purpose) const {
  return keyed_hash(hash_, purpose);
}

BearerToken::Key keyed_hash(const BearerToken::Key& key, std::string_view text) {
  BearerToken::Key made{};
  crypto_generichash(made.data(), made.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), key.data(), key.size());
  return made;
}

bool has_bearer_token(const Headers& headers) { return shown_token(headers).has_value(); }

Status BearerToken::admit(const Headers& headers) const {
  const auto shown = shown_token(headers);
  if (!shown) {
    return fail("token.missing",
                "this server requires a token; send the header Authorization: Bearer TOKEN");
  }
  if (sodium_memcmp(hash(*shown).data(), hash_.data(), hash_.size()) != 0) {
    return fail("token.wrong", "the token is not valid for this server");
  }
  return {};
}

}  // namespace millrace
