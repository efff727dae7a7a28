// Instance: one execution of a workflow, as a value. The engine changes the value. Between two
// batches an instance exists only as rows of the store (docs/FORMATS.md).
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
#include "model/consumed_events.h"
#include "model/cursor.h"
#include "model/sealing.h"
#include "policies/duration.h"
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
/// Reads the name of a status; nullopt if no status has that name.
std::optional<InstanceStatus> parse_status(std::string_view text);

inline bool has_ended(InstanceStatus status) { return status >= InstanceStatus::kComplete; }

/// Where an instance is within its current state. All phases except kWaiting and kEnded are
/// transient: an instance found in one of them after a restart is continued, and an evaluation that
/// was running is repeated. While an instance is entering a state with many calls, it may have some
/// of them already (makes_calls), and likewise early events (takes_early_events).
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
  kQueue = 8,         ///< `concurrency.timeout`: the end of the wait for a slot
  kThrottle = 9,      ///< `throttle.timeout`: the end of the wait for a permitted start
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
/// to the filter.
struct Listener {
  uint32_t entry = 0;
  EventFilter filter;

  bool operator==(const Listener&) const = default;
};

/// The result of a call: a value, or an error that is raised in the caller.
using CallResult = tl::expected<LazyJson, Error>;

/// Why and when the latest failed attempt of a call failed.
struct CallFailure {
  Error error;  ///< its message is cut to kMostCallFailureBytes
  TimePoint at;

  bool operator==(const CallFailure&) const = default;
};

/// The length at which the message of a CallFailure is cut; the history has the complete message.
inline constexpr size_t kMostCallFailureBytes = 1'024;

/// What the service of a call has said by a heartbeat about how far it is.
struct CallProgress {
  std::string json;  ///< JSON in ASCII, kMostProgressBytes at most, as a header may have it
  TimePoint at;      ///< when millrace got it

  bool operator==(const CallProgress&) const = default;
};

/// The most bytes of the progress in a heartbeat.
inline constexpr size_t kMostProgressBytes = size_t{4} << 10;

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
  bool started = false;               ///< if kRunning: whether the work of the attempt has started
  std::optional<TimePoint> first_at;  ///< when the first attempt was handed out
  std::optional<TimePoint> retry_at;  ///< set only if kBetween
  /// The deadlines of the timeouts that are counting, by TimeoutKind. The deadline of the heartbeat
  /// timeout is not stored; it is in memory only.
  std::array<std::optional<TimePoint>, kTimeoutKinds> deadlines;
  LazyJson input;   ///< null once no further attempt can need the input
  LazyJson result;  ///< set only if kDone
  Sealing sealed;   ///< whether the input may contain data of a secret
  /// The failure of the latest failed attempt; nullopt: no attempt has failed, or the call has
  /// succeeded.
  std::optional<CallFailure> last_error;
  /// The newest progress that a heartbeat of any attempt had, for the next attempt; nullopt: none
  /// had one, or the call has succeeded.
  std::optional<CallProgress> progress;
};

/// Whether the call has a result or has failed for good.
inline bool has_ended(const Call& call) {
  return call.status == Call::Status::kDone || call.status == Call::Status::kFailed;
}

/// A call that undoes what a state of the instance has done. It is noted when the state has
/// succeeded, and made if the instance does not complete (docs/language.md).
struct Compensation {
  size_t state = 0;  ///< the index of that state, whose `compensate` has the function
  LazyJson input;    ///< the input of the call, as it was evaluated when the state had succeeded
  /// It undoes one call of a state with several calls: `input` is {"return": its result}, over
  /// which the input is evaluated when the compensation is made.
  bool of_call = false;
};

/// The most compensations that an instance may have noted; a state that would note another one
/// raises millrace.limits.compensations.
inline constexpr uint32_t kMostCompensations = 1'000;

/// How an instance ends that makes its compensations before.
struct PendingEnd {
  InstanceStatus status{};  ///< an ended status other than kComplete
  size_t state = 0;         ///< the index of the state in which it ends

  bool operator==(const PendingEnd&) const = default;
};

/// The attempt of a call for which a subflow or a task runs.
struct Caller {
  InstanceId instance;
  uint64_t entered = 0;  ///< Instance::entered of the caller; if that has changed, the call is over
  uint32_t index = 0;    ///< index of the call
  uint32_t attempt = 0;  ///< number of the attempt

  bool operator==(const Caller&) const = default;
};

/// The most calls of one state. The limit exists because the rows of all calls are read whenever
/// one call ends.
inline constexpr size_t kMostCalls = 10'000;

/// The most bytes of the results of the calls of one state together. They become one value of the
/// data.
inline constexpr size_t kMostResultBytes = size_t{16} << 20;

/// How deep subflows may be nested; a deeper call raises direktiv.limits.depth.
inline constexpr uint32_t kMaxDepth = 20;

/// The last event or command that had an effect on an instance, seen from the events: the instance
/// listens to later events only.
struct ListenFrom {
  uint64_t kept = 0;    ///< the number of the newest kept event at that time
  EventPosition event;  ///< the newest applied event at that time

