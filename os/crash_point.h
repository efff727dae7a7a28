// Crash points: named places on the path of an event (docs/ARCHITECTURE.md) at which a test kills
// the process, as by `kill -9`. MILLRACE_CRASH=name:hit in the environment selects the place and
// the number of the pass through it; with `:fault` appended the process dies of SIGSEGV, as if by a
// fault of its own; with `:stop` it is suspended. Only builds with the CMake option MILLRACE_FAULTS
// have crash points; in a release crash_point() does nothing. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace {

/// All crash points, those of one server in the order in which an event passes them. kPagesWritten,
/// kPagesSynced and kRootWritten are inside LMDB's commit, so the replacements of write and sync
/// calls that tests install (tests/support/file_faults.cc) call crash_point() for these three.
enum class CrashPoint : uint8_t {
  kPulled,            ///< an event came from the broker and is not yet decoded
  kDecoded,           ///< the event is decoded and not yet in the intake
  kDelivered,         ///< the events that the broker sent are in the intake
  kGathered,          ///< the inputs of a batch were taken from the intake; none is applied
  kEventApplied,      ///< an event was deduplicated, matched and applied in memory
  kTimerApplied,      ///< a due timer was applied in memory
  kCommandApplied,    ///< a command was applied in memory
  kResultApplied,     ///< an evaluation's result or a task's report was applied in memory
  kDeliveryApplied,   ///< the result of a webhook delivery was applied in memory
  kAckApplied,        ///< an acknowledgement of the broker was applied in memory
  kCursorAlone,       ///< the batch will write the cursor and nothing else
  kFinished,          ///< the batch is a complete write-set in memory
  kWritten,           ///< the batch is written to the journal, which is not synced
  kCommitted,         ///< the journal is synced; no action after the commit has been performed
  kJournalStarted,    ///< the other journal file has its file header and no record
  kJournalTurned,     ///< the record that ends the full journal file is synced
  kPagesWritten,      ///< pages of a checkpoint are in LMDB's file, not synced
  kPagesSynced,       ///< the checkpoint's pages are synced; no root page of LMDB points to them
  kRootWritten,       ///< LMDB's new root page, for the checkpoint, is on disk
  kCheckpointStep,    ///< some of the rows of a checkpoint are in LMDB, not all
  kCheckpointed,      ///< all rows of a checkpoint are in LMDB, and still in memory
  kSending,           ///< a message of the outbox is about to be sent
  kSent,              ///< the client library has the message of the outbox
  kAcknowledged,      ///< the broker's acknowledgement of the message has arrived
  kAckQueued,         ///< the acknowledgement is in the intake
  kEvaluating,        ///< an evaluation is about to be requested
  kEvaluationAsked,   ///< the jq workers have the evaluation
  kEvaluated,         ///< the result of the evaluation has arrived
  kResultQueued,      ///< the result of the evaluation is in the intake
  kHandingOut,        ///< a task is about to be handed to its runner
  kHandedOut,         ///< the runner has the task
  kTaskSent,          ///< the client library has the message with the task for a worker
  kReported,          ///< a report of a task has arrived
  kReportQueued,      ///< the report is in the intake
  kReportStored,      ///< the report is on disk; the runner that sent it is not informed yet
  kDelivering,        ///< an event for a webhook is about to be sent
  kDeliveryReported,  ///< the result of the webhook delivery is known
  kDeliveryQueued,    ///< the result of the webhook delivery is in the intake
  kLineArchived,      ///< the line of an instance is in the archive, not synced
  kPageArchived,      ///< a page of the archive is synced; none of its instances is deleted
  kAnswering,         ///< a command is about to be answered
  kAnswered,          ///< the gateway has the answer to the command
  // Of a node of a cluster.
  kLogAppending,      ///< a commit is about to be appended to the log
  kLogPartAppended,   ///< the log has a part of a commit, and not its last part
  kLogAppended,       ///< the log has the commit; the journal does not have it
  kEpochOpened,       ///< the log has the begin of an epoch of this node; no engine is loaded
  kActive,            ///< the engine of the active is loaded, and no thread of it runs
  kSnapshotPart,      ///< a part of a snapshot is stored
  kSnapshotComplete,  ///< all parts of a snapshot are stored, and its manifest is not
  kSnapshotLoading,   ///< a chunk of a snapshot is in the store of a node that joins
};

