// `millrace verify`: checks whether the rows of a store are consistent. A store that no server uses
// is read in its folder, without changing it. A store in use is checked by its server, because a
// part of the rows is only in the server's memory.
#pragma once

#include "cli/program_verbs.h"
#include "cli/session.h"

namespace millrace {

/// Shows all findings. Exit kFailed: there are findings, or the store could not be checked.
Ended verify_store(Session& session, const VerifyOptions& options);

}  // namespace millrace
