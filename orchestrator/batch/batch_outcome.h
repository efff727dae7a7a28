// BatchOutcome: what a batch leaves behind for when it is on disk: the actions that are performed
// then, what it counted, and what it left to the batches that follow. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/effect.h"
#include "orchestrator/batch/batch_counts.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/outgoing/outbox.h"

namespace millrace {

/// The answer to a command.
struct Answer {
  uint64_t request = 0;
  Result<Json> result;
};
/// A task has ended by itself.
struct EndedTask {
  InstanceId task;
};
/// A report of a task is on disk, or of no use.
struct StoredReport {
  std::function<void()> stored;
};
struct InstanceEnd {
  InstanceId instance;
};

/// What is done once the batch is on disk, a closed list (loop/after_commit.h): a message that it
/// put into the outbox, a task to be handed out or stopped, an expression to be evaluated, an
/// answer; of commands and steps that were too much for one batch, what is left.
using AfterCommit = std::variant<NumberedMessage, StartTask, StopTask, EndedTask, StoredReport,
                                 Evaluate, Answer, InstanceEnd, ContinueInput, CommandInput>;

/// What this batch and those before it have left to the ones that follow.
struct Backlog {
  bool has_steps = false;   ///< of instances: errands, and targets of events with too many of them
  bool has_purges = false;  ///< rows of what was deleted
  size_t fan_out = 0;       ///< how many of those targets
};

/// What became of a batch.
struct BatchOutcome {
  std::vector<AfterCommit> actions;
  BatchCounts counts;
  Backlog backlog;
};

}  // namespace millrace
