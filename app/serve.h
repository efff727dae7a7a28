// `millrace serve`, and what programs that run a server have in common.
#pragma once

#include "base/result.h"
#include "cli/serve_options.h"

namespace millrace {

/// Log lines go to standard error.
void log_to_stderr();

/// Says why a server did not start; the exit code.
int fail_to_start(const Error& error);

/// Runs the server until SIGTERM or SIGINT; the exit code. SIGHUP has the token read again,
/// or ends it too where there is none.
int run_serve(const ServeOptions& options);

}  // namespace millrace
