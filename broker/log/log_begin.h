// The body of a `begin`, with which a node becomes the active: a JSON object. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "broker/log/log_message.h"

namespace millrace {

/// The most bytes of the body of a `begin`.
inline constexpr size_t kMostLogBeginBytes = 16'384;

struct LogBegin {
  std::array<uint8_t, 16> node{};  ///< the id of the node
  std::string address;             ///< the URL at which the other nodes reach the node
  std::string version;             ///< of its millrace
  /// Of the message before it in the log: its epoch and incarnation; 0 and zeros: there is none.
  uint64_t behind_epoch = 0;
  LogIncarnation behind_incarnation{};
  /// The id of the snapshot with which this log begins, or with which an operator continues a log
  /// that has lost something: then what is lost is not part of the history any more; nullopt: the
  /// message follows the one before it.
  std::optional<std::string> base = std::nullopt;
  uint64_t unclean = 0;  ///< how many of the latest takeovers came without an `end`

  bool operator==(const LogBegin&) const = default;
};

/// How many epochs a `begin` with a base leaves out: more than those that a log may have lost.
inline constexpr uint64_t kLostEpochs = 1'000;

/// The epoch of a `begin` behind the epoch `behind`; `first`: of a log without an epoch. With a
/// base it is higher than those that are lost: the owners of streams give way to a higher epoch
/// only.
inline uint64_t epoch_behind(uint64_t behind, bool has_base, uint64_t first) {
  if (behind == 0) return first;
  return behind + (has_base ? kLostEpochs : 1);
}

/// The body. Precondition: the texts are valid UTF-8.
std::string encode_log_begin(const LogBegin& begin);

/// Error `log.unreadable`: the body is not a JSON object of that form, or has more than
/// kMostLogBeginBytes. Members with other names are ignored.
Result<LogBegin> decode_log_begin(std::string_view body);

}  // namespace millrace
