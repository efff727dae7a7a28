// The inputs that a batch applies (batch.h). Deliveries of the event stream (ports/event_stream.h),
// due timers (memory/due_timer.h) and results of webhooks (outgoing/webhook_outbox.h) are inputs
// too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "expressions/evaluation.h"
#include "model/early_events.h"
#include "model/instance.h"
#include "model/task.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/memory/due_timer.h"
#include "orchestrator/outgoing/webhook_outbox.h"
#include "orchestrator/ports/event_stream.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// The answer to an Evaluate or LookBack effect (effect.h): the results of all evaluations that the
/// step has requested so far, and the early events if it has requested them last. Or the early
/// events that an earlier step has left.
struct EvaluatedInput {
  NamespaceNumber ns{};
  InstanceId instance;
  uint64_t step = 0;
  std::vector<EvaluationResult> results;
  WorkflowNumber workflow{};  ///< of the instance
  uint64_t since = 0;         ///< the number of the turn that took the input first; 0: none yet
  size_t bytes = 0;           ///< input_bytes() of the evaluation
  std::optional<EarlyEvents> early = std::nullopt;
  std::optional<TimePoint> asked_at = std::nullopt;  ///< see EvaluationDone
};

/// A report of a task. A report may come late, or more than once.
struct TaskInput {
  TaskReport report;
  /// Called when the report is on disk or was ignored (TaskSink); may be empty.
  std::function<void()> stored = {};
  uint64_t since = 0;  ///< the number of the turn that took the input first; 0: none yet
};
/// No heartbeat of a task came within its heartbeat timeout.
struct MissedHeartbeatInput {
  InstanceId task;
};

/// Continues an instance that stopped in a transient phase: at the limit of one step, or at the end
/// of the process.
struct ContinueInput {
  NamespaceNumber ns{};
  InstanceId instance;
  WorkflowNumber workflow{};  ///< of the instance
  uint64_t since = 0;         ///< the number of the turn that took the input first; 0: none yet
};

/// The broker's answer to the publish of an outbox message.
struct AckInput {
  uint64_t number = 0;
  Result<PublishAck> ack;
  uint64_t openings = 0;  ///< attempts to open the event stream before the answer came
};

/// The event stream was opened or lost. The outbox gets a stream change even if many events are
/// queued before it.
struct StreamChange {
  std::optional<StreamOpened> opened;  ///< nullopt: the stream was lost
  uint64_t openings = 0;               ///< attempts to open the event stream so far
};

struct CommandInput {
  uint64_t request = 0;  ///< chosen by the sender; its Answer has the same number
  Command command;
};

}  // namespace millrace
