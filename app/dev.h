// `millrace dev`: a server with a broker of its own, for trying things out.
#pragma once

#include "cli/serve_options.h"

namespace millrace {

/// Runs the server with a private nats-server and, unless kept, throw-away data, until SIGTERM or
/// SIGINT; the exit code.
int run_dev(const DevOptions& options);

}  // namespace millrace
