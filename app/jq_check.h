// The jq workers of a program that runs no server: `lint` checks programs with them, `test`
// evaluates with them too. Started by the first call, which comes before any thread is started.
#pragma once

#include <string_view>

#include "base/result.h"

namespace millrace {

class JqPool;
struct Loaded;

/// The workers, which live as long as the process. Errors: those of starting them.
Result<JqPool*> own_jq_workers();

/// Loads a definition as the server would, its jq and its schemas checked by own_jq_workers().
/// Where these cannot be started, the findings say so.
Loaded lint_definition(std::string_view text);

}  // namespace millrace
