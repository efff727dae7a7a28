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
  }
  return "unknown";
}

}  // namespace millrace
