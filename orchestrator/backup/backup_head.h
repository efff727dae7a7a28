// Makes the head of a backup, of a running server or of the data folder of a stopped one.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/backup/manifest.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The whole head of a backup of `view`. `now`: the wall clock; `release`: the version of millrace.
/// Errors: `tree.unknown` (the backup would lack rows), those of read_backup_head() and of
/// read_restored_since().
Result<BackupHead> make_backup_head(const Environment& environment, const Snapshot& view,
                                    TimePoint now, const std::string& release);

}  // namespace millrace
