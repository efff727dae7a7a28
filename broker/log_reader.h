// LogReader: how a node follows the log of a cluster, a JetStream stream. One thread reads the
// messages through a pull consumer, judges each of them (log/log_judge.h), joins the parts of
// commits and hands the commits to a sink. Consumers are only a transport: reading continues behind
// the latest judged message, by its sequence and its chain, never by a time of the broker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/kept_log.h"
#include "broker/log/log_begin.h"
#include "broker/log/log_judge.h"
#include "broker/pull_window.h"
#include "broker/streams.h"
#include "orchestrator/ports/commit_log.h"

namespace millrace {

/// How far the log is read that a store with this position has. The chain of a log with a base
/// begins with the id of the base, which is the chain of the position of a store with only the
/// base.
LogHistory history_at(const LogPosition& position);

/// A commit that was read from the log.
struct ReadLogCommit {
  LogPosition position;
  CommitName behind;      ///< the commit before it in the log; of the first one: no commit
  std::string write_set;  ///< as it was passed to CommitLog::append()
};

/// What was read since the last call of the sink.
struct LogNews {
  /// The reader was opened before: what was known about the end of the log does not count any more.
  bool is_opened = false;
  std::vector<ReadLogCommit> commits;            ///< in the order of the log
  std::optional<LogBegin> begin = std::nullopt;  ///< the latest `begin` among the new messages
  uint64_t begin_sequence = 0;                   ///< of that `begin`
  TimePoint begin_stamped{};                     ///< when the broker stored it
  size_t messages = 0;                           ///< new messages, foreign ones not counted
  TimePoint stamped{};  ///< when the broker stored the latest of them; if there is one
  /// How many messages of the stream the broker has behind them, as the consumer knows; 1: unknown.
  uint64_t pending = 0;
  LogHistory history;      ///< behind these messages
  bool has_ended = false;  ///< the latest message of the log is an `end`
  /// The leader of the stream has said now that nothing is behind `history`.
  bool is_at_end = false;
  std::string leader;  ///< the NATS server that said so; empty: it did not say its name
};

/// Called on the thread of the reader.
class LogSink {
 public:
  virtual ~LogSink() = default;

  /// May block; then the reader reads no further. False: the sink is closed, and the reader ends.
  virtual bool deliver(LogNews news) = 0;
  /// This node must not follow the log any further. Errors: those of LogJudge::see();
  /// `log.trimmed`, the log no longer has what follows the position. Called once, at last.
  virtual void fail(const Error& error) = 0;
};

struct LogReaderSettings {
  StreamSettings stream;       ///< log_stream()
  std::string key;             ///< 32 bytes (log_chain)
  uint64_t newest_format = 0;  ///< of the stores that this release reads
  /// Gets each message that was judged; null: none is kept. Its base is the position of the reader.
  std::shared_ptr<KeptLog> kept = nullptr;
  PullSettings pull = {.heartbeat = Duration(500)};
  size_t chunk = 256;  ///< the most messages in one call of the sink
};

/// Its thread lives from the constructor to the destructor.
class LogReader {
 public:
  /// Reads what follows `position`, that of the store of this node; all zero: the whole log.
  /// `connection` and `sink` must outlive this object.
  LogReader(Connection& connection, LogReaderSettings settings, const LogPosition& position,
            LogSink& sink);

  /// Returns when the sink is not called any more. If the sink blocks, close it first.
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// Opens another consumer soon. Any thread; never blocks.
  void reopen();

  /// Ok while the log is read; otherwise why it is not. Errors: those of find_log(), of
  /// Connection::api() and of LogSink::fail(); `log.lost`, the log ends before the position.
  Status health() const;

  /// How many messages were passed over, because no node of the cluster wrote them for their place.
  uint64_t foreign() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
