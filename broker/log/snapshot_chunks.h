// The messages that have the chunks of a snapshot of a cluster (docs/FORMATS.md, "Snapshots of a
// cluster"), and the chunks that are joined from them. Each message has a MAC, so a reader
// recognizes the messages that no node of the cluster wrote. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "broker/log/log_message.h"
#include "broker/log/log_payload.h"
#include "broker/log/snapshot_manifest.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// The most bytes of a message of a chunk, without its headers.
inline constexpr size_t kMostSnapshotPartBytes = size_t{512} << 10;

/// A message: a chunk, or a part of it.
struct SnapshotPart {
  uint64_t chunk = 1;  ///< the number of the chunk in the snapshot, from 1
  LogPart part;
  bool is_packed = false;  ///< the payload, joined from all parts, is compressed with zstd
  std::string payload;

  bool operator==(const SnapshotPart&) const = default;
};

/// The message for the broker. `id`: of the snapshot; `key`: 32 bytes (log_chain).
NatsMessage encode_snapshot_part(SnapshotPart part, std::string_view id, std::string_view key,
                                 std::string_view subject);

/// Error `snapshot.foreign`: a header is missing or not valid, or the MAC is not that of the
/// message in the snapshot `id`.
Result<SnapshotPart> decode_snapshot_part(NatsMessage message, std::string_view id,
                                          std::string_view key);

/// The hash of a sequence of chunks: BLAKE2b-256 over the 64 hexadecimal digits of the BLAKE2b-256
/// of each chunk.
class SnapshotHash {
 public:
  SnapshotHash();
  ~SnapshotHash();
  SnapshotHash(const SnapshotHash&) = delete;
  SnapshotHash& operator=(const SnapshotHash&) = delete;

  void add(std::string_view chunk);
  /// 64 hexadecimal digits. Afterwards no chunk may be added.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Joins the chunks of one snapshot from their parts. Holds one chunk at most.
class SnapshotChunks {
 public:
  explicit SnapshotChunks(SnapshotManifest manifest) : manifest_(std::move(manifest)) {}

  /// Adds the next part in the order of the stream. A part that was added before is passed over.
  /// Returns the chunk if this was its last part. Error `snapshot.damaged`: a part before this one
  /// is missing, the chunk is not readable, or it is the last one and the chunks are not those of
  /// the manifest; then nothing may be added any more. Precondition: !is_complete().
  Result<std::optional<std::string>> add(SnapshotPart part);

  /// Whether all chunks were returned.
  bool is_complete() const { return complete_ == manifest_.chunks; }

  /// Error `snapshot.damaged` of a snapshot whose stream ends before it is complete.
  Error missing() const;

 private:
  Status check_whole();

  const SnapshotManifest manifest_;
  uint64_t complete_ = 0;    ///< how many chunks
  uint64_t part_ = 0;        ///< how many parts of the next chunk
  uint64_t part_count_ = 0;  ///< of the next chunk, if part_ is not 0
  bool is_packed_ = false;   ///< the next chunk, if part_ is not 0
  std::string joined_;
  uint64_t bytes_ = 0;
  SnapshotHash hash_;
};

}  // namespace millrace
