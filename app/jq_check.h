// The jq workers of commands that run no server: `lint` checks jq programs with them, `test` also
// evaluates. The first call of own_jq_workers() starts the jq workers and must come before the
// process starts any thread.
#pragma once

#include <string_view>

#include "base/result.h"

namespace millrace {

class JqPool;
struct Loaded;

/// The jq workers, which run until the process ends. Errors: those of JqLauncher::start and
/// JqPool::start.
Result<JqPool*> own_jq_workers();

/// Loads a definition as the server does and checks its jq programs and schemas with
/// own_jq_workers(). If the jq workers cannot be started, a finding reports that.
Loaded lint_definition(std::string_view text);

}  // namespace millrace
