// State: the contract of every state type. A type is one file in this folder: its fields, its
// checks and its behaviour; registry.cc lists them. Behaviour is pure: what a state needs comes in
// through its Visit (visit.h), what it wants goes out through it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/event.h"
#include "model/definition.h"
#include "model/instance.h"

namespace millrace {

class Visit;
class StateFields;

/// Out by that way: its transform, then its transition.
struct Leave {
  size_t exit = 0;
};
/// Stay, until one of the listeners or timers that the visit was given brings something.
struct Wait {};
/// An error of the workflow, for `catch`.
struct Raise {
  Error error;
};
/// The instance ends, cancelled: neither `catch` nor a retry policy is asked.
struct GiveUp {
  Error error;
};
/// An evaluation is under way; the same call is made again once its result is there.
struct Park {};

using Outcome = std::variant<Leave, Wait, Raise, GiveUp, Park>;

/// Names of services, as functions give them.
using ServiceNames = std::set<std::string, std::less<>>;

/// What an instance may wait for in a state. The state's behaviour relies on it, so an instance
/// that comes from outside the engine is held against it (orchestrator/engine/fit.h).
struct Waits {
  size_t events = 0;          ///< how many entries its listeners may have
  bool keeps_events = false;  ///< it has a slot for each of them
  bool delay = false;
  size_t least_calls = 0;  ///< where it has calls at all
  size_t most_calls = 0;
};

class State {
 public:
  explicit State(StateCommon common) : common_(std::move(common)) {}
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const StateCommon& common() const { return common_; }

  /// The instance comes in. After a Park it is called again from its beginning: it evaluates
  /// first, and acts (listens, publishes, changes data) only when all its values are there.
  virtual Outcome enter(Visit& visit) const = 0;

  /// An event that `entries` (ascending, at least one) of the visit's listeners match.
  virtual Outcome take(Visit& visit, const Event& event, std::span<const size_t> entries) const;

  /// The call of that index has ended; it is one of those that the visit made. If it failed, its
  /// next attempt is not due before `retry_from`.
  virtual Outcome returned(Visit& visit, size_t index, CallResult result,
                           TimePoint retry_from) const;

  /// Somebody has begun with the call. Whether that changed anything.
  virtual bool begun(Visit& visit, size_t index) const;

  /// Whoever works on the call has been silent for longer than he may.
  virtual Outcome silent(Visit& visit, size_t index) const;

  /// Timeouts of some calls have passed: those up to `until`, which is not after now.
  virtual Outcome overdue(Visit& visit, TimePoint until) const;

  /// The next attempt of some calls is due, and no timeout of theirs has passed.
  virtual Outcome attempts_due(Visit& visit) const;

  /// What an instance may wait for in it.
  virtual Waits waits() const { return {}; }

  /// The types of the events that it may listen for.
  virtual std::vector<std::string> awaited_types() const { return {}; }

  /// The services that its actions call, by name; a name may be there more than once.
  virtual std::vector<std::string> services() const { return {}; }

  /// It goes on after a pause: the timeouts of its calls count anew.
  virtual Outcome resumed(Visit& visit) const;

  /// Services that were paused go on, those of these names, or, with null, all: of calls of theirs
  /// that no worker has begun, the timeouts that were held count anew. Returns whether there were
  /// any.
  virtual bool services_resumed(Visit& visit, const ServiceNames* names) const;

  /// The delay that the visit armed is over.
  virtual Outcome elapsed(Visit& visit) const;

 private:
  StateCommon common_;
};

/// The entry of `catch` that takes an error of that code: the first that matches; null: none does.
const Catch* find_catch(const StateCommon& common, std::string_view code);

/// What the loader knows of a type: how it is called in a definition and how its fields are read.
/// Which fields it has is in language/grammar.h.
struct StateType {
  std::string_view name;

  /// Reads the type's own fields. Findings go where `fields` reports them; the state that is
  /// returned then is never used.
  std::unique_ptr<const State> (*load)(StateFields& fields, StateCommon common);
};

/// The type of that name (other accepted spellings included), or null.
const StateType* find_state_type(std::string_view name);

/// All types, for "did you mean".
std::span<const StateType* const> state_types();

}  // namespace millrace
