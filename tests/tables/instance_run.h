// InstanceRun: one instance of a workflow, driven by hand on a virtual clock, and a readable record
// of what it did. It does what orchestrator/batch does around the engine and no more: it matches
// events with the instance's listeners, fires its timers in order and carries results back.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/engine/engine.h"
#include "tests/tables/test_lookup.h"

namespace millrace {

/// When every run begins: 2024-01-01T00:00:00Z, which the tables call `0s`.
TimePoint run_start();

/// A time of a run as the tables write it: how long after its start (`1h30m`, `500ms`).
std::string shown_time(TimePoint time);

/// How the tables call a timer: `timeout`, `delay`, `retry`, `interrupt`, `kill`.
std::string_view name_of(TimerKind kind);

/// The workflow of a definition that must be right; stops the test program where it is not.
std::shared_ptr<const Workflow> load_right_workflow(std::string_view yaml);

/// One stimulus and what came of it.
struct TraceRow {
  std::string at;
  std::string input;
  std::string state;   ///< the states entered, `a > b`; the one it stands in if none was
  std::string status;  ///< afterwards
  /// In this order: what is told (log, errors), what is asked for (publishes, evaluates), and what
  /// has changed of listeners, timers, data and the final error. Only `ignored`: the engine took
  /// the stimulus for a stale one, or it never got to the engine. Only `-`: nothing to tell.
  std::vector<std::string> does;
};

/// `at | input | state | status | does; does`, a line for each row.
std::string print_trace(const std::vector<TraceRow>& rows);

class InstanceRun {
 public:
  explicit InstanceRun(std::shared_ptr<const Workflow> workflow, Json input = Json::object(),
                       EngineLimits limits = {});

  // The clock. It never goes back.

  void set_time(TimePoint time);
  TimePoint now() const { return now_; }

  // Stimuli, each one row of the trace.

  /// Enters a new instance, and goes on with one that stopped at a bound or by a restart.
  const TraceRow& proceed(std::string input = "enter");
  /// Fires what is due, by deadline, until nothing is.
  const TraceRow& tick();
  /// Moves the clock and ticks.
  const TraceRow& at(Duration since_start);
  /// Fires a timer whether the instance has it or not.
  const TraceRow& fire(TimerKind kind, TimePoint deadline);
  /// Offers an event to the listeners; one that none of them matches never gets to the engine.
  const TraceRow& event(const Event& event);
  /// Answers the newest Evaluate effect (with its step, which may be stale by now).
  const TraceRow& evaluated(EvaluationResult result);
  /// Ends a call; an attempt of 0 is the one that is under way.
  const TraceRow& returned(uint32_t index, uint32_t attempt, CallResult result);
  const TraceRow& cancel(const Error& error);
  /// Somebody else sets a variable, or deletes it.
  const TraceRow& set_variable(VariableScope scope, const std::string& key,
                               std::optional<Variable> value);
  /// Somebody else sets a secret of the namespace.
  const TraceRow& set_secret(std::string name, std::string value);
  /// Any other, as it is.
  const TraceRow& give(std::string input, const Stimulus& stimulus);

  // What there is to see.

  const Instance& instance() const { return instance_; }
  const Workflow& workflow() const { return *workflow_; }
  const std::vector<TraceRow>& rows() const { return rows_; }
  /// Of all stimuli so far.
  const std::vector<Effect>& effects() const { return effects_; }
  const std::vector<HistoryRecord>& history() const { return history_; }
  /// Of the last stimulus (of a tick: of its last timer).
  const StepResult& last() const { return last_; }
  /// The newest Evaluate effect.
  const std::optional<Evaluate>& asked() const { return asked_; }

 private:
  void begin(std::string input);
  void step_once(const Stimulus& stimulus);
  const TraceRow& finish(bool ignored);
  void note_effects();
  void note_changes(const Instance& before);

  std::shared_ptr<const Workflow> workflow_;
  EngineLimits limits_;
  TimePoint now_;
  uint64_t position_ = 0;
  TestLookup lookup_;
  Instance instance_;
  Instance before_;  // the last stimulus
  std::vector<TraceRow> rows_;
  std::vector<std::string> entered_;
  std::vector<Effect> effects_;
  std::vector<HistoryRecord> history_;
  StepResult last_;
  bool changed_ = false;
  std::optional<Evaluate> asked_;
  std::map<InstanceId, Caller> children_;  ///< by whom they were called
};

/// History as lines: `entered wait {"a":1}`, `woken wait {"id":…}`; the data behind a `/`.
std::vector<std::string> print_history(const std::vector<HistoryRecord>& records);

/// What of instance.h's promises one stimulus broke; empty if none.
std::vector<std::string> broken_invariants(const Instance& before, const StepResult& result,
                                           const Instance& after);

}  // namespace millrace
