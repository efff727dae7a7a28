// The manifest of a snapshot of a cluster (docs/FORMATS.md, "Snapshots of a cluster"): a JSON
// object with a MAC, which shows that a node of the cluster wrote it. The manifest is published
// behind all chunks, so a snapshot without a manifest is incomplete. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"

namespace millrace {

/// The most bytes of a manifest.
inline constexpr size_t kMostSnapshotManifestBytes = 65'536;

struct SnapshotManifest {
  std::string id;  ///< 32 hexadecimal digits, random
  /// Between which places of the log the rows were read: with the commits behind `from`, up to and
  /// with `to`, the rows are the store at `to`. Both zero: a base, which was taken of a store that
  /// had applied no commit of a log.
  LogPosition from;
  LogPosition to;
  uint64_t chunks = 0;
  uint64_t messages = 0;                 ///< of all chunks, without the manifest
  uint64_t bytes = 0;                    ///< of all chunks, not compressed
  std::map<std::string, uint64_t> rows;  ///< in each table, by the name of the table
  uint64_t format = 0;                   ///< of the store that has the rows
  std::string hash;                      ///< SnapshotHash of all chunks
  uint64_t first_sequence = 0;           ///< in the stream, of the first message; 0: no chunk
  std::string node;                      ///< the id of the node that took it: 32 digits
  std::string version;                   ///< of its millrace

  bool operator==(const SnapshotManifest&) const = default;
};

/// The JSON text. `key`: 32 bytes (log_chain). Precondition: the texts are valid UTF-8.
std::string encode_snapshot_manifest(const SnapshotManifest& manifest, std::string_view key);

/// Errors: `snapshot.foreign`, the body is not a JSON object with the MAC of this key;
/// `snapshot.unreadable`, a node wrote it in a form that this release does not read. Members with
/// other names are ignored.
Result<SnapshotManifest> decode_snapshot_manifest(std::string_view body, std::string_view key);

}  // namespace millrace
