// When a node of a cluster takes a snapshot, and how far the log may be trimmed. The log is trimmed
// behind complete snapshots and for no other reason: a node that comes later loads a snapshot and
// needs each message behind it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace millrace {

/// How many complete snapshots are kept. A node may be loading the one before the newest.
inline constexpr size_t kKeptSnapshots = 3;

/// What the stream of the log has.
struct LogSize {
  uint64_t first = 1;  ///< the sequence of the oldest message; last + 1: the stream is empty
  uint64_t last = 0;
  uint64_t bytes = 0;
};

/// A complete snapshot.
struct KnownSnapshot {
  uint64_t from = 0;  ///< the log is needed behind this sequence
  Duration age{0};
  bool is_read_back = false;  ///< this node has read each chunk, and found it undamaged
};

/// About how many bytes of the log are behind that sequence, as if its messages had the same size.
uint64_t bytes_behind(const LogSize& log, uint64_t sequence);

/// Whether a snapshot has to be taken: the log behind the newest one (nullopt: there is none) has
/// at least `least` bytes, and as many as the store. So a node that joins reads no more of the log
/// than it loads.
bool is_snapshot_due(const LogSize& log, uint64_t store_bytes, uint64_t least,
                     std::optional<uint64_t> newest_from);

/// How many steps this node waits with a snapshot that is due: 0, it takes the snapshot now. The
/// standbys that are ready come first, in the order of their ids, and the active last, because its
/// disk and its processor have other work. `standbys`: the ids of the ready standbys.
size_t snapshot_turn(std::string_view node, bool is_active, std::vector<std::string> standbys);

/// The first sequence that the log has to keep; nullopt: nothing may be removed. That is the
/// message behind the snapshot before the newest one, if that snapshot was read back and both are
/// older than `rest`: a broker may lose what it has not synced, and a trim lasts. `snapshots`: the
/// newest comes first.
std::optional<uint64_t> trim_point(const LogSize& log, std::span<const KnownSnapshot> snapshots,
                                   Duration rest);

}  // namespace millrace
