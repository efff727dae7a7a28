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

enum class HistoryKind : uint8_t {
  kStarted,    ///< {"by":"event"|"call"|"schedule"|"subflow", "revision":n}, for an event
               ///< {"event":{type,source,id}}, for a schedule {"tick":time} or {"triggered":true},
               ///< for a subflow {"parent": the instance that started it}
  kEntered,    ///< a state; `data` where the state waited or acted
  kWoken,      ///< by an event: {"type","source","id"}
  kElapsed,    ///< a delay is over
  kPublished,  ///< a generated event: {"type","id"} and, if delayed, {"at"}
  kLog,        ///< what `log` yielded: {"value"}
  kRaised,     ///< an error: {"code","msg"}
  kCaught,     ///< by a `catch`: {"error": its pattern}
  kFixed,      ///< an Error state fixed the error that the instance ends with: {"code","msg"}
  kCancelled,  ///< {"code","msg"}
  kEnded,      ///< {"status"}
  kCalled,     ///< {"function","workflow","instance","index","attempt"}; outside the process
               ///< {"function","task","index","attempt"}
  kReturned,  ///< a call: {"instance" or "task","index","attempt"}, and if it failed {"code","msg"}
  kRetrying,  ///< {"attempt": the next, "at"} and, of a call, {"index"}; of all, {"run", "at"}
  kTimedOut,  ///< a call: {"index","attempt","code"}
  kSkipped,   ///< a call that may not be attempted at all: {"index"}
  kRun,       ///< another run begins: {"run"}
  kOutput,    ///< of a container: {"index","text"}
  kPaused,    ///< by an operator
  kResumed,   ///< the same
  kRevived,   ///< it had ended and goes on: {"how":"retry"|"restart"|"rerun"}
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
