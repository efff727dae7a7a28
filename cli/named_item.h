// What most verbs about one named object do. For one thread only.
#pragma once

#include "cli/client.h"
#include "cli/session.h"

namespace millrace {

/// Sends the call and shows its answer, an object with `name`.
Ended show_named(Session& session, const ApiCall& call);

}  // namespace millrace
