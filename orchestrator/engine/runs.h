// Runs: starts the first and the later runs of an instance, and sets their timeouts. An execution
// is a sequence of runs that follow each other by the workflow's `retries` or by `continueAsNew`; a
// Restart or a Rerun starts a new execution. engine.h describes how a run continues.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/lazy_json.h"
#include "base/time.h"
#include "model/definition.h"
#include "model/instance.h"
#include "orchestrator/engine/stimulus.h"
#include "states/workflow.h"

namespace millrace {

struct StepContext;

/// Properties that a start may give an instance besides its input.
struct Origin {
  std::string own_policy = {};  ///< JSON, see language/own_policy.h
  /// The time from which the execution timeout counts; nullopt: from now.
  std::optional<TimePoint> execution_from = std::nullopt;
};

/// The input of a run: an object stays, other JSON becomes {"input": …}.
LazyJson as_input(LazyJson value);

/// Makes an instance that has not yet entered its first state; the stimulus Proceed starts the
/// instance. `input` is an object (the data); other JSON becomes {"input": …}. The
/// instance listens to the events after `position`.
Instance make_instance(InstanceId id, NamespaceNumber ns, Revision revision,
                       const Workflow& workflow, LazyJson input, TimePoint now,
                       const ListenFrom& position, const Origin& origin = {});

/// Begins the first run of an instance that has waited for a slot: its timeouts count from `now`.
void begin_first_run(Instance& instance, const Workflow& workflow, TimePoint now);

/// The state in which a manual retry of a failed instance starts.
StateIndex failed_state_of(const Workflow& workflow, const Instance& instance);

/// The deadline of the instance's execution, unless the timeout is restarted; nullopt: the
/// execution has no timeout.
std::optional<TimePoint> execution_deadline(const Workflow& workflow, const Instance& instance);

/// The timers of the run and of the execution at the start of a run that started at `began`, by the
/// workflow and by the instance's own policy. Some of these timers may have fired since.
std::vector<Timer> timers_of_run(const Workflow& workflow, const Instance& instance,
                                 TimePoint began);

// Functions for use within a step.

/// Starts a run in the state `at`, with the instance's current data.
void begin_run_at(StepContext& step, StateIndex at);

/// Starts the next run, with the input of the instance; to be called when the wait for that run is
/// over.
void begin_next_run(StepContext& step);

/// Whether the run that just failed with instance.error is followed by another run of the same
/// execution (Temporal's `retries` of the workflow). If so, makes the instance wait for that run.
bool awaits_next_run(StepContext& step);

/// Sends a failed instance to the state `on_failure` (Zart's vocabulary): once, and without the
/// workflow's timeouts except `kill`. The instance ends as failed in any case.
void go_through_on_failure(StepContext& step, const Error& error);

/// Ends the run of an instance that leaves its state by `continueAsNew`, and begins its next run:
/// in the start state of `step.workflow`, with the input of the stimulus as data. The execution
/// goes on: its timeout counts from the same time, with the length that the workflow has now. The
/// limits of the run, its timeouts and the workflow's `retries` are counted from the beginning. The
/// run enters its first state in a later step (`unfinished`).
void apply(StepContext& step, const NextRun& next);

/// Raises the error of a next run that cannot begin.
void apply(StepContext& step, const NextRunRefused& refused);

/// Starts a new run of an ended instance in the state `at`. `how` is written into the history. The
/// instance's caller got a result when the instance first ended, and gets no further result; the
/// workflow's `retries` are counted from this run.
void revive(StepContext& step, std::string_view how, StateIndex at);

/// Records where a manual retry would start: the state that failed, and the data with which it was
/// entered. If the instance already has an error or awaits another run, an existing record stays.
void note_failure(StepContext& step);
void note_failure(StepContext& step, const LazyJson& found);
void forget_failure(Instance& instance);

}  // namespace millrace
