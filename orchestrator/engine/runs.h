// Runs: how the run of an instance begins, the first one and those that follow it, and which
// timeouts it has. An execution is all runs of an instance that follow each other by the workflow's
// `retries`; a Restart or a Rerun begins another execution. How a run goes on is in engine.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/definition.h"
#include "model/instance.h"
#include "states/workflow.h"

namespace millrace {

struct StepContext;

/// What an instance may have from the call that starts it, beside its input.
struct Origin {
  std::string own_policy = {};                             ///< own_policy.h
  std::optional<TimePoint> execution_from = std::nullopt;  ///< none: from now
};

/// An instance that has not yet entered its first state; Proceed begins it. `input` is an object
/// (the data) or, for other JSON, becomes {"input": …}. `position` is where in the stream it begins
/// to listen.
Instance make_instance(InstanceId id, NamespaceNumber space, Revision revision,
                       const Workflow& workflow, Json input, TimePoint now, uint64_t position,
                       const Origin& origin = {});

/// The state that a manual retry of an instance that has failed begins again.
StateIndex failed_state_of(const Workflow& workflow, const Instance& instance);

/// Until when the execution of an instance may go on if it does not count anew; none: nothing
/// bounds it.
std::optional<TimePoint> execution_deadline(const Workflow& workflow, const Instance& instance);

/// The timers of the run and of the execution as a run that began at `began` is given them, by the
/// workflow and by what the start of the instance said. Which of them are still there depends on
/// what has fired since.
std::vector<Timer> timers_of_run(const Workflow& workflow, const Instance& instance,
                                 TimePoint began);

// Within a step.

/// Begins a run in that state, with the data that the instance has by now.
void begin_run_at(StepContext& step, StateIndex at);

/// The wait for the next run is over: it begins, with the input of the instance.
void begin_next_run(StepContext& step);

/// Whether the run that has just failed with instance.error is followed by another one of the same
/// execution (Temporal, `retries` of the workflow). If so, the instance waits for it.
bool awaits_next_run(StepContext& step);

/// Sends a failed instance through the state `on_failure` (Zart): once, and past the
/// deadlines of the whole but `kill`. The instance has failed, whatever comes of that.
void go_through_on_failure(StepContext& step, const Error& error);

/// The instance has ended and lives again: its run begins in the state `at`. `how` is for the
/// history. The caller that it had was informed of its end, and is not informed again; the
/// workflow's own `retries` begin anew.
void revive(StepContext& step, std::string_view how, StateIndex at);

/// Notes what a manual retry would begin with: the state that the failure comes from, and the data
/// that it found. The first one counts where a failure is settled already.
void note_failure(StepContext& step);
void note_failure(StepContext& step, const LazyJson& found);
void forget_failure(Instance& instance);

}  // namespace millrace
