// Retention figures: when the passes of the retention are, and what the retention has deleted since
// the process started. Metrics collects them. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/time.h"
#include "orchestrator/batch/batch_counts.h"

namespace millrace {

/// What a pass of the retention deletes.
enum class PassKind : uint8_t { kInstances = 0, kDeadLetters = 1 };

/// The passes of the retention of instances, or of that of dead letters.
struct PassTimes {
  bool is_running = false;
  std::optional<TimePoint> last_end;  ///< nullopt: no pass has ended since the process started
  /// nullopt: a pass is running, no namespace has rules, or the broker is away.
  std::optional<TimePoint> next;
};

/// The retention of one namespace.
struct NamespaceRetention {
  RetentionCounts counts;
  uint64_t dead_letters = 0;               ///< deleted dead letters
  std::optional<TimePoint> next_due = {};  ///< see RetentionPassEnd::next_due
  /// Why the last page of the archive could not be written; nullopt: there is none, or it was
  /// written.
  std::optional<ArchiveFailure> archive_failure = {};
};

struct RetentionFigures {
  PassTimes instances;
  PassTimes dead_letters;
  /// The namespaces in which the retention has deleted anything, or knows when it will.
  std::map<std::string, NamespaceRetention> namespaces;
};

/// The time as a Unix time in seconds, as metrics have it; 0: there is none.
double unix_seconds(const std::optional<TimePoint>& time);

/// {"instances":{"running","lastPassEnded"?,"nextPass"?},"deadLetters":{the same},
/// "namespaces":[{"namespace","deletedInstances","archivedInstances","deletedBytes",
/// "deletedRecords","trimmedRecords","deletedDeadLetters","nextDeletion"?,
/// "archiveFailure"?:{"at","code","message"}}]}
Json to_json(const RetentionFigures& figures);

}  // namespace millrace
