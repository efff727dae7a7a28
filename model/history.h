// History: what is told of an instance, record by record, in the order in which it happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/lazy_json.h"
#include "base/time.h"

namespace millrace {

// On disk: never renumber.
enum class HistoryKind : uint8_t {
  kStarted = 0,    ///< {"by":"event"|"call"|"schedule"|"subflow", "revision":n}, for an event
                   ///< {"event":{type,source,id}}, for a schedule {"tick":time} or
                   ///< {"triggered":true}, for a subflow {"parent": the instance that started it}
  kEntered = 1,    ///< a state; `data` where the state waited or acted
  kWoken = 2,      ///< by an event: {"type","source","id"}
  kElapsed = 3,    ///< a delay is over
  kPublished = 4,  ///< a generated event: {"type","id"} and, if delayed, {"at"}
  kLog = 5,        ///< what `log` yielded: {"value"}
  kRaised = 6,     ///< an error: {"code","msg"}
  kCaught = 7,     ///< by a `catch`: {"error": its pattern}
  kFixed = 8,      ///< an Error state fixed the error that the instance ends with: {"code","msg"}
  kCancelled = 9,  ///< {"code","msg"}
  kEnded = 10,     ///< {"status"}
  kCalled = 11,    ///< {"function","workflow","instance","index","attempt"}; outside the process
                   ///< {"function","task","index","attempt"}
  kReturned = 12,  ///< a call: {"instance" or "task","index","attempt"}, and if it failed
                   ///< {"code","msg"}
  kRetrying = 13,  ///< {"attempt": the next, "at"} and, of a call, {"index"}; of all, {"run", "at"}
  kTimedOut = 14,  ///< a call: {"index","attempt","code"}
  kSkipped = 15,   ///< a call that may not be attempted at all: {"index"}
  kRun = 16,       ///< another run begins: {"run"}
  kOutput = 17,    ///< of a container: {"index","text"}
  kPaused = 18,    ///< by an operator
  kResumed = 19,   ///< the same
  kRevived = 20,   ///< it had ended and goes on: {"how":"retry"|"restart"|"rerun"}
};

/// "started", "entered", …
std::string_view to_string(HistoryKind kind);

struct HistoryRecord {
  TimePoint time;
  HistoryKind kind{};
  std::string state;  ///< id of the state it happened in
  LazyJson detail;    ///< see HistoryKind; null if there is none
  std::optional<LazyJson> data;
};

}  // namespace millrace
