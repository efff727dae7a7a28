// A message of the log of a cluster: its headers and its chain. The chain is a keyed hash over the
// place of the message, the chain of the message before it, and what the message says. So it shows
// that a holder of the key wrote the message, and behind which history. docs/FORMATS.md describes
// the headers. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// Names one start of a process: random bytes.
using LogIncarnation = std::array<uint8_t, 16>;

/// The keyed hash of a message of the log. It identifies the message and all messages of the log
/// before it. Zeros: before the first message of a log.
using LogChain = Fingerprint;

enum class LogKind : uint8_t {
  kBegin = 1,   ///< a node becomes the active
  kCommit = 2,  ///< a write-set, or a part of it
  kBeat = 3,    ///< the active runs
  kEnd = 4,     ///< the active stops
};

/// The most parts of a commit.
inline constexpr uint64_t kMostLogParts = 4'096;

struct LogPart {
  uint64_t number = 1;  ///< from 1 to `count`
  uint64_t count = 1;   ///< at most kMostLogParts

  bool operator==(const LogPart&) const = default;
};

struct LogMessage {
  LogKind kind = LogKind::kCommit;
  uint64_t epoch = 1;  ///< at least 1
  LogIncarnation incarnation{};
  /// The number of the commit in its epoch, from 1; of a kBeat and kEnd: the number of the latest
  /// commit; of a kBegin: 0.
  uint64_t commit = 0;
  LogPart part;            ///< of a kCommit; otherwise 1 of 1
  uint64_t format = 0;     ///< the format of the store whose rows are in the write-set
  bool is_packed = false;  ///< the payload, joined from all parts, is compressed with zstd
  uint64_t expected = 0;   ///< the sequence of the message before it in the stream
  LogChain previous{};     ///< the chain of the message before it in the log
  LogChain chain{};
  std::string payload;

  bool operator==(const LogMessage&) const = default;
};

/// The chain that the message must have; `message.chain` does not count. `key`: 32 bytes, derived
/// from the secret key that all nodes of the cluster share.
LogChain log_chain(std::string_view key, const LogMessage& message);

/// The message for the broker. The broker stores it only directly behind `message.expected`.
NatsMessage encode_log_message(LogMessage message, std::string_view subject);

/// A message that takes the place behind `expected` and is foreign to every reader.
NatsMessage log_filler(uint64_t expected, std::string_view subject);

/// Reads the headers; does not check the chain. Errors: `log.foreign`, a header is missing, present
/// twice or not valid, or the message has a payload that its kind does not have.
Result<LogMessage> decode_log_message(NatsMessage message);

/// Reads a message that the stream has at that sequence. Errors: `log.foreign`, as for
/// decode_log_message(); the chain does not fit, so no holder of the key wrote this message; or the
/// message is a copy from another place. Whether the message follows another one is not checked.
Result<LogMessage> read_log_message(std::string_view key, uint64_t sequence, NatsMessage message);

/// Reads `i/n`, the value of the header of a part, with 1 ≤ i ≤ n and 2 ≤ n ≤ kMostLogParts;
/// nullopt: another text.
std::optional<LogPart> read_log_part(std::string_view text);

/// "begin", "commit", "beat" or "end".
std::string_view name_of(LogKind kind);

}  // namespace millrace
