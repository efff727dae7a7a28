// The token that a server requires and a client sends. It is stored in a file, so that it appears
// on no command line. Error messages contain no character of the token. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// Checks that the token has 16 to 4096 characters, all visible ASCII, so that it fits into a
/// header. Error `token.malformed`; the message begins with `name`, the source of the token.
Status check_token(std::string_view token, std::string_view name);

/// Checks that a server may require the token: it has at least 32 characters, of which at least 8
/// are different, so that it cannot be guessed. The error says how to make a token. Clients also
/// send shorter tokens, for servers of earlier releases. Error `token.weak`; the message begins
/// with `name`.
Status check_token_strength(std::string_view token, std::string_view name);

/// Reads the token from a file, without the line end. Errors: `token.unreadable`,
/// `token.malformed`.
Result<std::string> read_token_file(const std::string& file);

}  // namespace millrace
