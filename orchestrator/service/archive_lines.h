// The lines of the archive (archive/archive_files.h), from the rows of the store.
#pragma once

#include "orchestrator/archive/archive_files.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// Makes lines by Queries::archive_line(), each from the last commit. Both arguments outlive the
/// result. The result may be called on any thread, one at a time.
ArchiveLine archive_lines(Environment& environment, Queries& queries);

/// Removes the lines that were not committed from the archives of all namespaces. What cannot be
/// removed is reported in the log: the next page of the archive tries it again. Errors: those of
/// the store.
Status cut_archives(const View& view, const std::filesystem::path& folder);

}  // namespace millrace
