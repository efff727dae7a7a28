// `millrace dev`: a development server with its own NATS server.
#pragma once

#include "cli/serve_options.h"

namespace millrace {

/// Runs a server with a private nats-server until SIGTERM or SIGINT and returns the exit code. The
/// data is removed at the end, unless `--keep` names a folder for the data.
int run_dev(const DevOptions& options);

}  // namespace millrace
