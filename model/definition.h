// Parts of a definition as plain values: the common fields of states, the start, the functions that
// actions call, the timeouts. A complete definition, with its states, is a Workflow
// (states/workflow.h).
#pragma once

#include <cstddef>
#include <cstdint>
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
#include "policies/evaluated_time.h"
#include "policies/retry_policy.h"
#include "policies/timeout_policy.h"

namespace millrace {

/// Index of a state in Workflow::states (states/workflow.h).
using StateIndex = size_t;

/// One exit of a state: the data is transformed, then the instance enters the next state, begins
/// its next run, or ends.
struct Exit {
  std::optional<Template> transform;
  std::optional<StateIndex> transition;  ///< nullopt: the instance ends with status complete
  /// The input of the next run (`continueAsNew`), which begins instead of the end; set only without
  /// a transition.
  std::optional<Template> continue_as_new = std::nullopt;
};

/// One entry of `catch` (Direktiv's ErrorDefinition).
struct Catch {
  /// A glob that must match the whole error code: `*` matches any characters, `?` one character,
  /// all others match themselves.
  std::string error;
  std::optional<StateIndex> transition;
  std::optional<Template> continue_as_new = std::nullopt;  ///< as in Exit
};

/// The fields that states of every type have (Direktiv's "Common Fields").
struct StateCommon {
  std::string id;
  std::string type;
  std::optional<Template> log;
  std::optional<Span> timeout;  ///< set only if the state's type allows a timeout
  /// A timeout that the data decides, or the `until` of a state that waits for events; `timeout` is
  /// not set then.
  std::optional<EvaluatedTime> evaluated_timeout;
  std::vector<Catch> catches;
  /// The retry policy of a state without actions: a retry enters the state again. On a state with
  /// actions, `retries` is the default for the actions; it is stored in each action and not here.
  std::optional<RetryPolicy> retries;

  /// The exits of the state, selected by index. Most types have one exit; switch has one exit for
  /// each condition and a default exit, eventXor has one exit for each entry.
  std::vector<Exit> exits;

  /// The number of ways to leave the state through which an instance may be leaving it: the exits,
  /// and after them the entries of `catch`, of which only those with `continueAsNew` are such ways.
  size_t ways_out() const { return exits.size() + catches.size(); }
  /// Whether an instance may leave the state by the way with that index.
  bool is_way_out(size_t way) const {
    if (way < exits.size()) return true;
    return way < ways_out() && catches[way - exits.size()].continue_as_new.has_value();
  }
};

/// One event for which a start waits.
struct StartEvent {
  EventFilter filter;
  bool capture = false;  ///< `capture: event`: the complete CloudEvent is stored, not only its data

  bool operator==(const StartEvent&) const = default;
};

/// How instances of a workflow are started (Direktiv's Start).
struct Start {
  enum class Kind { kDefault, kEvent, kEventsXor, kEventsAnd, kScheduled };

