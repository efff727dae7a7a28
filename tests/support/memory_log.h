// MemoryLog: the log of a cluster in memory, for tests: one log for all nodes, on one thread, which
// fails as the test decides. Each node reads it and, when it has read all, may start an epoch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/log_follower.h"

namespace millrace {

/// What becomes of one append.
struct AppendFate {
  bool is_stored = true;  ///< false: the append fails with `log.closed`, and nothing is stored
  bool is_acked = true;   ///< false: the commit is stored, and the append fails with `log.closed`
  /// How many messages are stored before that of the commit: the other parts of a large commit.
  size_t parts = 0;
  /// Called when such a part is stored.
  std::function<void()> on_part;
  /// Called when the commit is stored, before append() returns: what other nodes do meanwhile.
  std::function<void()> meanwhile;
};

class MemoryLog {
 public:
  /// A message of the log: the start of an epoch, a commit, or a part of one before its last part.
  struct Message {
    LogPosition position;   ///< of a start of an epoch: the commit number is 0
    CommitName behind;      ///< the last commit before it
    std::string write_set;  ///< of a commit
    bool is_part = false;  ///< it has nothing of the write-set, which the message of the commit has

    bool is_commit() const { return position.name.commit > 0 && !is_part; }
    bool is_epoch() const { return position.name.commit == 0; }
  };

  /// The commits behind `position`, at most `most`; their write-sets are valid until the log loses
  /// them. Errors: `log.lost`, the log no longer has the commit of that position; `log.diverged`,
  /// it has another one in its place; `log.trimmed`, what follows the position was trimmed.
  Result<std::vector<LogCommit>> read(const LogPosition& position, size_t most = SIZE_MAX) const;

  /// Starts an epoch of that incarnation of a node which has read the log up to the sequence
  /// `read_to`. The returned CommitLog must not outlive the log. Error `log.deposed`: the log has
  /// more messages than the node has read.
  Result<std::unique_ptr<CommitLog>> start_epoch(const RandomName& node,
                                                 const RandomName& incarnation, uint64_t read_to);

  /// `decide` sets the fate of each append; without `decide` none fails.
  void decide_fates(std::function<AppendFate()> decide) { decide_ = std::move(decide); }

  /// Makes the log lose its newest messages, as brokers may that lose power together.
  void lose_tail(size_t messages);

  /// Appends messages again that the log has lost, each at its old place. Returns false, and
  /// appends nothing, if the first one does not follow the last message of the log.
  bool restore(const std::vector<Message>& messages);

  /// The message at that sequence, also if the log has lost it and has no other one in its place;
  /// null: there is none.
  const Message* known_at(uint64_t sequence) const;

  /// Makes read() refuse positions that need a message before the sequence `before`.
  void trim(uint64_t before) { first_ = std::max(first_, before); }
  /// The sequence of the first message that was not trimmed.
  uint64_t first_sequence() const { return first_; }

  /// All messages, in order, also those that were trimmed; their sequences begin with 1 and have no
  /// gaps.
  const std::deque<Message>& messages() const { return messages_; }
  uint64_t last_sequence() const { return messages_.size(); }
  /// The position of the last commit; all zero: there is none.
  LogPosition last_commit() const;

 private:
  class Lead;

  const Message* at(uint64_t sequence) const;
  const LogPosition& add(const CommitName& name, const RandomName& node, std::string write_set);
  void add_part(const CommitName& name, const RandomName& node);

  std::deque<Message> messages_;
  std::deque<Message> lost_;  ///< behind the end of the log, in order
  std::function<AppendFate()> decide_;
  uint64_t first_ = 1;
  uint64_t last_epoch_ = 0;
};

}  // namespace millrace
