// The file `restored` of a data folder: the record of a store that was restored or copied
// (model/restored_streams.h). The file is removed when the messages that the store makes again are
// not recognized any more. For one thread at a time.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "model/restored_streams.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// The record in that data folder; nullopt: there is no file. Errors: `file.unreadable`;
/// `store.corrupt`, the file is damaged.
Result<std::optional<RestoredStreams>> read_restored_file(const std::filesystem::path& data);

/// RestoredStreams::since of that data folder, for the head of a backup; nullopt: the store was
/// neither restored nor copied, or that is too long ago at the time `now`. Errors: those of
/// read_restored_file().
Result<std::optional<TimePoint>> read_restored_since(const std::filesystem::path& data,
                                                     TimePoint now);

/// Writes the record, which is on disk when the function returns. Error `store.io`.
Status write_restored_file(const std::filesystem::path& data, const RestoredStreams& streams);

/// Returns the record of the store, or nullopt if the store was neither restored nor copied, or if
/// that is too long ago at the time `now`; then the file is removed. If the store is found in
/// another folder than the one in which it was last opened, it is a copy, and a new record is
/// written first. If the original store has a record, the new record begins at the earlier time of
/// the two: messages from before the copy may still be made again. A store that is
/// led (Environment::lead()) lies in a folder of each node, and none of these is a copy in this
/// sense. Call the function before identify() (identity.h). Errors: those of read_restored_file(),
/// of write_restored_file() and of the store.
Result<std::optional<RestoredStreams>> find_restored_streams(Environment& environment,
                                                             TimePoint now);

}  // namespace millrace