  Kind kind = Kind::kDefault;
  StateIndex state = 0;
  std::vector<StartEvent> events;      ///< kEvent: exactly one event
  std::vector<std::string> correlate;  ///< kEventsAnd only: names of context attributes, lower case
  std::optional<Span> lifespan;        ///< kEventsAnd only
  std::optional<Cron> cron;            ///< kScheduled only; nullopt: the schedule has no ticks
};

/// How many instances of a workflow may start in a time (`rateLimit`), or how many calls of a
/// service may be handed out.
struct StartLimit {
  uint32_t limit = 1;
  Span period;
  /// The starts with equal values of this template over their input count together; nullopt: all
  /// starts of the workflow do. All its programs are of the fast lane.
  std::optional<Template> key;
};

/// How starts of a workflow are put off, so that of many requests the last one counts (`debounce`).
struct Debounce {
  Span period;                  ///< how long after the newest request the instance starts
  std::optional<Span> timeout;  ///< how long after the first request at the latest
  /// As StartLimit::key: of requests with equal keys the last one counts.
  std::optional<Template> key;
};

/// How starts of a workflow are collected, so that one instance gets the inputs of many (`batch`).
struct StartBatch {
  uint32_t max_size = 1;  ///< with so many inputs the instance starts, 1 to kMostBatched
  Span timeout;           ///< how long after the first input the instance starts at the latest
  /// As StartLimit::key: the inputs of requests with equal keys come together.
  std::optional<Template> key;
};

/// The most inputs of one batch of starts.
inline constexpr uint32_t kMostBatched = 1'000;

/// A function that calls a workflow of the same namespace: the workflow runs as a separate
/// instance.
struct Subflow {
  std::string workflow;
};
/// How many calls of a service may run at once (`concurrency` of a function or an action).
struct CallConcurrency {
  uint32_t limit = 1;
  std::optional<Template> key;  ///< each value has slots of its own; nullopt: all calls share them
  std::optional<Span> timeout = {};  ///< how long an attempt may wait for a slot
};
/// How many starts of a workflow may begin in a time, or how many calls of a service may be handed
/// out, for each key, while the others wait (`throttle`).
struct Throttle {
  /// They count as the starts of a `rateLimit`. The value of the key is that of Concurrency::key or
  /// of CallConcurrency::key.
  StartLimit rate;
  std::optional<Span> timeout;  ///< how long a start or a call may wait
};
/// The flow control of calls.
struct CallFlow {
  std::optional<CallConcurrency> concurrency;
  std::optional<Throttle> throttle;
  /// Of the calls that wait with one key for a slot or for the throttle, that with the highest
  /// value is next. nullopt: 0.
  std::optional<Template> priority;

  bool has_limit() const { return concurrency || throttle; }
};

/// A function that actions can call (Direktiv's FunctionDefinition).
struct Function {
  std::string id;
  std::variant<Subflow, NamedService, Container> runs;
  std::vector<FunctionFile> files;
  ActionPolicy policy;  ///< the default for actions that call this function
  CallFlow flow = {};   ///< the default for actions that call this function

  const Subflow* subflow() const { return std::get_if<Subflow>(&runs); }
};

/// How long instances may run. Unless a comment says otherwise, a span counts from the start of the
/// run.
struct WorkflowTimeouts {
  std::optional<Span> interrupt;  ///< Direktiv: raises an error in the current state, once
  std::optional<Span> kill;       ///< Direktiv: ends the instance
  std::optional<Span> run;        ///< Temporal: ends the instance
  std::optional<Span> task;       ///< Temporal: bounds the evaluation of one state
  /// Temporal and Zart: bounds all runs together, counted from the start of the first run.
  std::optional<Span> execution;
  /// Zart: at the execution's deadline the instance ends as failed, not as timed out. Before it
  /// ends, the instance goes to the state `on_failure`, if that is set.
  bool fails = false;
  std::optional<StateIndex> on_failure;
  /// A key of millrace itself: the instance goes to `on_failure` after every other failure, too.
  bool on_any_failure = false;
  /// A key of millrace itself: an instance that went to `on_failure` makes its compensations before
  /// it ends.
  bool on_failure_compensates = false;
};

/// How many instances of a workflow may be active at once (`concurrency`).
struct Concurrency {
  /// What becomes of a start without a free slot.
  enum class OnLimit {
    kQueue,    ///< it waits until a slot is free
    kReject,   ///< it is refused with `millrace.concurrency.limit`
    kSkip,     ///< it is dropped without an error
    kReplace,  ///< the instance that has held its slot longest is cancelled
  };

  uint32_t limit = 1;
  std::optional<Template> key;  ///< each value has `limit` slots; nullopt: all starts share them
  OnLimit on_limit = OnLimit::kQueue;
  std::optional<Span> timeout;  ///< how long a start may wait for a slot
};

}  // namespace millrace
