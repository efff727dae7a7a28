// `millrace store info`: shows how large a store is. A store that no server uses is read in its
// folder, without changing it. A store in use is measured by its server, because a part of the rows
// is only in the server's memory.
#pragma once

#include "cli/program_verbs.h"
#include "cli/session.h"

namespace millrace {

/// Prints the figures of the store, as to_json(StoreFigures) returns them, and its folder under
/// "data". Exit kNotFound: there is no store in the folder; the exit codes of find_folder_owner()
/// and Client.
Ended show_store_info(Session& session, const StoreInfoOptions& options);

}  // namespace millrace
