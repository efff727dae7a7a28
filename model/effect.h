// Effect: all that the engine asks of the outside, a closed list. Draft::stage() sorts them: a
// row of the batch, an errand for another instance, or an action for after the commit.
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
#include "model/instance.h"
#include "model/task.h"
#include "model/variable.h"

namespace millrace {

/// Send a generated event into the event stream, at once or when `at` comes.
struct Publish {
  NamespaceNumber space{};
  Event event;
  std::optional<TimePoint> at;
};

/// Set a variable, or delete it where there is no value.
struct SetVariable {
  VariableName name;
  std::optional<Variable> value;
};

/// Evaluate what the fast lane does not take. Comes back as EvaluatedInput: `before` and behind it
/// the results of this evaluation.
struct Evaluate {
  NamespaceNumber space{};
  InstanceId instance;
  uint64_t step = 0;
  std::vector<EvaluationResult> before;
  Evaluation evaluation;
};

/// Start an instance of a workflow as the child of a call, or detached from it. What goes wrong
/// comes back as the result.
struct StartChild {
  NamespaceNumber space{};
  InstanceId child;
  std::string workflow;
  LazyJson input;
  std::optional<Caller> caller;  ///< none: detached
  InstanceId by;                 ///< who started it, detached or not
  uint32_t depth = 0;
  uint32_t hops = 0;
  bool sealed = false;  ///< there is something of a secret in the input
};

/// Cancel a child for whose result nobody waits any more.
struct CancelChild {
  NamespaceNumber space{};
  InstanceId child;
  bool at_once = true;  ///< else the tasks that run finish first
};

/// Have work done outside: one attempt of an action. It is a row until its end is told.
struct StartTask {
  NamespaceNumber space{};
  InstanceId task;
  std::optional<Caller> caller;  ///< none: detached
  InstanceId by;                 ///< whose action it is
  WorkflowNumber workflow{};     ///< of that instance
  std::string state;
  std::string function;
  uint32_t attempt = 1;
  std::variant<NamedService, Container> runs;
  std::vector<FunctionFile> files;
  LazyJson input;
  std::optional<TimePoint> deadline;            ///< when it is given up at the latest
  std::optional<Duration> heartbeat;            ///< for how long it may be silent
  std::optional<Duration> start_to_close = {};  ///< for how long it may run
  bool sealed = false;                          ///< there is something of a secret in the input
};

/// Nobody waits for that task any more: have it stopped, as far as that can be.
struct StopTask {
  InstanceId task;
};

/// Tell the caller how its call ended.
struct ReturnResult {
  NamespaceNumber space{};
  Caller to;
  CallResult result;
  bool sealed = false;  ///< it may hold something of a secret
};

/// What one instance wants of another.
using Errand = std::variant<StartChild, CancelChild, ReturnResult>;

using Effect = std::variant<Publish, SetVariable, Evaluate, StartChild, CancelChild, StartTask,
                            StopTask, ReturnResult>;

}  // namespace millrace
