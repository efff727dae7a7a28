// LogJudge: what each message of the stream is to a reader of the log: a message that continues the
// history of its node, one that is foreign, or one that shows that the log and the node have
// different histories. Joins the parts of a commit. Holds one commit at most
// (kMostLogCommitBytes). Pure. Private to broker/; for one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "broker/log/log_begin.h"
#include "broker/log/log_book.h"
#include "broker/log/log_message.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// How far a log is read.
struct LogHistory {
  LogPlace place;      ///< the latest message
  uint64_t epoch = 0;  ///< of the latest `begin`; 0: there was none
  LogIncarnation incarnation{};
  std::array<uint8_t, 16> node{};
  uint64_t commit = 0;  ///< the latest complete commit of the epoch; 0: there was none

  bool operator==(const LogHistory&) const = default;
};

/// What a message is.
struct LogSeen {
  enum class What : uint8_t {
    kBegin,
    kCommit,  ///< with its last part, it is complete
    kBeat,
    kEnd,
    kPart,     ///< others must follow before the commit counts
    kForeign,  ///< passed over
  };
  What what = What::kForeign;
  std::string write_set = {};                    ///< of a kCommit
  std::optional<LogBegin> begin = std::nullopt;  ///< of a kBegin
  std::string why = {};                          ///< of a kForeign: a sentence
  /// The message, with its payload; nullopt: it is foreign.
  std::optional<LogMessage> message = std::nullopt;
};

class LogJudge {
 public:
  /// `key`: 32 bytes (log_chain). `newest_format`: of the stores that this release reads.
  /// `history`: of this node.
  LogJudge(std::string key, uint64_t newest_format, LogHistory history)
      : key_(std::move(key)), newest_format_(newest_format), history_(history) {}

  /// Judges the next message of the stream. Errors: `log.diverged`, it does not continue the
  /// history, or messages before it are missing; `store.version`, its rows are of a newer format;
  /// `log.unreadable`. After an error, each call returns the same error: the node must not follow
  /// the log any further.
  Result<LogSeen> see(uint64_t sequence, NatsMessage message);

  /// Up to the message that was judged last.
  const LogHistory& history() const { return history_; }
  /// How many foreign messages were passed over.
  uint64_t foreign() const { return foreign_; }

 private:
  Result<LogSeen> judge(uint64_t sequence, NatsMessage message);
  LogSeen pass_over(uint64_t sequence, std::string why);
  bool leaves_epochs_out(const LogMessage& message) const;
  Status check_number(const LogMessage& message) const;
  Result<LogSeen> add_part(LogMessage message);
  Result<LogSeen> begin_epoch(const LogMessage& message);

  const std::string key_;
  const uint64_t newest_format_;
  LogHistory history_;
  std::optional<LogMessage> part_;  ///< the latest part of an incomplete commit, without payload
  std::string joined_;              ///< the payload of its parts
  uint64_t foreign_ = 0;
  std::optional<Error> failed_;
};

}  // namespace millrace
