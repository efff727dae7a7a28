// `millrace serve`, and functions for all commands that run a server.
#pragma once

#include "base/result.h"
#include "cli/serve_options.h"

namespace millrace {

/// Prints to standard error why a server did not start, or why it stopped. Returns the exit code.
int fail_to_start(const Error& error);

/// Runs the server until SIGTERM or SIGINT and returns the exit code. SIGHUP reloads the token;
/// SIGHUP ends a server that has no token.
int run_serve(const ServeOptions& options);

}  // namespace millrace
