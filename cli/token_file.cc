#include "cli/token_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace {
namespace {

constexpr size_t kMinSize = 16;
constexpr size_t kMaxSize = 4096;  ///< well within what the server takes of headers

}  // namespace

Status check_token(std::string_view token, std::string_view name) {
  const bool is_visible =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (is_visible && token.size() >= kMinSize && token.size() <= kMaxSize) return {};
  return fail("token.malformed",
              fmt::format("{} holds no token: one has {} to {} characters, none of them a space "
                          "(`openssl rand -hex 32` makes one)",
                          name, kMinSize, kMaxSize));
}

Result<std::string> read_token_file(const std::string& file) {
  std::ifstream opened(file, std::ios::binary);
  std::string token(kMaxSize + 3, '\0');  // room for a line's end, and for a byte too many
  opened.read(token.data(), static_cast<std::streamsize>(token.size()));
  if (!opened.is_open() || opened.bad()) {
    return fail("token.unreadable",
                fmt::format("the token file {} cannot be read: {}", file, std::strerror(errno)));
  }
  token.resize(static_cast<size_t>(opened.gcount()));
  if (token.ends_with('\n')) token.pop_back();
  if (token.ends_with('\r')) token.pop_back();
  TRY(check_token(token, file));
  return token;
}

bool anybody_may_read(const std::string& file) {
  struct stat found {};
  return ::stat(file.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0;
}

}  // namespace millrace
