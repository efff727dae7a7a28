// `millrace restore`: makes a data folder from a backup and checks it as `millrace verify` does.
#pragma once

#include "cli/console.h"
#include "cli/output.h"
#include "cli/program_verbs.h"

namespace millrace {

/// Makes the data folder and prints {"data","store","commit","format","minor","cursor","time",
/// "rows"}. Exit kFailed: the store check has findings, which are printed, or the backup cannot be
/// restored; then the data folder does not exist.
Ended restore_store(Console& console, Output& output, const RestoreOptions& options);

}  // namespace millrace
