// The token that a server asks for and a client shows: text in a file of its own, so that it is on
// no command line. What is wrong with one is said without a character of it. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// At least 16 characters, visible ASCII all of them: it has to fit into a header. Errors:
/// `token.malformed`, which begins with `name`, where the token comes from.
Status check_token(std::string_view token, std::string_view name);

/// The token in that file, without the line's end. Errors: `token.unreadable`, `token.malformed`.
Result<std::string> read_token_file(const std::string& file);

/// Whether every user of this machine may read the file.
bool anybody_may_read(const std::string& file);

}  // namespace millrace
