// Crash points: the named places between the arrows of the loop (docs/ARCHITECTURE.md) at which a
// test has the process killed, as by `kill -9`. MILLRACE_CRASH=name:hit in the environment says at
// which, and at which passing of it; with `:fault` behind it, the process dies by a fault of its
// own. Only builds with the CMake option MILLRACE_FAULTS have them; in a release crash_point() is
// nothing. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace {

/// All of them, in the order in which an event passes them. Those of the files are passed by the
/// test's own file calls (tests/support/file_faults.cc), under LMDB's commit.
enum class CrashPoint : uint8_t {
  kPulled,           ///< an event came from the broker and is not decoded
  kDecoded,          ///< it is, and waits to be handed in
  kDelivered,        ///< what was read is in the processor's queue
  kGathered,         ///< a batch is off the queues, nothing of it is applied
  kEventApplied,     ///< deduplicated, matched and stepped in memory
  kTimerApplied,     ///< the same of a timer that came due,
  kCommandApplied,   ///< of a command,
  kResultApplied,    ///< of an evaluation's result, or what was told of a task,
  kDeliveryApplied,  ///< of what came of a webhook's delivery,
  kAckApplied,       ///< of an acknowledgement of the broker
  kCursorAlone,      ///< the batch will write the cursor and nothing else
  kFinished,         ///< the batch is a whole write-set, in memory
  kWritten,          ///< it is in the journal, not synced
  kCommitted,        ///< it is synced, and nothing came of it yet
  kJournalBegun,     ///< the other journal has its head, nothing is in it
  kJournalTurned,    ///< and this one says that it has ended
  kPagesWritten,     ///< pages of a checkpoint are in LMDB's file, not synced
  kPagesSynced,      ///< they are synced, and no root points to them
  kRootWritten,      ///< the new root is on disk
  kCheckpointStep,   ///< some of the rows are in LMDB, not all
  kCheckpointed,     ///< all are, and memory still holds them
  kSending,          ///< a message of the outbox is about to be sent
  kSent,             ///< it is with the client library
  kAcknowledged,     ///< its acknowledgement came from the broker,
  kAckQueued,        ///< and waits in the processor's queue
  kEvaluating,       ///< an evaluation is about to be asked for
  kEvaluationAsked,  ///< the workers have it
  kEvaluated,        ///< its result came,
  kResultQueued,     ///< and waits in the processor's queue
  kHandingOut,       ///< a task is about to be handed out
  kHandedOut,        ///< it is with what runs it,
  kTaskSent,         ///< and, on its way to a worker, with the client library
  kTold,             ///< something was told of a task,
  kToldQueued,       ///< and waits in the processor's queue
  kToldStored,       ///< it is synced, and whoever told it does not know that yet
  kDelivering,       ///< an event for a webhook is about to be sent
  kDeliveryTold,     ///< what came of it is known,
  kDeliveryQueued,   ///< and waits in the processor's queue
  kAnswering,        ///< a command is about to be answered
  kAnswered,         ///< the gateway has the answer
};

struct CrashPointName {
  CrashPoint point;
  std::string_view name;
};

inline constexpr std::array<CrashPointName, 40> kCrashPoints{{
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
    {CrashPoint::kJournalBegun, "journal-begun"},
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
    {CrashPoint::kTold, "told"},
    {CrashPoint::kToldQueued, "told-queued"},
    {CrashPoint::kToldStored, "told-stored"},
    {CrashPoint::kDelivering, "delivering"},
    {CrashPoint::kDeliveryTold, "delivery-told"},
    {CrashPoint::kDeliveryQueued, "delivery-queued"},
    {CrashPoint::kAnswering, "answering"},
    {CrashPoint::kAnswered, "answered"},
}};

#ifdef MILLRACE_FAULTS
/// Ends the process if this is the place and the passing that MILLRACE_CRASH names.
void crash_point(CrashPoint point);
#else
constexpr void crash_point(CrashPoint) {}
#endif

}  // namespace millrace
