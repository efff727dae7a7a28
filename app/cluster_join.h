// How the folder of a node comes to the log of its cluster: whether the log still has all that the
// folder lacks, and, if not, the snapshot that is loaded. Each function blocks; a node calls them
// before it follows the log.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/log_begin_search.h"
#include "broker/log_reader.h"
#include "broker/snapshot_stream.h"
#include "broker/streams.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/log_follower.h"

namespace millrace {

/// Applies commits as they were read from the log. Errors: those of LogFollower::apply().
Status apply_commits(LogFollower& follower, std::span<const ReadLogCommit> commits);

/// The position of a store that has the rows of that base of a log, and no commit.
LogPosition base_of(const SnapshotManifest& manifest);

/// Whether a folder with that position must load a snapshot, because the log does not have all that
/// it lacks.
bool must_load(const LogPosition& position, const LogStart& start);

/// The snapshot that a node should load: the newest from which the log can be followed. Errors:
/// `cluster.no_snapshot`, there is none; `store.version`, a newer release has taken it; those of
/// find_snapshots().
Result<SnapshotManifest> choose_snapshot(Connection& connection, const StreamSettings& snapshots,
                                         std::string_view key, const LogStart& start);

struct LoadSettings {
  StreamSettings snapshots;
  LogReaderSettings log;
  std::function<bool()> stops;  ///< whether the process ends
  /// Called after each chunk, and behind the last one with `chunks` of `chunks`.
  std::function<void(uint64_t loaded, uint64_t chunks)> on_chunk;
};

/// Loads the snapshot into an empty store, and applies the log up to the end of the snapshot. After
/// an error the store must be cleared. Errors: `snapshot.stopped`; those of SnapshotLoader,
/// SnapshotReader, LogFollower::apply() and of LogSink::fail().
Status load_snapshot(Environment& store, Connection& connection, const SnapshotManifest& manifest,
                     const LoadSettings& settings);

}  // namespace millrace