  bool operator==(const ListenFrom&) const = default;
};

/// The place of a live instance in the flow control of its workflow (`concurrency`): it holds a
/// slot of its key, or waits for one. A paused instance has its place, too.
struct Slot {
  std::string key;        ///< the value of `concurrency.key` as JSON text; empty: there is no key
  int32_t priority = 0;   ///< a higher one gets a slot first
  uint64_t number = 0;    ///< of its row; the order of the starts that wait, or of those that hold
  bool is_queued = true;  ///< it waits for the slot

  bool operator==(const Slot&) const = default;
};

/// The longest `Slot::key` and `Throttled::key` in bytes.
inline constexpr size_t kMostSlotKeyBytes = 512;

/// What the `throttle` of its workflow has to decide about an instance: it waits until its start is
/// permitted, or will ask for that when it has the slot for which it waits.
struct Throttled {
  std::string key;       ///< the value of `throttle.key` as JSON text; empty: there is no key
  int32_t priority = 0;  ///< a higher one starts first
  uint64_t number = 0;   ///< of its row, the order of the starts that wait; 0: it waits for a slot

  bool operator==(const Throttled&) const = default;
};

/// The number of parts of an instance, each of which has rows of its own (Part in head_rows.h).
inline constexpr size_t kPartCount = 9;

struct Instance {
  InstanceId id;
  NamespaceNumber ns{};
  Revision revision;

  InstanceStatus status = InstanceStatus::kPending;
  Phase phase = Phase::kEntering;
  size_t state = 0;
  size_t exit = 0;       ///< index of the exit (StateCommon::is_way_out), while kLeaving
  uint64_t step = 0;     ///< grows with each change of phase; an input with an older step is stale
  uint64_t entered = 0;  ///< the step in which this attempt of the state was entered
  uint32_t attempt = 1;  ///< number of the attempt of the state; its `retries` make another
  uint32_t run =
      1;  ///< number of the run; the workflow's `retries` and `continueAsNew` make another
  uint32_t first_run = 1;   ///< the run from which the workflow's `retries` count
  bool awaits_run = false;  ///< the last run failed; the next one is due at the kRetry timer
  bool failing = false;     ///< the instance will end as failed: it has gone to `on_failure`
  bool paused = false;      ///< the instance accepts events and results, and starts nothing new
  bool cancelling = false;  ///< the instance ends as cancelled once its running tasks have ended
  bool retried = false;     ///< an operator retried the current state: each attempt of a call has a
                            ///< schedule_to_close timeout of its own
  /// The number of transitions since the count began, which is limited (EngineLimits in engine.h);
  /// 0: the instance is in the first state of its run.
  uint32_t transitions = 0;
  /// This run has raised millrace.quota.historyBytes or millrace.quota.storeBytes because of the
  /// bytes that the instance, or its namespace, had when it left a state.
  bool over_bytes = false;
  bool parked = false;  ///< an evaluation, or a search, for this `step` is running
  /// An Error state with `compensate` has set the error: the compensations are made before the end.
  bool compensates = false;

  TimePoint started_at;
  std::optional<TimePoint> ended_at;
  TimePoint execution_from;  ///< the time from which the execution timeout counts
  TimePoint runs_from;       ///< when `first_run` was scheduled
  TimePoint state_from;      ///< when the first attempt of the current state was scheduled
  /// The hops (hops.h) of the event that started or last woke the instance, or of the caller that
  /// started it; 0 after a long wait.
  uint32_t hops = 0;
  /// Only kept events after this position are offered to the instance.
  ListenFrom listen_from;
  /// The events that the instance has taken; empty if its workflow has no state with `lookback`.
  ConsumedEvents consumed;
  uint64_t history_count = 0;  ///< number of records so far, and number of the next record
  /// The first records of the history that were erased, because the history is trimmed.
  uint64_t history_trimmed = 0;
  uint64_t history_bytes = 0;  ///< the size of the kept history rows, not sealed
  /// Number of the newest history row; each history row names the row before it. 0: there is no
  /// row.
  uint64_t last_history = 0;

  std::vector<Listener> listeners;
  std::vector<Timer> timers;
  /// The timers that do not count while the instance is paused.
  std::vector<Timer> held_timers;
  /// The calls of the state, by the index of their action.
  std::vector<Call> calls;
  /// The data as it was when the state was entered; set only while the instance leaves a state that
  /// has changed the data.
  std::optional<LazyJson> found_data;
  /// The values that a state has collected, by numbers that the state assigns (eventAnd: the
  /// payloads of the events that have arrived).
  std::vector<std::optional<LazyJson>> slots;
  /// The timeout of the state, if the data has decided it (StateCommon::evaluated_timeout): as long
  /// again after a pause. Its text is not stored. nullopt: the timeout is a constant or a time, or
  /// there is none.
  std::optional<Span> state_timeout;

