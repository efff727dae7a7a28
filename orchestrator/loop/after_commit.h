// perform: the only place that performs the actions of a batch (AfterCommit, batch_outcome.h) after
// its commit: send messages, hand out and stop tasks, start and stop evaluations, search for early
// events, archive instances, answer callers, show changed instances. perform() does not read the
// store: each action holds all the data that the action needs. Engine thread only.
#pragma once

#include <vector>

#include "orchestrator/batch/batch_outcome.h"
#include "orchestrator/loop/end_waiters.h"
#include "orchestrator/loop/evaluations_under_way.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/look_back_queue.h"
#include "orchestrator/loop/pressure.h"
#include "orchestrator/outgoing/outbox.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/ports/archiver.h"
#include "orchestrator/ports/evaluator.h"

namespace millrace {

struct AfterCommitParts {
  Outbox& outbox;
  TaskDispatch& tasks;
  Evaluator& evaluate;
  EvaluationsUnderWay& evaluations;
  LookBackQueue& look_backs;
  Archiver& archive;
  Intake& intake;  ///< accepts the answers and the results of evaluations and pages
  EndWaiters& end_waiters;
  bool sends = false;  ///< messages may be sent to the broker; false: they wait in the outbox
};

/// Work that the actions of a batch leave for the next turns.
struct FollowingTurns {
  std::vector<ContinueInput> continues;
  std::vector<CommandInput> commands;
  EvaluationLoad evaluations;  ///< those, and searches for early events, that were started
};

/// Performs the actions in their order.
FollowingTurns perform(const AfterCommitParts& parts, std::vector<AfterCommit> actions);

}  // namespace millrace
