// After a timer: what follows when a timer of an instance fires, as far as the definition and the
// head of the instance decide it. It follows the rules of timeouts.cc, errors.cc and runs.cc, and
// changes nothing. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/instance.h"
#include "policies/retry_policy.h"
#include "states/workflow.h"

namespace millrace {

/// What the consequence of a timer depends on, besides the definition: fields of the head of an
/// instance.
struct TimedInstance {
  explicit TimedInstance(const Instance& instance);

  InstanceId id;
  size_t state = 0;
  uint32_t attempt = 1;      ///< of the state
  uint32_t run_attempt = 1;  ///< the number of the run, as the workflow's `retries` count it
  TimePoint state_from;
  TimePoint runs_from;
  bool awaits_run = false;
  bool has_calls = false;
  bool failing = false;
  bool cancelling = false;
  bool compensating = false;
  bool has_compensations = false;    ///< it has noted some that have not been made
  bool compensates = false;          ///< any end but complete makes them
  std::optional<size_t> exit;        ///< by which it leaves its state
  std::optional<std::string> error;  ///< the code of the error with which it will end
  std::string failed_state;          ///< Instance::failed_state, if `error` is set
  std::string own_policy;
  /// The first deadline of the timeouts of the run and of the execution, and that of the execution.
  std::optional<TimePoint> ends_at;
  std::optional<TimePoint> execution_ends_at;

  /// It leaves its state by an entry of `catch`: then no error of the state is caught or retried.
  bool leaves_by_catch(const StateCommon& common) const {
    return exit && *exit >= common.exits.size();
  }
};

/// What follows when a timer fires at its time, if nothing else happens to the instance before, and
/// if no evaluation and no quota raises another error.
struct AfterTimer {
  enum class Causes : uint8_t {
    kState,    ///< the instance goes to the state `then`
    kAttempt,  ///< another attempt of the state `then`: now, or after `error` as a policy says
    kRun,      ///< another run: now, or after `error` as a policy says
    kEnd,      ///< the instance ends with `status`
    kCall,     ///< the next attempt of a call begins, or a call times out
    kDepends,  ///< the data decides, or another timeout that comes first
  };
  Causes causes = Causes::kDepends;
  /// The id of the state in which the instance continues; empty: in none, or it is not known,
  /// because the next run has the newest revision.
  std::string then;
  /// The code of the error that the timer raises, or with which the instance ends; empty: none.
  std::string error;
  InstanceStatus status = InstanceStatus::kComplete;  ///< of kEnd
  bool compensates = false;  ///< of kEnd: it makes its compensations before it ends

  bool operator==(const AfterTimer&) const = default;
};

/// The name of what a timer causes in the API: "state", "attempt", "run", "end", "call", "depends".
std::string_view to_string(AfterTimer::Causes causes);

/// What follows when that timer of the instance fires.
AfterTimer after_timer(const Timer& timer, const TimedInstance& instance, const Workflow& workflow);

/// Whether another attempt of a call follows if its current one ends at `now` with an error of that
/// code. `caller`: the instance that made the call, with this one of its calls. `otherwise`: the
/// policy of calls that have none (settings of the namespace); null: there is none. nullopt: the
/// data decides. Precondition: waits_for() is true for the call.
std::optional<bool> retries_call(const Workflow& workflow, const Instance& caller, size_t index,
                                 std::string_view code, TimePoint now,
                                 const RetryPolicy* otherwise);

}  // namespace millrace
