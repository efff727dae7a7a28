// Input: all that the engine consumes. Each carries its time, so that the engine needs no clock.
// With effect.h this is the engine's whole contract: Input → changed instances + Effects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/encoded_event.h"
#include "cloudevents/nats_binding.h"
#include "expressions/evaluation.h"
#include "model/instance.h"
#include "model/task.h"
#include "model/variable.h"
#include "model/workflow.h"

namespace millrace {

/// How far the event stream was applied. It is written in the commit that applies it.
struct Cursor {
  int64_t stream_created = 0;  ///< nanoseconds; tells a stream from one made anew under its name
  uint64_t sequence = 0;       ///< the last applied message; 0: none
  TimePoint stamped;           ///< when the broker took that message

  bool operator==(const Cursor&) const = default;
};

/// An event from the stream.
struct EventInput {
  std::string space;  ///< name of the namespace, from the subject
  uint64_t sequence = 0;
  TimePoint stamped;  ///< when the broker took it: what decides between it and a timeout
  bool more = false;  ///< the stream held more behind it: no timeout may overtake those
  EncodedEvent event;
};

/// A message of the event stream that is no valid event; it goes to the dead letters.
struct UnreadableInput {
  uint64_t sequence = 0;
  TimePoint stamped;
  bool more = false;  ///< as in EventInput
  Error reason;
  NatsMessage message;  ///< as received
};

/// What a due timer belongs to: a timer of an instance, a delayed event, an event that waits in an
/// eventsAnd group, the schedule of a workflow, whose tick is the deadline.
struct TimerInput {
  struct OfInstance {
    NamespaceNumber space{};
    InstanceId instance;
    TimerKind kind{};
  };
  struct OfDelayedEvent {
    uint64_t number = 0;
  };
  struct OfGroupedEvent {
    uint64_t number = 0;
  };
  struct OfSchedule {
    WorkflowNumber workflow{};
  };
  TimePoint deadline;
  std::variant<OfInstance, OfDelayedEvent, OfGroupedEvent, OfSchedule> owner;
};

/// The answer to an Evaluate effect (effect.h): the results of each evaluation of that step so far.
struct EvaluatedInput {
  NamespaceNumber space{};
  InstanceId instance;
  uint64_t step = 0;
  std::vector<EvaluationResult> results;
};

/// What is told of a task. It may come late, or twice.
struct TaskInput {
  TaskReport report;
};
/// A task has been silent for longer than it may.
struct SilenceInput {
  InstanceId task;
};

/// Go on with an instance that stopped in a passing phase: a bound on one step, or a restart.
struct ContinueInput {
  NamespaceNumber space{};
  InstanceId instance;
};

// What a person or a program asks for. Each is answered with an Answer effect under its request.

struct ApplyWorkflow {
  std::string space;
  std::string text;                          ///< as given
  std::shared_ptr<const Workflow> workflow;  ///< what it says
};
/// How far a command has got that changes more instances than one batch should.
struct Sweep {
  size_t changed = 0;              ///< instances, so far
  std::optional<InstanceId> last;  ///< all up to this one are done; none: it is to begin
};
struct DeleteWorkflow {
  std::string space;
  std::string id;
  bool cancel = false;  ///< cancel its living instances instead of refusing
  /// It was deleted by a release that did not note it; `id` is its number.
  bool leftovers = false;
  Sweep sweep;
  std::string at;  ///< of leftovers: the row to go on from
};
struct StartInstance {
  std::string space;
  std::string workflow;
  Json input;                   ///< an object: the data to begin with
  std::string idempotency_key;  ///< empty: none
  std::string own_policy = {};  ///< as write_own_policy made it; empty: none
};
/// Starts one as a tick of its schedule would, beside that.
struct TriggerSchedule {
  std::string space;
  std::string workflow;
};
/// What an operator does about an instance.
struct CancelInstance {
  std::string space;
  InstanceId instance;
  bool now = false;  ///< do not wait for the end of the tasks that run
};
struct PauseInstance {
  std::string space;
  InstanceId instance;
};
struct ResumeInstance {
  std::string space;
  InstanceId instance;
};
struct RetryInstance {
  std::string space;
  InstanceId instance;
  bool extend = false;  ///< the execution's deadline counts anew
};
struct RestartInstance {
  std::string space;
  InstanceId instance;
};
struct RerunInstance {
  std::string space;
  InstanceId instance;
  std::string state;
};
/// Removes one that has ended, with its history.
struct DeleteInstance {
  std::string space;
  InstanceId instance;
  bool damaged = false;  ///< also one that has damaged rows, living or ended
};
/// Instances of a paused workflow do nothing new, nor do those that are started meanwhile.
struct PauseWorkflow {
  std::string space;
  std::string id;
  bool paused = true;  ///< false: it goes on
  Sweep sweep;
};
/// Calls of a paused service wait until it goes on, and go out gradually then.
struct PauseService {
  std::string space;
  std::string name;
  bool paused = true;
  Sweep sweep;
};
/// Makes it, unless it is there, and sets its settings, if there are any.
struct CreateNamespace {
  std::string name;
  std::optional<Json> settings = std::nullopt;  ///< orchestrator/definition/namespace_settings.h
  /// Whose instances are renewed, where the settings have services go on: none: those of the first.
  std::optional<NamespaceNumber> sweeping = std::nullopt;
  Sweep sweep = {};
};
struct DeleteNamespace {
  std::string name;
  bool cancel = false;  ///< as in DeleteWorkflow
  /// It was deleted by a release that left its rows; `name` is its number.
  bool leftovers = false;
  Sweep sweep;
};
/// Whose variables: those of a workflow, of an instance, or of the namespace itself.
struct VariablePlace {
  std::string space;
  std::string workflow;  ///< empty: not of one
  std::optional<InstanceId> instance;
};
struct PutVariable {
  VariablePlace place;
  std::string key;  ///< is_variable_key
  Variable value;   ///< kMaxVariableBytes at most
};
struct DeleteVariable {
  VariablePlace place;
  std::string key;
};
inline constexpr size_t kMaxSecretBytes = size_t{64} << 10;

/// A secret of a namespace. The value is told to actions and nobody else.
struct PutSecret {
  std::string space;
  std::string name;   ///< is_identifier
  std::string value;  ///< UTF-8, kMaxSecretBytes at most
};
struct DeleteSecret {
  std::string space;
  std::string name;
};
using Command =
    std::variant<ApplyWorkflow, DeleteWorkflow, StartInstance, TriggerSchedule, CancelInstance,
                 PauseInstance, ResumeInstance, RetryInstance, RestartInstance, RerunInstance,
                 DeleteInstance, PauseWorkflow, PauseService, CreateNamespace, DeleteNamespace,
                 PutVariable, DeleteVariable, PutSecret, DeleteSecret>;

struct CommandInput {
  uint64_t request = 0;  ///< the asker's own number, in its Answer again
  Command command;
};

struct Input {
  TimePoint time;
  std::variant<EventInput, UnreadableInput, TimerInput, EvaluatedInput, TaskInput, SilenceInput,
               ContinueInput, CommandInput>
      what;
};

}  // namespace millrace
