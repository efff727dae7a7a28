// State: the contract of every state type. A type is one file in this folder: its fields, its
// checks and its behaviour; registry.cc lists all types. Behaviour is pure: a state reads its
// inputs from its Visit (visit.h) and requests its effects through its Visit.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/event.h"
#include "base/lazy_json.h"
#include "base/time.h"
#include "matchers/event_filter.h"
#include "model/answered_by.h"
#include "model/definition.h"
#include "model/instance.h"

namespace millrace {

class Visit;
class StateFields;
class Template;
struct Action;

/// Leave the state through that exit: evaluate its transform, then follow its transition.
struct Leave {
  size_t exit = 0;
};
/// Stay in the state until one of its listeners matches, a timer fires or a call ends.
struct Wait {};
/// Fail with an error of the workflow, which `catch` may match.
struct Raise {
  Error error;
};
/// End the instance as cancelled. Neither `catch` nor a retry policy applies.
struct GiveUp {
  Error error;
};
/// Wait for an evaluation. The engine calls the same function of the state again when the result of
/// the evaluation has arrived.
struct Park {};
/// The state has made a portion of its calls, and makes the next one in a later step
/// (State::make_calls).
struct MakeMore {};

using Outcome = std::variant<Leave, Wait, Raise, GiveUp, Park, MakeMore>;

/// How the current attempt of a call has ended.
struct CallEnd {
  CallResult result;
  TimePoint retry_from;  ///< if the attempt failed: the next one is not due before
  AnsweredBy by = AnsweredBy::kRunner;
};

/// Names of services, as written in functions.
using ServiceNames = std::set<std::string, std::less<>>;

/// What an instance may wait for in a state. The state's behaviour relies on these limits, so an
/// instance that was read from the store is checked against them (orchestrator/engine/fit.h).
struct Waits {
  size_t events = 0;          ///< the number of entries that the instance's listeners may have
  bool keeps_events = false;  ///< the instance has one slot for each entry
  bool delay = false;
  bool is_evaluated = false;  ///< the data decides how long the delay is
  size_t least_calls = 0;     ///< how many calls an instance has at least, if it has calls at all
  size_t most_calls = 0;
};

class State {
 public:
  explicit State(StateCommon common) : common_(std::move(common)) {}
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const StateCommon& common() const { return common_; }

  /// The instance enters the state. After a Park this function is called again from the start:
  /// therefore it evaluates first, and acts (listens, publishes, changes data) only when it has all
  /// its values.
  virtual Outcome enter(Visit& visit) const = 0;

  /// Makes the next portion of calls after an outcome MakeMore. Like enter() it evaluates first.
  virtual Outcome make_calls(Visit& visit) const;

  /// An event has arrived that matches the listeners with these `entries` (ascending, at least
  /// one).
  virtual Outcome take(Visit& visit, const Event& event, std::span<const size_t> entries) const;

  /// The current attempt of the call with that index has ended.
  virtual Outcome returned(Visit& visit, size_t index, CallEnd end) const;

  /// A worker has started the call. Returns whether started() changed the instance.
  virtual bool started(Visit& visit, size_t index) const;

  /// The worker of the call has missed its heartbeat.
  virtual Outcome heartbeat_missed(Visit& visit, size_t index) const;

  /// Timeouts of some calls have expired. overdue() handles those timeouts whose deadline is at or
  /// before `until`; `until` is not after now.
  virtual Outcome overdue(Visit& visit, TimePoint until) const;

  /// The next attempt of some calls is due, and none of their timeouts has expired.
  virtual Outcome attempts_due(Visit& visit) const;

  /// What an instance may wait for in this state.
  virtual Waits waits() const { return {}; }

  /// The types of the events that the state may listen for.
  virtual std::vector<std::string> awaited_types() const { return {}; }

  /// The type of the events that the state publishes; null: it publishes none.
  virtual const Template* generated_type() const { return nullptr; }

  /// How far the state looks back for events that came before it listens, for each entry of
  /// awaited_types(); nullopt: not at all. Empty: it never does.
  virtual std::vector<std::optional<Duration>> lookbacks() const { return {}; }
  /// Whether it looks back for one of them.
  bool looks_back() const;

  /// What the state asks for of events over that data, for each entry of awaited_types(); nullopt:
  /// only a jq worker or the definition of the instance can evaluate it, or its value is an error.
  /// Empty: it listens for no events.
  virtual std::vector<std::optional<EventFilter>> filters_over(const LazyJson&) const { return {}; }

  /// The function of the call with that index; null: an instance in this state has no such call.
  virtual const Function* function_of(size_t) const { return nullptr; }

  /// The policy of the call with that index, without that of its service and of the namespace;
  /// null: as function_of().
  virtual const ActionPolicy* policy_of_call(size_t) const { return nullptr; }

  /// The actions whose functions it calls.
  virtual std::span<const Action> actions() const;

  /// The names of the services that its actions call; a name may occur more than once.
  virtual std::vector<std::string> services() const { return {}; }

  /// The instance resumes after a pause: the timeouts of its calls restart.
  virtual Outcome resumed(Visit& visit) const;

  /// Paused services resume: those with these names, or all if `names` is null. For their calls
  /// that no worker has started, the suspended timeouts restart. Returns whether there was a call
  /// that no worker had started.
  virtual bool services_resumed(Visit& visit, const ServiceNames* names) const;

  /// The delay that the state set with Visit::wait_until is over.
  virtual Outcome elapsed(Visit& visit) const;

 private:
  StateCommon common_;
};

/// The first entry of `catch` that matches an error with that code; null if none does.
const Catch* find_catch(const StateCommon& common, std::string_view code);

/// A state type for the loader: its name in a definition, and the function that reads its fields.
/// The list of its fields is in language/grammar.h.
struct StateType {
  std::string_view name;

  /// Reads the type's own fields. Mistakes are reported through `fields`; the state that is
  /// returned in that case is never used.
  std::unique_ptr<const State> (*load)(StateFields& fields, StateCommon common);
};

/// The type with that name or other accepted spelling; null if it does not exist.
const StateType* find_state_type(std::string_view name);

/// All state types, for "did you mean".
std::span<const StateType* const> state_types();

}  // namespace millrace
