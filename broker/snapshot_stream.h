// The stream that has the snapshots of a cluster (docs/FORMATS.md, "Snapshots of a cluster"): how a
// node publishes one, finds them, reads one, and removes older ones. The functions may be called on
// any thread, and block it: not on the engine thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/log/log_payload.h"
#include "broker/log/snapshot_chunks.h"
#include "broker/log/snapshot_manifest.h"
#include "broker/stream_options.h"
#include "broker/streams.h"

namespace millrace {

/// The stream `MILLRACE_SNAPSHOTS_<cluster>`, with the subjects `millrace.snapshots.<cluster>.0.>`.
/// `cluster`: a name that check_cluster_name() accepts.
StreamSettings snapshot_stream(std::string_view cluster, const StreamOptions& options = {});

/// Publishes one snapshot, whose stream must exist (ensure_stream()). For one thread; any thread
/// may call stop().
/// Removes the chunks of a snapshot that was abandoned. Errors: those of Connection::api().
Status drop_snapshot(Connection& connection, const StreamSettings& stream, std::string_view id);

class SnapshotWriter {
 public:
  /// `stream`: snapshot_stream(). `key`: 32 bytes (log_chain). `id`: of the new snapshot, 32
  /// hexadecimal digits, random.
  SnapshotWriter(Connection& connection, StreamSettings stream, std::string key, std::string id);

  /// Publishes the next chunk; returns when the stream has it. While no broker answers, sends it
  /// again for up to 60 s. Errors: `snapshot.stopped`; `log.too_large`, the chunk has too many
  /// bytes or parts; those of Connection::request(); `broker.refused`, the stream refused it. After
  /// an error this snapshot is abandoned: each call returns the same error.
  Status add(std::string_view chunk);

  /// Publishes the manifest: from now on the snapshot exists. `manifest`: `from`, `to`, `rows`,
  /// `format`, `node` and `version`; the writer sets the other members. Returns the manifest that
  /// it published; afterwards nothing may be added. Errors: those of add(); after an error the
  /// snapshot may exist.
  Result<SnapshotManifest> finish(SnapshotManifest manifest);

  /// Ends the present call of add() or finish(), after a request that is under way, and all later
  /// ones.
  void stop();

 private:
  Status publish_chunk(std::string_view chunk);
  Result<uint64_t> publish(NatsMessage message, std::string_view number);
  Status pause(Duration time);

  Connection& connection_;
  const StreamSettings stream_;
  const std::string key_;
  SnapshotManifest manifest_;
  LogPacker packer_;
  SnapshotHash hash_;
  std::optional<Error> failed_;

  std::mutex mutex_;  ///< guards is_stopped_
  std::condition_variable stopped_;
  bool is_stopped_ = false;
};

/// A complete snapshot in the stream.
struct StoredSnapshot {
  uint64_t sequence = 0;  ///< of its manifest
  TimePoint stamped{};    ///< when the broker stored the manifest
  SnapshotManifest manifest;
};

/// The snapshots of the stream whose chunks the stream still has, the newest first: none if the
/// stream does not exist. Foreign and unreadable manifests are left out, and logged. Asks for each
/// manifest. Errors: `snapshot.too_many`, the stream has more than 1 024 manifests; those of
/// find_stream() and of Connection::api().
Result<std::vector<StoredSnapshot>> find_snapshots(Connection& connection,
                                                   const StreamSettings& stream,
                                                   std::string_view key);

/// Reads one snapshot. Holds one chunk at most. For one thread.
class SnapshotReader {
 public:
  SnapshotReader(Connection& connection, StreamSettings stream, std::string key,
                 SnapshotManifest manifest);

  /// The next chunk; nullopt behind the last one. Only when nullopt was returned is it certain that
  /// all chunks were those of the snapshot. Errors: `snapshot.damaged`, a chunk is missing or is
  /// another one: then each call returns the same error. With an error of Connection::api() the
  /// next call tries the same again.
  Result<std::optional<std::string>> next();

 private:
  Result<std::optional<std::string>> read_message();

  Connection& connection_;
  const StreamSettings stream_;
  const std::string key_;
  const SnapshotManifest manifest_;
  SnapshotChunks chunks_;
  uint64_t next_sequence_;
  uint64_t foreign_ = 0;
  std::optional<Error> failed_;
};

/// Removes all messages before that sequence (SnapshotManifest::first_sequence of the oldest
/// snapshot that is kept). Does nothing if the stream does not exist. Errors: those of
/// find_stream() and of Connection::api().
Status drop_snapshots_before(Connection& connection, const StreamSettings& stream,
                             uint64_t first_sequence);

}  // namespace millrace
