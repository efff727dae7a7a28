// Effect: the closed list of what a step can ask for. BatchState::stage() turns each effect into a
// row of the batch, an instance message, or an action after the commit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "expressions/evaluation.h"
#include "model/consumed_events.h"
#include "model/definition.h"
#include "model/early_events.h"
#include "model/instance.h"
#include "model/task.h"
#include "model/variable.h"

namespace millrace {

/// Publish a generated event to the event stream, at once or at the time `at`.
struct Publish {
  NamespaceNumber ns{};
  Event event;
  std::optional<TimePoint> at;
};

/// Set a variable; delete it if `value` is nullopt.
struct SetVariable {
  VariableName name;
  std::optional<Variable> value;
};

/// Evaluate jq programs that the fast lane cannot evaluate. The results come back as one
/// EvaluatedInput: first the results in `before`, then those of `evaluation`.
struct Evaluate {
  NamespaceNumber ns{};
  InstanceId instance;
  uint64_t step = 0;  ///< see evaluation_of()
  std::vector<EvaluationResult> before;
  Evaluation evaluation;
};

/// Search the event stream for events that came before the instance listens for them. The result
/// comes back as one EvaluatedInput, with the results in `before`.
struct LookBack {
  NamespaceNumber ns{};
  InstanceId instance;
  WorkflowNumber workflow{};  ///< of the instance
  uint64_t step = 0;          ///< see evaluation_of()
  std::vector<EvaluationResult> before;
  std::vector<EarlyListener> listeners;  ///< ascending by entry
  /// Whether each listener takes an event of its own; false: the search ends with the first event.
  bool fills_each = false;
  EventPosition until;      ///< the instance listens to the events after this one
  TimePoint asked_at;       ///< Evaluation::now of the step's evaluations
  ConsumedEvents consumed;  ///< what the instance has taken before
  // Set by BatchState::stage().
  std::string space = {};      ///< the name of the namespace
  int64_t stream_created = 0;  ///< Cursor::stream_created; 0: `until` is not in the open stream
};

/// Start an instance of a workflow: as the subflow of a call that waits for the result, or
/// detached: then no call waits. If the workflow cannot be started, the call gets the error as its
/// result.
struct StartChild {
  NamespaceNumber ns{};
  InstanceId child;
  std::string workflow;
  LazyJson input;
  std::optional<Caller> caller;  ///< nullopt: the child is detached
  InstanceId by;                 ///< the instance that starts the child, detached or not
  uint32_t depth = 0;
  uint32_t hops = 0;
  Sealing sealed;  ///< whether the input may contain data of a secret
};

/// Cancel a subflow whose result is no longer needed.
struct CancelChild {
  NamespaceNumber ns{};
  InstanceId child;
  bool at_once = true;  ///< false: the child's running tasks finish first
};

/// The slot that a task needs (`concurrency` of its function or action). All tasks of a namespace
/// for one service and key share the slots.
struct TaskSlot {
  uint32_t limit = 1;    ///< how many tasks may hold a slot of the key when this one gets its slot
  std::string key = {};  ///< the value of `concurrency.key` as JSON text; empty: there is no key
  int32_t priority = 0;  ///< a higher one gets a slot first
  std::optional<Span> timeout = {};  ///< how long the task may wait for the slot
  /// Of its row; the order of the tasks that wait. Set by BatchState::stage().
  uint64_t number = 0;
};

/// The throttle that decides when a task may be handed out (`throttle` of its function or action).
/// All tasks of a namespace for one service and key count together.
struct TaskThrottle {
  StartLimit rate;              ///< without a key
  std::optional<Span> timeout;  ///< how long the task may wait for the throttle
  std::string key = {};  ///< the value of `throttle.key` as JSON text; empty: there is no key
  int32_t priority = 0;  ///< a higher one is handed out first
  /// Of its row while it waits; the order of the tasks that wait. Set by BatchState::stage().
  uint64_t number = 0;
};

/// Start a task: one attempt of an action that is performed outside the engine. The task is a row
/// of the store until its end is reported.
struct StartTask {
  NamespaceNumber ns{};
  InstanceId task;
  std::optional<Caller> caller;  ///< nullopt: no call waits for the result
  InstanceId by;                 ///< the instance that the action belongs to
  WorkflowNumber workflow{};     ///< workflow of that instance
  std::string state;
  std::string function;
  uint32_t attempt = 1;
  std::variant<NamedService, Container> runs;
  std::vector<FunctionFile> files;
  LazyJson input;
  std::optional<TimePoint> deadline;            ///< when the task is given up at the latest
  std::optional<Duration> heartbeat;            ///< heartbeat timeout
  std::optional<Duration> start_to_close = {};  ///< how long the task may run
  Sealing sealed;                               ///< whether the input may contain data of a secret
  bool is_accepted = false;   ///< its service has accepted it, and answers it by a callback
  std::string progress = {};  ///< CallProgress::json of an earlier attempt; empty: there is none
  std::optional<TaskSlot> slot = {};          ///< nullopt: the task needs none
  std::optional<TaskThrottle> throttle = {};  ///< nullopt: no throttle decides about the task
  /// Not stored: why the attempt fails at once, because a value of its flow control could not be
  /// evaluated.
  std::optional<Error> refused = {};
  /// Not stored: when the task was created; set with `slot` and `throttle`.
  TimePoint created = {};
};

/// Stop a task whose result is no longer needed (best effort).
struct StopTask {
  InstanceId task;
};

/// Return the result of a call to its caller.
struct ReturnResult {
  NamespaceNumber ns{};
  Caller to;
  CallResult result;
  Sealing sealed;  ///< whether the result may contain data of a secret
};

/// A message from one instance to another: start, cancel or result.
using InstanceMessage = std::variant<StartChild, CancelChild, ReturnResult>;

using Effect = std::variant<Publish, SetVariable, Evaluate, LookBack, StartChild, CancelChild,
                            StartTask, StopTask, ReturnResult>;

}  // namespace millrace
