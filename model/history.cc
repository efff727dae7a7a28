#include "model/history.h"

namespace millrace {

std::string_view to_string(HistoryKind kind) {
  switch (kind) {
    case HistoryKind::kStarted:
      return "started";
    case HistoryKind::kEntered:
      return "entered";
    case HistoryKind::kWoken:
      return "woken";
    case HistoryKind::kElapsed:
      return "elapsed";
    case HistoryKind::kPublished:
      return "published";
    case HistoryKind::kLog:
      return "log";
    case HistoryKind::kRaised:
      return "raised";
    case HistoryKind::kCaught:
      return "caught";
    case HistoryKind::kFixed:
      return "fixed";
    case HistoryKind::kCancelled:
      return "cancelled";
    case HistoryKind::kEnded:
      return "ended";
    case HistoryKind::kCalled:
      return "called";
    case HistoryKind::kReturned:
      return "returned";
    case HistoryKind::kRetrying:
      return "retrying";
    case HistoryKind::kTimedOut:
      return "timedout";
    case HistoryKind::kSkipped:
      return "skipped";
    case HistoryKind::kRun:
      return "run";
    case HistoryKind::kOutput:
      return "output";
    case HistoryKind::kPaused:
      return "paused";
    case HistoryKind::kResumed:
      return "resumed";
    case HistoryKind::kRevived:
      return "revived";
    case HistoryKind::kContinued:
      return "continued";
    case HistoryKind::kNoted:
      return "noted";
    case HistoryKind::kCompensating:
      return "compensating";
    case HistoryKind::kUndoing:
      return "undoing";
    case HistoryKind::kUndone:
      return "undone";
    case HistoryKind::kCompensationStopped:
      return "compensationStopped";
    case HistoryKind::kQueued:
      return "queued";
    case HistoryKind::kAdmitted:
      return "admitted";
    case HistoryKind::kThrottled:
      return "throttled";
    case HistoryKind::kReleased:
      return "released";
  }
  return "unknown";
}

std::vector<std::string_view> history_kind_names() {
  std::vector<std::string_view> names;
  for (uint8_t kind = 0; kind <= static_cast<uint8_t>(kLastHistoryKind); ++kind) {
    names.push_back(to_string(static_cast<HistoryKind>(kind)));
  }
  return names;
}

std::optional<HistoryKind> parse_history_kind(std::string_view text) {
  for (uint8_t kind = 0; kind <= static_cast<uint8_t>(kLastHistoryKind); ++kind) {
    if (to_string(static_cast<HistoryKind>(kind)) == text) return static_cast<HistoryKind>(kind);
  }
  return std::nullopt;
}

}  // namespace millrace
