// How a node finds the `begin` of the present epoch in the log, which comes before the position of
// its store: the `begin` names the address of the active.
#pragma once

#include <cstdint>
#include <optional>
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

}  // namespace millrace
