// URLs of a server in flags, and `--public-url` of `millrace serve`: the URL at which services
// reach the gateway, with which the URLs begin that a call is given.
#pragma once

#include <string>

#include "cli/command_parser.h"
#include "cli/console.h"
#include "cli/shell.h"

namespace millrace {

void add_public_url_flag(Verb& serve, std::string& to);

/// The flag, or the environment variable if it is not given; empty if neither is. Exit kUsage: the
/// value is not the URL of a server.
Fallible<std::string> read_public_url(const Shell& shell, const std::string& given);

/// A URL without a path, user or query, to which requests add their own path. Exit kUsage, with the
/// name of the flag: the text is another one.
Fallible<std::string> base_url_of(const char* flag, std::string text);

}  // namespace millrace
