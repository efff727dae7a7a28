// Instance: one execution of a workflow, as a value. The engine changes it. Between two inputs it
// exists only as rows of the store (docs/FORMATS.md).
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

/// Numbers of namespaces and workflows, which keep keys short. A number is assigned once and never
/// reused.
enum class NamespaceNumber : uint32_t {};
enum class WorkflowNumber : uint32_t {};

/// The revision of a definition that an instance runs from its start to its end.
struct Revision {
  WorkflowNumber workflow{};
  uint32_t number = 0;  ///< counted from 1

  auto operator<=>(const Revision&) const = default;
};

/// The status of an instance, as the API shows it.
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

/// The name of the status in the API: "pending", "running", …
std::string_view to_string(InstanceStatus status);
/// Reads the name of a status; nullopt: there is no such status.
std::optional<InstanceStatus> parse_status(std::string_view text);

inline bool has_ended(InstanceStatus status) { return status >= InstanceStatus::kComplete; }

/// The position of an instance within its state. All phases except kWaiting and kEnded are
/// transient: an instance found in one of them after a restart is continued, and an evaluation that
/// was running is repeated.
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
  kDelay = 1,         ///< the end of the wait of a delay state
  kRetry = 2,         ///< the next attempt of the state, or the next run of the workflow
  kInterrupt = 3,     ///< the workflow's `timeouts.interrupt`
  kKill = 4,          ///< the workflow's `timeouts.kill`
  kRun = 5,           ///< the workflow's run timeout
  kExecution = 6,     ///< the workflow's execution timeout, which spans all runs
  kCalls = 7,         ///< the next attempt of a call or a timeout of a call, whichever is first
};

/// Whether the timer belongs to the state, and is removed when the instance leaves the state.
inline bool is_of_state(TimerKind kind) {
  return kind < TimerKind::kInterrupt || kind == TimerKind::kCalls;
}

/// A timer of an instance; it is due when `deadline` <= now.
struct Timer {
  TimerKind kind{};
  TimePoint deadline;

  bool operator==(const Timer&) const = default;
};

/// An event filter that a waiting instance listens with; `entry` is the number that the state gave
/// to it.
struct Listener {
  uint32_t entry = 0;
  EventFilter filter;

  bool operator==(const Listener&) const = default;
};

/// The result of a call: a value, or an error that is raised in the caller.
using CallResult = tl::expected<LazyJson, Error>;

/// Why and when the last failed attempt of a call failed.
struct CallFailure {
  Error error;  ///< its message is cut to kMostCallFailureBytes
  TimePoint at;

  bool operator==(const CallFailure&) const = default;
};

/// The length at which the message of a CallFailure is cut; the history has the complete message.
inline constexpr size_t kMostCallFailureBytes = 1'024;

/// The call of one action of a state. It exists from when the state is entered until the state is
/// left (docs/FORMATS.md).
struct Call {
  // On disk: never renumber.
  enum class Status : uint8_t {
    kQueued = 0,   ///< waits until other calls end (`concurrency`)
    kRunning = 1,  ///< its child instance or its task has not ended
    kBetween = 2,  ///< the last attempt failed; the next attempt is due at `retry_at`
    kDone = 3,
    kFailed = 4,
  };
  Status status = Status::kQueued;
  uint32_t attempt = 0;               ///< number of the last attempt, counted from 1
  InstanceId id;                      ///< id of the child or task of the last attempt
  bool outside = false;               ///< the call is a task, not a child instance
  bool started = false;               ///< kRunning: a worker or runner started the attempt
  std::optional<TimePoint> first_at;  ///< when the first attempt was handed out
  std::optional<TimePoint> retry_at;  ///< kBetween
  /// The deadlines of the timeouts that are counting, by TimeoutKind. The deadline of the heartbeat
  /// timeout is not stored; it is in memory only.
  std::array<std::optional<TimePoint>, kTimeoutKinds> deadlines;
  LazyJson input;       ///< null once no attempt can need it
  LazyJson result;      ///< kDone
  bool sealed = false;  ///< the input may contain data of a secret
  /// The failure of the previous attempt, until the call succeeds; nullopt: no attempt has failed.
  std::optional<CallFailure> last_error;
};

/// The attempt of a call that an instance or a task runs for.
struct Caller {
  InstanceId instance;
  uint64_t entered = 0;  ///< Instance::entered of the caller; if it differs, nothing waits
  uint32_t index = 0;    ///< index of the call
  uint32_t attempt = 0;  ///< attempt of the call

