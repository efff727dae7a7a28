// BatchCounts: what one batch did, as numbers for the metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/quota.h"

namespace millrace {

/// Why an instance was deleted.
enum class DeletionReason : uint8_t {
  kRequest = 0,    ///< a command named it, or the filter of a command selected it
  kRetention = 1,  ///< the settings of its namespace
};
inline constexpr size_t kDeletionReasons = 2;

/// What the retention did to the instances of one namespace.
struct RetentionCounts {
  uint64_t instances = 0;  ///< deleted instances
  uint64_t archived = 0;   ///< deleted instances that were archived
  uint64_t bytes = 0;      ///< of the rows and histories of the deleted instances, not sealed
  uint64_t records = 0;    ///< history records of the deleted instances
  uint64_t trimmed = 0;    ///< history records that left the histories of existing instances
};

/// Why instances could not be written to the archive of their namespace.
struct ArchiveFailure {
  TimePoint at;  ///< engine time
  Error error;   ///< `archive.write`
};

struct BatchCounts {
  uint64_t events = 0;
  uint64_t events_unmatched = 0;
  uint64_t events_duplicate = 0;
  uint64_t events_unreadable = 0;
  uint64_t source_events = 0;    ///< events of sources whose message was not applied before
  uint64_t source_repeated = 0;  ///< events of sources that were dropped as repetitions
  uint64_t source_refused = 0;   ///< messages of origin streams that became dead letters
  uint64_t instances_started = 0;
  uint64_t runs_continued = 0;  ///< runs that ended by `continueAsNew`
  uint64_t compensations_noted = 0;
  uint64_t compensations_made = 0;  ///< those that have succeeded
  uint64_t compensations_stopped =
      0;  ///< how often one failed for good, or an operator stopped one
  /// Starts by events and ticks that were skipped because the workflow is singular, or had no free
  /// slot; and starts of subflows that `onLimit: skip` has dropped.
  uint64_t starts_skipped = 0;
  /// Starts by requests and subflows that were refused because the workflow is singular, or had no
  /// free slot.
  uint64_t starts_rejected = 0;
  uint64_t starts_timed_out = 0;  ///< starts whose wait for a slot or a throttle timed out
  uint64_t starts_limited = 0;    ///< starts that the `rateLimit` of their workflow refused
  uint64_t starts_debounced = 0;  ///< pending starts that a newer request has replaced
  uint64_t starts_batched = 0;    ///< requests whose input was put into a batch of starts
  uint64_t starts_cancelled = 0;  ///< pending starts that a command has dropped
  /// How often a pending start that was due was not permitted, and is tried again later.
  uint64_t pending_refused = 0;
  uint64_t starts_queued = 0;    ///< how often a start had to wait for a slot or a throttle
  uint64_t starts_admitted = 0;  ///< how often such a wait ended with the slot or the start
  uint64_t starts_replaced = 0;  ///< instances that were cancelled for a start (`onLimit: replace`)
  /// How often an attempt of a call had to wait for a slot or a throttle.
  uint64_t calls_queued = 0;
  uint64_t calls_admitted = 0;  ///< how often such a wait ended with the slot or the hand-out
  uint64_t calls_timed_out =
      0;  ///< attempts of calls whose wait for a slot or a throttle timed out
  uint64_t instances_woken = 0;
  uint64_t instances_damaged = 0;  ///< instances skipped because their rows are damaged
  uint64_t timers_fired = 0;
  uint64_t published = 0;
  uint64_t dead_letters = 0;
  uint64_t matches_late = 0;     ///< instances and starts whose late match was decided
  uint64_t matches_refused = 0;  ///< events that became dead letters because of LateLimits
  uint64_t rows_purged = 0;      ///< rows erased by purges
  /// Reports whose subject named another namespace than the task's, or a task that no worker has.
  uint64_t answers_stray = 0;
  uint64_t groups_uncorrelated = 0;  ///< events that lack an attribute of the start's correlation
  uint64_t groups_expired = 0;       ///< events whose lifespan in an eventsAnd group ended
  uint64_t groups_closed = 0;        ///< events of eventsAnd groups that a new revision closed
  std::array<uint64_t, 8> ended{};   ///< ended instances, by InstanceStatus
  std::array<uint64_t, kDeletionReasons> deleted{};  ///< deleted instances, by DeletionReason
  uint64_t instances_archived = 0;                   ///< deleted instances that were archived
  /// The namespaces whose page of the archive has ended: why it could not be written, or nullopt.
  std::map<NamespaceNumber, std::optional<ArchiveFailure>> archives = {};
  std::map<NamespaceNumber, RetentionCounts> retention = {};
  /// What quotas refused, by Quota.
  std::map<NamespaceNumber, std::array<uint64_t, kQuotas>> over_quota = {};
  uint64_t detached_refused = 0;        ///< detached calls that a quota refused
  std::vector<Duration> started_after;  ///< of each started task: the time from hand-out to start
};

}  // namespace millrace
