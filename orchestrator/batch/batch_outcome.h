// BatchOutcome: the result of a batch, for use once it is on disk: the actions to perform after the
// commit, the counters, and the work left for later batches. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/cursor.h"
#include "model/effect.h"
#include "orchestrator/batch/batch_counts.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/outgoing/outbox.h"
#include "orchestrator/outgoing/watch_ring.h"
#include "orchestrator/ports/archiver.h"

namespace millrace {

/// The answer to a command.
struct Answer {
  uint64_t request = 0;
  Result<Json> result;
};
/// A task that ended without being stopped by the engine.
struct EndedTask {
  InstanceId task;
};
/// A task that has got the slot for which it waited.
struct AdmittedTask {
  InstanceId task;
};
/// A task that its service has accepted: it is answered by a callback.
struct AcceptedTask {
  InstanceId task;
};
/// The report of a task is on disk, or was ignored; `stored` lets the runner forget the report.
struct StoredReport {
  std::function<void()> stored;
};
struct InstanceEnd {
  InstanceId instance;
};
/// An instance that the batch has written or deleted, while changes are watched.
struct ShowChange {
  WatchRing* ring;
  WatchedChange change;
};

/// An action after the commit; a closed list (loop/after_commit.h): send a message that the batch
/// put into the outbox; hand out, stop or forget a task, or free what
/// an accepted task used; call `stored` of a report; run an
/// evaluation; search for early events; offer the early events that were too many for one step;
/// write a page of the archive; answer a command; announce the end of an instance; put a changed
/// instance into the watch ring; or continue an instance or a command that was too large for one
/// batch.
using AfterCommit =
    std::variant<NumberedMessage, StartTask, StopTask, EndedTask, AdmittedTask, AcceptedTask,
                 StoredReport, Evaluate, LookBack, EvaluatedInput, ArchivePage, Answer, InstanceEnd,
                 ShowChange, ContinueInput, CommandInput>;

/// When the retention has work.
struct RetentionPlan {
  bool has_steps = false;   ///< a pass has steps left, or it is not known whether there is work
  bool is_running = false;  ///< a pass is running; it may wait for the archive
  /// The engine time at which the next pass begins; it may have passed. nullopt: no namespace has
  /// rules or limits of histories, or a pass is running.
  std::optional<TimePoint> next_pass = std::nullopt;
};

/// The end of a pass of the retention.
struct RetentionPassEnd {
  TimePoint at;  ///< engine time
  /// By namespace: no instance that had ended when the pass looked at it, and that still exists, is
  /// due by its age before this time. A namespace has no entry if no such instance has a rule with
  /// an age.
  std::map<NamespaceNumber, TimePoint> next_due;
};

/// Work that this batch and earlier ones leave for later batches.
struct Backlog {
  bool has_steps = false;            ///< instance messages, targets of fan-outs, or late matches
  bool has_purges = false;           ///< rows that purges must still erase
  size_t fan_out = 0;                ///< number of fan-out targets that are left
  size_t undecided = 0;              ///< number of instances and starts that wait for a late match
  uint64_t patterns_over_limit = 0;  ///< KeptEvents::patterns_over_limit()
  RetentionPlan retention = {};
  bool has_archived = false;  ///< archived instances that must still be deleted
  /// The engine time until which the archive of a namespace waits because a page could not be
  /// written; nullopt: none waits.
  std::optional<TimePoint> archive_retry_at = std::nullopt;
  /// The engine time at which effects are written that wait for a batch with other changes;
  /// nullopt: none wait.
  std::optional<TimePoint> effects_at = std::nullopt;
};

/// The result of a batch.
struct BatchOutcome {
  std::vector<AfterCommit> actions;
  BatchCounts counts;
  Backlog backlog;
  Cursor cursor;  ///< the event behind which the next batch continues
  std::optional<RetentionPassEnd> pass_end = std::nullopt;
};

}  // namespace millrace
