// History: the records of what happened to an instance, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/lazy_json.h"
#include "base/time.h"
#include "model/cursor.h"

namespace millrace {

// On disk: never renumber.
enum class HistoryKind : uint8_t {
  kStarted = 0,    ///< the instance started: {"by":"event"|"call"|"schedule"|"subflow",
                   ///< "revision":n}; by an event also {"event":{type,source,id}}, by a schedule
                   ///< {"tick":time} or {"triggered":true}, by a subflow call {"parent": the
                   ///< instance that started it}
  kEntered = 1,    ///< a state was entered; with `data` if the state began to wait or had effects
  kWoken = 2,      ///< an event woke the instance: {"type","source","id"}
  kElapsed = 3,    ///< the wait of a delay state has passed
  kPublished = 4,  ///< an event was generated: {"type","id"} and, if delayed, {"at"}; if
                   ///< it made too many hops, also {"deadLetter": a code}
  kLog = 5,        ///< the result of `log`: {"value"}
  kRaised = 6,     ///< an error was raised: {"code","msg"}
  kCaught = 7,     ///< a `catch` matched the error: {"error": the pattern of the `catch`}
  kFixed = 8,      ///< an Error state set the error that the instance ends with: {"code","msg"}
  kCancelled = 9,  ///< the instance was cancelled: {"code","msg"}
  kEnded = 10,     ///< the instance ended: {"status"}
  kCalled = 11,    ///< a subflow was called: {"function","workflow","instance","index","attempt"};
                   ///< or a task was started: {"function","task","index","attempt"}; detached calls
                   ///< have {"async":true} instead of {"index","attempt"}
  kReturned = 12,  ///< a call returned: {"instance" or "task","index","attempt"} and, if it
                   ///< failed, {"code","msg"}; if a callback or an operator has answered it, also
                   ///< {"by": to_string(AnsweredBy)}
  kRetrying = 13,  ///< the next attempt of a state or call is scheduled: {"attempt","at"}, of a
                   ///< call also {"index"}; or the next run of the workflow: {"run","at"}
  kTimedOut = 14,  ///< a call timed out: {"index","attempt","code"}
  kSkipped = 15,   ///< a call was skipped because its retry policy allows no attempt:
                   ///< {"function","index"}
  kRun = 16,       ///< another run began: {"run"}
  kOutput = 17,    ///< output of a container: {"index","text"}
  kPaused = 18,    ///< an operator paused the instance
  kResumed = 19,   ///< an operator resumed the instance
  kRevived = 20,   ///< an ended instance continues: {"how":"retry"|"restart"|"rerun"}
  kContinued = 21,  ///< a run ended by `continueAsNew`, and the next one began:
                    ///< {"run","revision"} of the run that ended, {"nextRevision"}
  kNoted = 22,      ///< the state has noted a compensation: {"function","number"}, counted from 1
  kCompensating = 23,         ///< the instance makes its compensations: {"left","status"}; if an
                              ///< operator asked for it, also {"by":"operator"} and, if the newest
                              ///< one is passed over, {"past": its number}
  kUndoing = 24,              ///< the newest compensation is made: {"function","number"}
  kUndone = 25,               ///< the newest compensation has succeeded: {"number"}
  kCompensationStopped = 26,  ///< no further compensation is made: {"left"}
  kQueued = 27,  ///< the start waits for a slot of its workflow: {"priority"} and, if the workflow
                 ///< has a key, {"key"}
  kAdmitted = 28,   ///< the start got its slot, and the first run begins unless kThrottled follows
  kThrottled = 29,  ///< the start waits for the throttle of its workflow: {"priority"} and, if the
                    ///< throttle has a key, {"key"}
  kReleased = 30,   ///< the throttle permits the start, and the first run begins
};

/// The kind with the highest number.
inline constexpr HistoryKind kLastHistoryKind = HistoryKind::kReleased;

/// The names of all kinds of records, in the order of their numbers.
std::vector<std::string_view> history_kind_names();

/// The name of the kind in the API: "started", "entered", …
std::string_view to_string(HistoryKind kind);
/// Reads the name of a kind; nullopt if no kind has that name.
std::optional<HistoryKind> parse_history_kind(std::string_view text);

struct HistoryRecord {
  TimePoint time;
  HistoryKind kind{};
  std::string state;  ///< id of the state that the instance was in
  LazyJson detail;    ///< the fields that HistoryKind lists; null if there are none
  std::optional<LazyJson> data;
  /// Of kEntered: the newest event that the instance cannot have waited for in this state
  /// (ListenFrom::event).
  EventPosition event;
};

}  // namespace millrace
