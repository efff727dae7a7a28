// InstanceRun: one instance of a workflow that a test drives on a virtual clock, with a readable
// trace of its behaviour. It replaces orchestrator/batch around the engine: it matches events with
// the listeners of the instance, fires its timers in order and delivers results.
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

/// The start of every run: 2024-01-01T00:00:00Z, which is `0s` in the tables.
TimePoint run_start();

/// A time of a run in the format of the tables: the span since its start (`1h30m`, `500ms`).
std::string shown_time(TimePoint time);

/// The name of a timer in the tables: `timeout`, `delay`, `retry`, `interrupt`, `kill`.
std::string_view name_of(TimerKind kind);

/// Loads a definition that must be valid. An invalid one ends the test program.
std::shared_ptr<const Workflow> load_right_workflow(std::string_view yaml);

/// One stimulus and its result.
struct TraceRow {
  std::string at;
  std::string input;
  std::string state;   ///< the states that were entered, `a > b`; else the current one
  std::string status;  ///< after the stimulus
  /// In this order: records of the history (log, errors), effects (publishes, evaluates), and
  /// changes of listeners, timers, data and the final error. Only `ignored`: the stimulus was stale
  /// or did not reach the engine. Only `-`: nothing changed.
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

  /// Enters a new instance, and continues one that stopped at a limit or by a restart.
  const TraceRow& proceed(std::string input = "enter");
  /// Fires all due timers in the order of their deadlines.
  const TraceRow& tick();
  /// Moves the clock and ticks.
  const TraceRow& at(Duration since_start);
  /// Fires a timer, even if the instance does not have it.
  const TraceRow& fire(TimerKind kind, TimePoint deadline);
  /// Gives an event to the listeners. An event that matches none does not reach the engine.
  const TraceRow& event(const Event& event);
  /// Answers the newest Evaluate effect. Its step may be stale.
  const TraceRow& evaluated(EvaluationResult result);
  /// Answers the newest LookBack effect.
  const TraceRow& early(const EarlyEvents& found);
  /// Ends a call. An attempt of 0 is the current one.
  const TraceRow& returned(uint32_t index, uint32_t attempt, CallResult result);
  const TraceRow& cancel(const Error& error);
  /// Another client sets a variable, or deletes it.
  const TraceRow& set_variable(VariableScope scope, const std::string& key,
                               std::optional<Variable> value);
  /// Another client sets a secret of the namespace.
  const TraceRow& set_secret(std::string name, std::string value);
  /// Gives the engine any other stimulus.
  const TraceRow& give(std::string input, const Stimulus& stimulus);

  // The instance and its trace.

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
  /// The newest LookBack effect.
  const std::optional<LookBack>& looked_back() const { return looked_back_; }

 private:
  void begin(std::string input);
  /// Applies the stimulus; if it ends the run by `continueAsNew`, begins the next one.
  void step_once(const Stimulus& stimulus);
  void apply(const Stimulus& stimulus);
  const TraceRow& finish(bool ignored);
  void note_effects();
  void note_changes(const Instance& before);

  std::shared_ptr<const Workflow> workflow_;
  EngineLimits limits_;
  TimePoint now_;
  ListenFrom position_{.event = {.stream = 1, .sequence = 9}};
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
  std::optional<LookBack> looked_back_;
  std::map<InstanceId, Caller> children_;  ///< their callers
};

/// History as lines: `entered wait {"a":1}`, `woken wait {"id":…}`. The data follows a `/`.
std::vector<std::string> print_history(const std::vector<HistoryRecord>& records);

/// The invariants of instance.h that one stimulus broke.
std::vector<std::string> broken_invariants(const Instance& before, const StepResult& result,
                                           const Instance& after);

}  // namespace millrace
