// How a node finds a `begin` in the log: that of the present epoch, which comes before the position
// of its store and names the address of the active; and the first one, which names the base of the
// log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/log/log_begin.h"
#include "broker/streams.h"
#include "orchestrator/ports/commit_log.h"

namespace millrace {

struct StoredLogBegin {
  uint64_t sequence = 0;
  TimePoint stamped{};  ///< when the broker stored it
  LogBegin begin;
};

/// The `begin` of the epoch of `position`, which is the place of a commit in the log. Asks for some
/// thirty messages at most, one after the other. nullopt: the log does not have it any more.
/// `key`: 32 bytes (log_chain). Errors: those of find_log() and of Connection::api().
Result<std::optional<StoredLogBegin>> find_log_begin(Connection& connection,
                                                     const StreamSettings& log,
                                                     std::string_view key,
                                                     const LogPosition& position);

/// Whether the newest messages of the log were written with that key; true if the log has none.
/// Errors: those of find_log() and of Connection::api().
Result<bool> is_log_of_key(Connection& connection, const StreamSettings& log, std::string_view key);

/// Where a log begins.
struct LogStart {
  uint64_t first = 1;  ///< the sequence of its oldest message
  /// The id of the snapshot behind which the log was founded; nullopt: behind an empty store, or
  /// the log was trimmed.
  std::optional<std::string> base = std::nullopt;
};

/// Where the log begins, for a node that has it up to the sequence `behind` (find_log_behind()).
/// Errors: those of find_log_behind() and of Connection::api(); `log.unreadable`, the first message
/// is not a `begin`.
Result<LogStart> find_log_start(Connection& connection, const StreamSettings& log,
                                std::string_view key, uint64_t behind);

}  // namespace millrace
