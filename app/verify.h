// `millrace verify`: whether the rows of a store fit together. A store that no server has open is
// read where it lies, and nothing in it is changed; of one that is in use the server is asked, for
// a part of it is only in the server's memory.
#pragma once

#include "cli/program_verbs.h"
#include "cli/session.h"

namespace millrace {

/// Shows all findings. Exit kFailed: there are some, or the store could not be checked.
Ended verify_store(Session& session, const VerifyOptions& options);

}  // namespace millrace