struct CrashPointName {
  CrashPoint point;
  std::string_view name;
};

inline constexpr std::array<CrashPointName, 42> kCrashPoints{{
    {CrashPoint::kPulled, "pulled"},
    {CrashPoint::kDecoded, "decoded"},
    {CrashPoint::kDelivered, "delivered"},
    {CrashPoint::kGathered, "gathered"},
    {CrashPoint::kEventApplied, "event-applied"},
    {CrashPoint::kTimerApplied, "timer-applied"},
    {CrashPoint::kCommandApplied, "command-applied"},
    {CrashPoint::kResultApplied, "result-applied"},
    {CrashPoint::kDeliveryApplied, "delivery-applied"},
    {CrashPoint::kAckApplied, "ack-applied"},
    {CrashPoint::kCursorAlone, "cursor-alone"},
    {CrashPoint::kFinished, "finished"},
    {CrashPoint::kWritten, "written"},
    {CrashPoint::kCommitted, "committed"},
    {CrashPoint::kJournalStarted, "journal-started"},
    {CrashPoint::kJournalTurned, "journal-turned"},
    {CrashPoint::kPagesWritten, "pages-written"},
    {CrashPoint::kPagesSynced, "pages-synced"},
    {CrashPoint::kRootWritten, "root-written"},
    {CrashPoint::kCheckpointStep, "checkpoint-step"},
    {CrashPoint::kCheckpointed, "checkpointed"},
    {CrashPoint::kSending, "sending"},
    {CrashPoint::kSent, "sent"},
    {CrashPoint::kAcknowledged, "acknowledged"},
    {CrashPoint::kAckQueued, "ack-queued"},
    {CrashPoint::kEvaluating, "evaluating"},
    {CrashPoint::kEvaluationAsked, "evaluation-asked"},
    {CrashPoint::kEvaluated, "evaluated"},
    {CrashPoint::kResultQueued, "result-queued"},
    {CrashPoint::kHandingOut, "handing-out"},
    {CrashPoint::kHandedOut, "handed-out"},
    {CrashPoint::kTaskSent, "task-sent"},
    {CrashPoint::kReported, "reported"},
    {CrashPoint::kReportQueued, "report-queued"},
    {CrashPoint::kReportStored, "report-stored"},
    {CrashPoint::kDelivering, "delivering"},
    {CrashPoint::kDeliveryReported, "delivery-reported"},
    {CrashPoint::kDeliveryQueued, "delivery-queued"},
    {CrashPoint::kLineArchived, "line-archived"},
    {CrashPoint::kPageArchived, "page-archived"},
    {CrashPoint::kAnswering, "answering"},
    {CrashPoint::kAnswered, "answered"},
}};

/// The crash points that only a node of a cluster passes.
inline constexpr std::array<CrashPointName, 8> kClusterCrashPoints{{
    {CrashPoint::kLogAppending, "log-appending"},
    {CrashPoint::kLogPartAppended, "log-part-appended"},
    {CrashPoint::kLogAppended, "log-appended"},
    {CrashPoint::kEpochOpened, "epoch-opened"},
    {CrashPoint::kActive, "active"},
    {CrashPoint::kSnapshotPart, "snapshot-part"},
    {CrashPoint::kSnapshotComplete, "snapshot-complete"},
    {CrashPoint::kSnapshotLoading, "snapshot-loading"},
}};

#ifdef MILLRACE_FAULTS
/// Ends the process if MILLRACE_CRASH selects this crash point and this pass through it.
void crash_point(CrashPoint point);
#else
constexpr void crash_point(CrashPoint) {}
#endif

}  // namespace millrace