  bool operator==(const Caller&) const = default;
};

/// The most calls of one state. The limit exists because all their rows are read whenever one of
/// the calls ends.
inline constexpr size_t kMostCalls = 10'000;

/// How deep subflows may be nested; a deeper call raises direktiv.limits.depth.
inline constexpr uint32_t kMaxDepth = 20;

struct Instance {
  InstanceId id;
  NamespaceNumber ns{};
  Revision revision;

  InstanceStatus status = InstanceStatus::kPending;
  Phase phase = Phase::kEntering;
  size_t state = 0;
  size_t exit = 0;       ///< index of the exit, while kLeaving
  uint64_t step = 0;     ///< grows with each change of phase; an input with an older step is stale
  uint64_t entered = 0;  ///< the step in which this attempt of the state was entered
  uint32_t attempt = 1;  ///< of the state; its `retries` enter the state again
  uint32_t run = 1;      ///< number of the run; the workflow's `retries` begin another
  uint32_t first_run = 1;    ///< the run from which the workflow's `retries` count
  bool awaits_run = false;   ///< the last run failed; the next one is due at the kRetry timer
  bool failing = false;      ///< it will end as failed: it is in `on_failure` or after it
  bool paused = false;       ///< it accepts events and results, and starts nothing new
  bool cancelling = false;   ///< it ends as cancelled once its running tasks have ended
  bool retried = false;      ///< an operator retried its state: each attempt has its own
                             ///< schedule_to_close
  uint32_t transitions = 0;  ///< of this run, for the limit on them
  bool parked = false;       ///< an evaluation is running for (id, step)

  TimePoint started_at;
  std::optional<TimePoint> ended_at;
  TimePoint execution_from;    ///< the time from which the execution timeout counts
  TimePoint runs_from;         ///< when `first_run` was scheduled
  TimePoint state_from;        ///< when the first attempt of its state was scheduled
  uint32_t hops = 0;           ///< of the event that last moved it (hops.h)
  uint64_t listen_from = 0;    ///< position of the last event or command that moved it
  uint64_t history_count = 0;  ///< number of records so far, and number of the next record
  uint64_t last_history = 0;   ///< the newest history row; each names the one before; 0: none

  std::vector<Listener> listeners;
  std::vector<Timer> timers;
  /// The timers that do not count while the instance is paused.
  std::vector<Timer> held_timers;
  /// The calls of the state, by the index of their action.
  std::vector<Call> calls;
  /// The data as it was when the state was entered, while the state leaves and has changed it.
  std::optional<LazyJson> found_data;
  /// The values that a state has collected, by a numbering of the state (eventAnd: the payloads of
  /// the events that have arrived).
  std::vector<std::optional<LazyJson>> slots;

  /// The error that the instance will end with: an uncaught error, or that of the first Error
  /// state.
  std::optional<Error> error;
  /// The id of the state that caused the failure: it raised the uncaught error, or the error that
  /// led to the Error state. A manual retry enters this state again. Empty: nothing has failed.
  std::string failed_state;
  /// The data at the entry of `failed_state`; nullopt: nothing has failed, or an older release did
  /// not store it.
  std::optional<LazyJson> failed_data;
  /// The number of attempts that `failed_state` had made; 0: nothing has failed, or an older
  /// release did not store it.
  uint32_t failed_attempt = 0;
  std::optional<Caller> caller;  ///< the call that waits for its end; nullopt: none
  uint32_t depth = 0;            ///< number of callers above it
  std::string idempotency_key;   ///< of the API call that started it; empty: none
  std::string own_policy;        ///< of the API call that started it (own_policy.h); empty: none
  std::string traceparent;       ///< of the event that started it (W3C Trace Context)
  std::string correlation;       ///< the `correlationid` of that event; empty: none

  LazyJson input;
  LazyJson data;

  /// The instance may contain data of a secret: its rows are sealed, and the API does not show it.
  bool sealed = false;
};

/// Whether the instance waits for that attempt of that call.
bool waits_for(const Instance& instance, const Caller& call);

/// The latest time at which the current attempt of a call is given up, without the timeouts that
/// count from the start of the attempt; nullopt: no limit. While the instance is paused only the
/// workflow's kill, run and execution timeouts count.
std::optional<TimePoint> latest_end(const Instance& instance, const Call& call);

}  // namespace millrace
