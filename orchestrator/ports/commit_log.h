// CommitLog: the port to the log of a cluster, in which each commit of the active must be before
// the commit counts. The log orders the commits of all epochs, and decides who may write: an append
// that does not follow the last message of the log is refused.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// 16 random bytes: the name of an incarnation, or of a node.
using RandomName = std::array<uint8_t, 16>;

/// The name of a commit in the log. Epoch and number alone do not name it: a log that has lost its
/// newest messages can get another epoch with the same number.
struct CommitName {
  uint64_t epoch = 0;        ///< 0: the name of no commit, which comes before the first one
  uint64_t commit = 0;       ///< the number of the commit in its epoch, from 1
  RandomName incarnation{};  ///< the incarnation that has the epoch

  bool operator==(const CommitName&) const = default;
};

/// Where a commit is in the log.
struct LogPosition {
  uint64_t sequence = 0;  ///< the sequence of its message; of several, that of the last one
  CommitName name;
  RandomName node{};   ///< the node that appended it
  RandomName chain{};  ///< depends on all messages of the log up to this one

  bool operator==(const LogPosition&) const = default;
};

class CommitLog {
 public:
  virtual ~CommitLog() = default;

  /// Appends a write-set (docs/FORMATS.md) as the next commit of the epoch, and returns when the
  /// log has it. Blocks; the Transaction's thread calls it. Errors: `log.deposed`, another node has
  /// the log, which does not have this commit; `log.lost`, the log no longer has what came before
  /// this commit, and does not have this commit; `log.closed`, it is not known whether the log has
  /// it. After these errors the epoch has ended for this node, and append() must not be called
  /// again. Error `log.too_large`: the log has nothing of this commit, and takes the next one.
  virtual Result<LogPosition> append(std::string_view write_set) = 0;
};

}  // namespace millrace
