// JetStreamLog: how a node writes the log of a cluster, a JetStream stream. Each append waits until
// it is certain that the stream has it (log/log_book.h decides when), or that the stream will never
// have it. Any thread may call it: appends wait for one another, so beats of one thread and commits
// of another stand in one order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/kept_log.h"
#include "broker/log/log_begin.h"
#include "broker/log/log_book.h"
#include "broker/log/log_judge.h"
#include "broker/streams.h"
#include "orchestrator/ports/commit_log.h"

namespace millrace {

struct JetStreamLogSettings {
  StreamSettings stream;     ///< log_stream(); the stream must exist
  std::string key;           ///< 32 bytes (log_chain)
  RandomName node{};         ///< the id of this node
  RandomName incarnation{};  ///< of this process: no other process may have it
  uint64_t format = 0;       ///< the format of the store whose rows are in the commits
  /// The epoch with which a cluster is founded. It should be higher than all epochs of clusters
  /// that were founded before: a folder of one of these must not count as one that has more of the
  /// log.
  uint64_t first_epoch = 1;
  /// Gets each message that the log has taken, and has those of the reader of this node; null:
  /// none is kept.
  std::shared_ptr<KeptLog> kept = nullptr;
  /// A log that has lost its newest messages is restored from `kept` as long as the latest certain
  /// message was sent less than this time ago: no other node has started an epoch behind it then.
  Duration takeover_after{2'000};
  /// Returns why another node is the active since, or nullopt. Called on the thread of an append
  /// before it sends anything, if the log has taken nothing for `takeover_after`: another epoch may
  /// have started, and the log may have lost its `begin`. May block for a part of a second. An
  /// error says nothing. Empty: no node is asked.
  std::function<Result<std::optional<std::string>>()> deposed_by = {};
  /// Whether this node may restore the log also later: it has most of the log, and all others have
  /// answered (cluster/log_recovery.h). `stream_end`: where the log seems to end. Called as
  /// `deposed_by` is, behind it. Empty: it may not.
  std::function<bool(uint64_t stream_end)> may_restore = {};
  LogBook::Settings book = {};
};

class JetStreamLog final : public CommitLog {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `connection` must outlive this object, and must not be guarded. `history`: the whole log, as
  /// this node has read it. If its epoch is one of this incarnation, begin() must not be called.
  JetStreamLog(Connection& connection, JetStreamLogSettings settings, const LogHistory& history);

  /// No call may be under way.
  ~JetStreamLog() override;

  /// Makes this node the active: appends a `begin` directly behind `history`. The node and what the
  /// `begin` is behind are filled in. Errors: `log.begin`, it is not known whether the log has the
  /// `begin`, which is not sent again: only the reader of the log sees that. This object is of no
  /// further use then; `log.too_large`, the `begin` has more than kMostLogBeginBytes; `log.closed`.
  Status begin(LogBegin begin);

  /// Further error, after which the next append is possible: `log.too_large`. Precondition of
  /// append(), beat() and end(): the epoch is one of this incarnation.
  Result<LogPosition> append(std::string_view write_set) override;

  /// Appends a `beat`, which shows the standbys that this node runs. Errors: those of
  /// CommitLog::append().
  Status beat();

  /// Appends an `end`, so that another node takes over at once. Nothing is appended afterwards.
  /// Errors: those of CommitLog::append(); also `log.closed`, if it takes longer than `at_most`.
  Status end(Duration at_most);

  /// Ends the calls that wait, and all later ones, with `log.closed`. Never blocks.
  void stop();

  /// When the latest certain message was sent: no other node was the active before. nullopt: there
  /// is none yet.
  std::optional<Time> confirmed() const;

  /// The sequence of the latest certain message; of the history, if there is none yet.
  uint64_t sequence() const;

  /// Why the present append is not certain yet: a sentence; empty: there is no trouble.
  std::string trouble() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
