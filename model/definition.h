// What a definition says, as plain values: the common fields of its states, how instances start,
// the functions that its actions call, its timeouts. A whole definition, with its states, is a
// Workflow (states/workflow.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "expressions/template.h"
#include "matchers/event_filter.h"
#include "model/task.h"
#include "policies/action_policy.h"
#include "policies/cron.h"
#include "policies/duration.h"
#include "policies/retry_policy.h"
#include "policies/timeout_policy.h"

namespace millrace {

/// Index of a state in Workflow::states (states/workflow.h).
using StateIndex = size_t;

/// A way out of a state: the data is transformed, then the instance goes on or ends.
struct Exit {
  std::optional<Template> transform;
  std::optional<StateIndex> transition;  ///< none: the instance ends, complete
};

/// One entry of `catch` (Direktiv's ErrorDefinition).
struct Catch {
  std::string error;  ///< anchored glob: `*` any run, `?` one character, all else literal
  std::optional<StateIndex> transition;
};

/// What every state has, whatever its type (Direktiv's "Common Fields").
struct StateCommon {
  std::string id;
  std::string type;
  std::optional<Template> log;
  std::optional<Span> timeout;  ///< on the types that may have one
  std::vector<Catch> catches;
  /// On a state without actions: the state is entered again. On one with actions it is the default
  /// of each action, and stands there.
  std::optional<RetryPolicy> retries;

  /// The ways out. Most types have one; switch has one a condition and a default, eventXor one an
  /// entry: a state says which by its index.
  std::vector<Exit> exits;
};

/// One entry of a start's events.
struct StartEvent {
  EventFilter filter;
  bool capture = false;  ///< `capture: event`: the whole CloudEvent is stored, not its payload

  bool operator==(const StartEvent&) const = default;
};

/// How instances of a workflow come to be (Direktiv's Start).
struct Start {
  enum class Kind { kDefault, kEvent, kEventsXor, kEventsAnd, kScheduled };

  Kind kind = Kind::kDefault;
  StateIndex state = 0;
  std::vector<StartEvent> events;      ///< exactly one for kEvent
  std::vector<std::string> correlate;  ///< context attributes, lower case; kEventsAnd
  std::optional<Span> lifespan;        ///< kEventsAnd
  std::optional<Cron> cron;            ///< kScheduled; without it no tick ever comes
};

/// A workflow of the same namespace, run as an instance of its own.
struct Subflow {
  std::string workflow;
};
/// What an action calls (Direktiv's FunctionDefinition).
struct Function {
  std::string id;
  std::variant<Subflow, NamedService, Container> runs;
  std::vector<FunctionFile> files;
  ActionPolicy policy;  ///< for actions that say nothing else

  const Subflow* subflow() const { return std::get_if<Subflow>(&runs); }
};

/// How long instances may run. Unless it says otherwise, counted from the start of the run.
struct WorkflowTimeouts {
  std::optional<Span> interrupt;  ///< Direktiv: an error in the state it is in then, once
  std::optional<Span> kill;       ///< Direktiv: the end
  std::optional<Span> run;        ///< Temporal: the end
  std::optional<Span> task;       ///< Temporal: of evaluating one state
  /// Temporal and Zart: all runs, counted from the start of the first.
  std::optional<Span> execution;
  /// Zart: past the execution's deadline the instance is failed, not timed out, and goes
  /// through this state before, if there is one.
  bool fails = false;
  std::optional<StateIndex> on_failure;
  bool on_any_failure = false;  ///< ours: through `on_failure` behind any other failure as well
};

}  // namespace millrace
