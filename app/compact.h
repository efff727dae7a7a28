// `millrace store compact`: makes data.mdb of a stopped server as small as its rows.
#pragma once

#include "cli/console.h"
#include "cli/output.h"
#include "cli/program_verbs.h"

namespace millrace {

/// Compacts the store and prints {"data","rows","bytesBefore","bytesAfter"}; the bytes are those of
/// data.mdb and of the journals. Exit kNotFound: there is no store in the folder; kConflict: a
/// process has the folder open; kFailed: the store is not compacted, and has all its rows.
Ended compact_data(Console& console, Output& output, const CompactOptions& options);

}  // namespace millrace
