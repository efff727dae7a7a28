// Inputs: what a batch applies (batch.h), beside the deliveries of the event stream
// (ports/event_stream.h), due timers and what became of webhooks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "expressions/evaluation.h"
#include "model/instance.h"
#include "model/task.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/memory/due_timer.h"
#include "orchestrator/outgoing/webhooks.h"
#include "orchestrator/ports/event_stream.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// The answer to an Evaluate effect (effect.h): the results of each evaluation of that step so far.
struct EvaluatedInput {
  NamespaceNumber space{};
  InstanceId instance;
  uint64_t step = 0;
  std::vector<EvaluationResult> results;
};

/// A report of a task. It may come late, or twice.
struct TaskInput {
  TaskReport report;
  /// To be called once the report is on disk, or of no use (TaskSink); may be empty.
  std::function<void()> stored = {};
};
/// A task has been silent for longer than it may.
struct SilenceInput {
  InstanceId task;
};

/// Go on with an instance that stopped in a passing phase: a bound on one step, or a restart.
struct ContinueInput {
  NamespaceNumber space{};
  InstanceId instance;
};

/// What the broker says of a message of the outbox.
struct AckInput {
  uint64_t number = 0;
  Result<PublishAck> ack;
  uint64_t openings = 0;  ///< how often the stream had begun to be opened when it came
};

/// Whether the event stream was opened, or lost. For the outbox, which must know of it however many
/// events come first.
struct StreamChange {
  std::optional<StreamOpened> opened;  ///< none: lost
  uint64_t openings = 0;               ///< how often it had begun to be opened, this time included
};

struct CommandInput {
  uint64_t request = 0;  ///< the asker's own number, in its Answer again
  Command command;
};

}  // namespace millrace