  /// The error that the instance will end with: an uncaught error, or the error of the first Error
  /// state that it entered.
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
  /// The number of noted compensations that have not been made. The newest one is made first. Their
  /// rows are read only when they are made (Lookup::compensation).
  uint32_t compensations = 0;
  /// Those of them that have no row yet, in order: the newest ones.
  std::vector<Compensation> new_compensations;
  /// Set while the instance makes its compensations: its calls are those of the newest one, and
  /// `state` is the state that this one undoes.
  std::optional<PendingEnd> compensating;
  /// Why the newest compensation has failed for good, which has ended the instance; nullopt: none
  /// has failed.
  std::optional<Error> compensation_error;
  /// nullopt: the workflow had no `concurrency` when the instance started, or the instance has
  /// ended.
  std::optional<Slot> slot;
  /// nullopt: the workflow had no `throttle` when the instance started, or the throttle has let it
  /// start, or the instance has ended.
  std::optional<Throttled> throttled;
  /// The call that waits for this instance to end; nullopt: no call waits.
  std::optional<Caller> caller;
  uint32_t depth = 0;           ///< number of callers above this instance
  std::string idempotency_key;  ///< given by the API call that started the instance; empty: no key
  /// The retries and timeouts (own_policy.h) that the API call which started the instance set
  /// instead of those of the workflow; empty: the API call set none.
  std::string own_policy;
  std::string traceparent;  ///< of the event that started the instance (W3C Trace Context)
  /// The `correlationid` of the event that started the instance; empty: the event had none.
  std::string correlation;

  LazyJson input;
  LazyJson data;
  /// The context attributes of the event that started the instance, as an object; of an `eventsAnd`
  /// start an array of them, in the order of its entries. Null: no event started the instance, or
  /// no jq program of its definition names `$instance`.
  LazyJson start_event;

  /// Whether the instance may contain data of a secret: then its rows are sealed, and the API masks
  /// or hides its data.
  Sealing sealed;

  /// The sizes of the instance's rows in bytes, not sealed, as they were last read or written. By
  /// Part; the rows of all calls are added up.
  std::array<uint64_t, kPartCount> part_bytes{};

  /// The bytes of the results that the calls have, if `entered` is that of the instance; not
  /// stored.
  struct ResultBytes {
    std::optional<uint64_t> entered;
    uint64_t bytes = 0;
  };
  ResultBytes result_bytes;
};

/// Whether the instance waits for a slot of its workflow.
inline bool is_queued(const Instance& instance) {
  return instance.slot && instance.slot->is_queued;
}

/// Whether the instance waits until the throttle of its workflow permits its start.
inline bool is_throttled(const Instance& instance) {
  return instance.throttled && instance.throttled->number > 0;
}

/// Whether the instance waits for one of both before its first run. Nothing but its admission, a
/// pause, a cancel and the end of that wait changes it.
inline bool waits_to_start(const Instance& instance) {
  return is_queued(instance) || is_throttled(instance);
}

/// Whether the instance has some of the calls of its state, and makes the others in later steps. It
/// takes results of the calls that it has.
inline bool makes_calls(const Instance& instance) {
  return instance.phase == Phase::kEntering && !instance.calls.empty();
}

/// Whether the instance has taken some early events of its state (`lookback`), and later steps
/// offer it the others. It listens for them, and takes no later event before.
inline bool takes_early_events(const Instance& instance) {
  return instance.phase == Phase::kEntering && !instance.listeners.empty();
}

/// Whether the instance takes results of calls.
inline bool waits_for_calls(const Instance& instance) {
  return !instance.calls.empty() &&
         (instance.phase == Phase::kWaiting || instance.phase == Phase::kEntering);
}

/// Notes a compensation, which becomes the newest one. Precondition: the instance has noted fewer
/// than kMostCompensations.
void note_compensation(Instance& instance, Compensation compensation);
/// Removes the newest compensation: it was made, or an operator has passed over it. Precondition:
/// the instance has one.
void remove_compensation(Instance& instance);
/// Removes all compensations and the error of one that has failed.
void remove_compensations(Instance& instance);

/// The status of an instance that waits and is not paused: kRunning while it makes its
/// compensations, else kWaiting.
inline InstanceStatus status_of_wait(const Instance& instance) {
  return instance.compensating ? InstanceStatus::kRunning : InstanceStatus::kWaiting;
}

/// The number by which the result of an evaluation of the instance is recognized: its step, and the
/// number of calls that it had made or of the early events that it still waits for.
inline uint64_t evaluation_of(const Instance& instance) {
  constexpr int kStepBits = 40;
  size_t part = 0;
  if (makes_calls(instance)) part = instance.calls.size();
  if (takes_early_events(instance)) part = instance.listeners.size();
  return instance.step | uint64_t{part} << kStepBits;
}

/// Whether `instance` waits for the attempt that `call` names.
bool waits_for(const Instance& instance, const Caller& call);

/// When the current attempt of `call` is given up at the latest; nullopt: no limit. Timeouts that
/// count from the start of the attempt are not included. While the instance is paused only the
/// workflow's kill, run and execution timeouts count.
std::optional<TimePoint> latest_end(const Instance& instance, const Call& call);

}  // namespace millrace
