#include "cli/token_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "os/read_file.h"

namespace millrace {
namespace {

constexpr size_t kMinSize = 16;
constexpr size_t kMinServerSize = 32;
constexpr size_t kMinDifferent = 8;
constexpr size_t kMaxSize = 4096;  ///< well below the server's limit for headers

}  // namespace

Status check_token(std::string_view token, std::string_view name) {
  const bool is_visible =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (is_visible && token.size() >= kMinSize && token.size() <= kMaxSize) return {};
  return fail("token.malformed",
              fmt::format("{} does not hold a valid token: expected {} to {} visible ASCII "
                          "characters without spaces, for a server at least {} (`openssl rand -hex "
                          "32` creates one)",
                          name, kMinSize, kMaxSize, kMinServerSize));
}

Status check_token_strength(std::string_view token, std::string_view name) {
  const size_t different = std::set<char>(token.begin(), token.end()).size();
  if (token.size() >= kMinServerSize && different >= kMinDifferent) return {};
  return fail(
      "token.weak",
      fmt::format("{} has a token that can be guessed: {} characters, {} of them different; "
                  "expected at least {} characters and {} different ones. Create one with "
                  "`openssl rand -hex 32`, and give it to all callers",
                  name, token.size(), different, kMinServerSize, kMinDifferent));
}

Result<std::string> read_token_file(const std::string& file) {
  // The token, a line end of two bytes, and one byte by which a longer token is recognised.
  Result<std::string> read = read_at_most(file, kMaxSize + 3);
  if (!read) {
    return fail("token.unreadable", "the token file cannot be read: " + read.error().message);
  }
  std::string token = std::move(*read);
  if (token.ends_with('\n')) token.pop_back();
  if (token.ends_with('\r')) token.pop_back();
  TRY(check_token(token, file));
  return token;
}

}  // namespace millrace
