// Instance: one run of a workflow, as a value. The engine changes it, the store keeps it; between
// two inputs it is nothing but its rows (docs/FORMATS.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "base/ids.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "matchers/event_filter.h"
#include "policies/timeout_policy.h"

namespace millrace {

/// Namespaces and workflows have numbers, given once and never again, so that keys stay short.
enum class NamespaceNumber : uint32_t {};
enum class WorkflowNumber : uint32_t {};

/// Which definition an instance runs on, to its end.
struct Revision {
  WorkflowNumber workflow{};
  uint32_t number = 0;  ///< counted from 1

  auto operator<=>(const Revision&) const = default;
};

/// What an instance shows of where it stands.
// On disk: never renumber.
enum class InstanceStatus : uint8_t {
  kPending = 0,
  kRunning = 1,
  kWaiting = 2,
  kPaused = 3,
  kComplete = 4,
  kFailed = 5,
  kCancelled = 6,
  kTimedOut = 7,
};

/// "pending", "running", …
std::string_view to_string(InstanceStatus status);
std::optional<InstanceStatus> parse_status(std::string_view text);

inline bool has_ended(InstanceStatus status) { return status >= InstanceStatus::kComplete; }

/// Where an instance stands within its state. All but kWaiting and kEnded are passing: an instance
/// found in them after a restart is continued (an evaluation that was under way is made again).
// On disk: never renumber.
enum class Phase : uint8_t {
  kEntering = 0,
  kWaiting = 1,
  kLeaving = 2,
  kEnded = 3,
};

// On disk: never renumber.
enum class TimerKind : uint8_t {
  kStateTimeout = 0,  ///< the state's `timeout`
  kDelay = 1,         ///< what a delay state waits for
  kRetry = 2,         ///< the next attempt of the state, or of all of it: the next run
  kInterrupt = 3,     ///< the workflow's `timeouts.interrupt`
  kKill = 4,          ///< the workflow's `timeouts.kill`
  kRun = 5,           ///< the workflow's run timeout
  kExecution = 6,     ///< the workflow's execution timeout, which goes on from run to run
  kCalls = 7,         ///< something of a call is due: its next attempt, or a timeout of it
};

/// Whether the timer is the state's, and goes when the instance leaves it.
inline bool is_of_state(TimerKind kind) {
  return kind < TimerKind::kInterrupt || kind == TimerKind::kCalls;
}

/// A deadline in an instance's row; it is due when `deadline` <= now.
struct Timer {
  TimerKind kind{};
  TimePoint deadline;

  bool operator==(const Timer&) const = default;
};

/// What a waiting instance listens for; `entry` is the state's own numbering of its events.
struct Listener {
  uint32_t entry = 0;
  EventFilter filter;

  bool operator==(const Listener&) const = default;
};

/// What came of a call: a value, or the error that the caller is to see as its own.
using CallResult = tl::expected<LazyJson, Error>;

/// Why the last attempt of a call that has failed did.
struct CallFailure {
  Error error;  ///< its message is cut to kMostCallFailureBytes
  TimePoint at;

  bool operator==(const CallFailure&) const = default;
};

/// The length at which the message of a CallFailure is cut: the history has the whole of it.
inline constexpr size_t kMostCallFailureBytes = 1'024;

/// One action of a state, from when the state was entered until it is left (docs/FORMATS.md).
struct Call {
  // On disk: never renumber.
  enum class Status : uint8_t {
    kQueued = 0,   ///< waits for others to end first (`concurrency`)
    kRunning = 1,  ///< its child has not ended, nor its task
    kBetween = 2,  ///< the last attempt failed, the next one is due at `retry_at`
    kDone = 3,
    kFailed = 4,
  };
  Status status = Status::kQueued;
  uint32_t attempt = 0;               ///< the last one, counted from 1
  InstanceId id;                      ///< of its last attempt: the child that runs it, or the task
  bool outside = false;               ///< it is a task: what runs it is no instance
  bool begun = false;                 ///< kRunning: somebody has begun with the attempt
  std::optional<TimePoint> first_at;  ///< when the first attempt was handed out
  std::optional<TimePoint> retry_at;  ///< kBetween
  /// What of its timeouts is counting, by their kind. A heartbeat's is not kept: memory has it.
  std::array<std::optional<TimePoint>, kTimeoutKinds> deadlines;
  LazyJson input;       ///< null once no attempt can need it any more
  LazyJson result;      ///< kDone
  bool sealed = false;  ///< there is something of a secret in its input
  /// Of the attempt before, until the call has succeeded; none: no attempt has failed.
  std::optional<CallFailure> last_error;
};

/// Whose call an instance is.
struct Caller {
  InstanceId instance;
  uint64_t entered = 0;  ///< Instance::entered of the caller: another one, and nobody waits
  uint32_t index = 0;    ///< of the call
  uint32_t attempt = 0;

