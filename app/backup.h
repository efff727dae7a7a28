// `millrace backup`: writes the rows of a store, as of one commit, to a folder or a tar stream. A
// store in use is read through its server, chunk by chunk; a store that no server uses is read in
// its folder, without changing it.
#pragma once

#include "cli/program_verbs.h"
#include "cli/session.h"

namespace millrace {

/// Writes the backup and prints {"backup","store","commit","format","minor","cursor","time","rows",
/// "bytes","chunks"}; with a tar stream, prints a summary on standard error instead.
Ended back_up_store(Session& session, const BackupOptions& options);

}  // namespace millrace
