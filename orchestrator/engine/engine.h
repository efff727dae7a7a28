// The engine applies one stimulus to one instance. The result is the changed instance, effects and
// history records. The engine is a pure function: the time is an argument, and each value outside
// the head and the rows of calls (input, variables, secrets, settings, the time of a subflow's
// latest step, the key of ids) is read through a Lookup. orchestrator/batch decides which instances
// an event or a command concerns.
//
// An instance runs through states until it waits, asks for an evaluation, ends, or reaches the
// limit of one step. stimulus.h lists the stimuli; runs.h makes new instances. In this module,
// timeouts.h, control.h and runs.h implement deadlines, operations of an operator, and runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "base/work_budget.h"
#include "model/cursor.h"
#include "model/effect.h"
#include "model/history.h"
#include "model/instance.h"
#include "model/lookup.h"
#include "model/quota.h"
#include "orchestrator/engine/stimulus.h"
#include "states/visit.h"
#include "states/workflow.h"

namespace millrace {

/// Limits of a step and of an instance. A step that reaches its limit is unfinished and continues
/// later; an instance that exceeds its limit fails with `millrace.limits.transitions`, or raises
/// `millrace.quota.historyBytes` or `millrace.quota.storeBytes`.
struct EngineLimits {
  uint32_t transitions_per_step = 1'000;
  /// The count of transitions begins with each run, also with that of a `continueAsNew`. It begins
  /// again when a waiting instance takes an event, and with each long wait (kLongWait in hops.h),
  /// of whatever kind; then the transition into the state that waits is the first one. So an
  /// instance that waits may run for ever, and a loop without events and long waits ends. The time
  /// of an evaluation is not a wait.
  uint32_t transitions_per_instance = 100'000;
  /// Total bytes of the variables, history records, effects and early events of a step; a step that
  /// reaches this is unfinished.
  size_t bytes_per_step = size_t{256} << 10;
  /// A step is unfinished when the budget is spent, too; null: no budget.
  const WorkBudget* budget = nullptr;
  CallPortion calls_per_step;  ///< how many calls a step makes
  /// The quota of bytes that this instance, or its namespace, has exceeded; nullopt: none.
  std::optional<ExceededQuota> exceeded = std::nullopt;
};

/// An early event that a step has given to the instance.
struct TakenEarly {
  EventPosition at;
  Fingerprint known_as{};
};

/// The result of a step, besides the changed instance.
struct StepResult {
  std::vector<Effect> effects;         ///< in order; to be performed after the commit
  std::vector<HistoryRecord> history;  ///< in order
  bool changed = false;                ///< false: the stimulus was stale, the instance is unchanged
  bool unfinished = false;             ///< the limit of one step was reached: apply Proceed again
  size_t bytes = 0;                    ///< the sizes of effects, history and early events, about
  /// The index of the only call that the step has changed; nullopt: it may have changed any.
  std::optional<size_t> only_call = std::nullopt;
  bool only_removes_calls = false;     ///< no call has changed, but the last ones were removed
  std::vector<TakenEarly> early = {};  ///< in order
  /// The limit of one step was reached before all early events were offered: apply EvaluationDone
  /// again, with those behind `early`.
  bool has_early_left = false;
  /// The run ends with `continueAsNew`, and this is the input of the next one. The instance is
  /// still in its state: apply NextRun, with the newest revision of its workflow, or NextRunRefused
  /// before the batch is committed.
  std::optional<LazyJson> next_run = std::nullopt;
};

/// Applies the stimulus to `instance`, whose revision has the definition `workflow`, and steps it
/// as far as it can go at `now`. Precondition: the instance fits the workflow (fit.h). Errors of
/// the workflow are part of the result; the step itself cannot fail. `lookup` is used during this
/// call and not after it.
StepResult step(const Workflow& workflow, Instance& instance, const Stimulus& stimulus,
                TimePoint now, const Lookup& lookup, const EngineLimits& limits = {});

}  // namespace millrace