  bool operator==(const Caller&) const = default;
};

/// So many calls may a state make: their rows are all read when one of them ends.
inline constexpr size_t kMostCalls = 10'000;

/// So deep may subflows be nested; a call beyond that raises direktiv.limits.depth.
inline constexpr uint32_t kMaxDepth = 20;

struct Instance {
  InstanceId id;
  NamespaceNumber space{};
  Revision revision;

  InstanceStatus status = InstanceStatus::kPending;
  Phase phase = Phase::kEntering;
  size_t state = 0;
  size_t exit = 0;          ///< which way out, while kLeaving
  uint64_t step = 0;        ///< moves with each change of phase; what carries an older one is stale
  uint64_t entered = 0;     ///< the step in which it came into its state, at this attempt
  uint32_t attempt = 1;     ///< of the state, where its `retries` have it entered again
  uint32_t run = 1;         ///< of the workflow, where its `retries` have it begin anew
  uint32_t first_run = 1;   ///< the run from which on the workflow's `retries` count
  bool awaits_run = false;  ///< the last run has failed, the next one is due at its kRetry
  bool failing = false;     ///< its end is settled: it is in `on_failure` or behind that
  bool paused = false;      ///< it takes what comes and does nothing new
  bool cancelling = false;  ///< it ends, cancelled, once the tasks that run have ended
  bool retried = false;     ///< by hand, in its state: schedule_to_close counts for each attempt
  uint32_t transitions = 0;  ///< of this run, for the bound on them
  bool parked = false;       ///< an evaluation is under way for (id, step)

  TimePoint started_at;
  std::optional<TimePoint> ended_at;
  TimePoint execution_from;    ///< from when its execution's deadline counts
  TimePoint runs_from;         ///< when `first_run` was scheduled
  TimePoint state_from;        ///< when the first attempt of its state was scheduled
  uint32_t hops = 0;           ///< of the event that last moved it (hops.h)
  uint64_t listen_from = 0;    ///< position of the last event or command that moved it
  uint64_t history_count = 0;  ///< records so far; the number of the next
  uint64_t last_history = 0;   ///< the newest history row, each names the one before; 0: none

  std::vector<Listener> listeners;
  std::vector<Timer> timers;
  /// Those that do not count while it is paused.
  std::vector<Timer> held_timers;
  /// The actions of the state, by their index.
  std::vector<Call> calls;
  /// The data as the state found it, while the state leaves and has changed it.
  std::optional<LazyJson> found_data;
  /// What a state has got so far, by its own numbering (eventAnd: the payloads that are in).
  std::vector<std::optional<LazyJson>> slots;

  /// The error that the instance will end with: raised and not caught, or the first Error state's.
  std::optional<Error> error;
  /// The state that the failure comes from: it raised the error that nothing caught, or the one
  /// that led to the Error state. A manual retry begins it again. Empty: nothing has failed.
  std::string failed_state;
  /// The data as `failed_state` found it; none: nothing has failed, or an older build did not keep
  /// it.
  std::optional<LazyJson> failed_data;
  /// How many attempts `failed_state` had made by then; 0: nothing has failed, or an older build
  /// did not note it.
  uint32_t failed_attempt = 0;
  std::optional<Caller> caller;  ///< who waits for its end; none: nobody does
  uint32_t depth = 0;            ///< how many callers there are above it
  std::string idempotency_key;   ///< of the call that started it; empty: none
  std::string own_policy;        ///< of the call that started it (own_policy.h); empty: none
  std::string traceparent;       ///< of the event that started it (W3C Trace Context)
  std::string correlation;       ///< its `correlationid`; empty: it had none

  LazyJson input;
  LazyJson data;

  /// There is something of a secret in it: its rows are sealed, and what they hold is told nobody.
  bool sealed = false;
};

/// Whether the instance waits for that attempt of that call.
bool waits_for(const Instance& instance, const Caller& call);

/// When the present attempt of a call is given up at the latest, but for the timeouts that begin
/// with it; none: nothing bounds it. While the instance is paused only what bounds the whole of it
/// counts.
std::optional<TimePoint> latest_end(const Instance& instance, const Call& call);

}  // namespace millrace
