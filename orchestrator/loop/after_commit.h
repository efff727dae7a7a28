// perform: the one place that performs what a batch asked for (AfterCommit, batch_outcome.h) once
// it is on disk: messages are sent, tasks handed out and stopped, expressions evaluated, callers
// answered. Reads nothing of the store: each action has all that it needs. Engine thread only.
#pragma once

#include <cstddef>
#include <vector>

#include "orchestrator/batch/batch_outcome.h"
#include "orchestrator/loop/end_waiters.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/outgoing/outbox.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/ports/evaluator.h"

namespace millrace {

struct AfterCommitParts {
  Outbox& outbox;
  Tasks& tasks;
  Evaluator& evaluate;
  Intake& intake;  ///< takes the answers, and gets the results of evaluations
  EndWaiters& end_waiters;
  bool sends = false;  ///< the broker may be sent messages; else they wait in the outbox
};

/// What the batch leaves to the turns that follow.
struct FollowingTurns {
  std::vector<ContinueInput> continues;
  std::vector<CommandInput> commands;
  size_t evaluations = 0;  ///< that were begun
};

/// Performs them in their order.
FollowingTurns perform(const AfterCommitParts& parts, std::vector<AfterCommit> actions);

}  // namespace millrace
