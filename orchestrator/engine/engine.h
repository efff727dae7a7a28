// The engine: one instance, one stimulus → the changed instance, effects and history. Pure: the
// time is an argument, and nothing is read beyond the instance but variables, secrets and settings
// through a Lookup. Which instances an event or a command concerns is decided by
// orchestrator/batch.
//
// An instance runs through states until it waits, asks for an evaluation, ends, or reaches the
// bound on one step. stimulus.h has what can happen to it; runs.h makes new instances. Within this
// room, timeouts.h, control.h and runs.h have what a step does about deadlines, operators and runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "model/effect.h"
#include "model/history.h"
#include "model/instance.h"
#include "model/lookup.h"
#include "orchestrator/engine/stimulus.h"
#include "states/workflow.h"

namespace millrace {

/// How much a step and an instance may do. A step that reaches its bound is unfinished and goes on
/// later; an instance that reaches its own fails with `millrace.limits.transitions`.
struct EngineLimits {
  uint32_t transitions_per_step = 1'000;
  uint32_t transitions_per_instance = 100'000;  ///< of each run
  /// Bytes of variables to be set; once a step has more, it is over.
  size_t variable_bytes_per_step = size_t{16} << 20;
};

/// What a step leaves beside the instance.
struct StepResult {
  std::vector<Effect> effects;         ///< in order; to be performed once the instance is on disk
  std::vector<HistoryRecord> history;  ///< in order
  bool changed = false;     ///< false: the stimulus was stale and the instance is as it was
  bool unfinished = false;  ///< the bound on one step was reached: give it Proceed again
};

/// Applies the stimulus to `instance`, which runs on `workflow`, the definition of its revision,
/// and lets it go on as far as it can at `now`. The instance must fit the workflow (fit.h). Errors
/// of the workflow are part of the result; a step itself cannot fail. `lookup` is read within the
/// call only.
StepResult step(const Workflow& workflow, Instance& instance, const Stimulus& stimulus,
                TimePoint now, const Lookup& lookup, const EngineLimits& limits = {});

}  // namespace millrace
