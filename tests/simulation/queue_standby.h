// QueueStandby: the standby of a play of QueuePlayer. Its store follows the log of the commits of
// the active (tests/support/memory_log.h), as a standby of a cluster does. The nodes of a play have
// one clock, and one of them is the active at a time; cluster_world.h plays what follows when
// several take themselves for it. For use by one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "base/result.h"
#include "orchestrator/store/log_follower.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/memory_log.h"

namespace millrace::queue_model {

class QueueStandby {
 public:
  /// `folder`: without a store, or with that of a former active. The log outlives the standby.
  /// Errors: those of Environment::open() and of LogFollower::open().
  static Result<std::unique_ptr<QueueStandby>> open(const MemoryLog& log,
                                                    const std::filesystem::path& folder);

  /// Applies the next commits of the log, at most `most`. Errors: those of MemoryLog::read() and of
  /// LogFollower::apply().
  Status follow(size_t most);

 private:
  explicit QueueStandby(const MemoryLog& log) : log_(log) {}

  const MemoryLog& log_;
  std::unique_ptr<Environment> environment_;
  std::unique_ptr<LogFollower> follower_;
};

}  // namespace millrace::queue_model
