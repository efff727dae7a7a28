// Work over NATS: tasks of the work queue go into MILLRACE_TASKS, where workers in any language
// pull them, and their answers come back by MILLRACE_RESULTS; NATS services are asked and answer.
// How a worker talks is in docs/FORMATS.md and examples/workers/. Any thread may call; nothing
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/pull_window.h"
#include "broker/stream_options.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

struct TaskQueueSettings {
  StreamOptions streams;
  std::string process;           ///< the owner's (OwnerRecord); empty: it has none
  PullSettings pull;             ///< of answers
  size_t most_unstored = 4'096;  ///< answers that are told ahead of their being stored
  Duration ack_timeout{5'000};   ///< a task is sent again when the stream has not taken it
  /// How long a worker may take between its answer and its last acknowledgement, in either order:
  /// then the message is taken out of the stream, or the task has ended without an answer.
  Duration grace{2'000};
  /// Hears of each answer that names no task, on the thread that reads answers.
  std::function<void()> on_stray = [] {};
};

/// Runs tasks whose target is a WorkQueue or a NatsService. While there is no broker they wait in
/// memory. The stream's own redelivery is off: what a worker holds is its until the task is
/// stopped.
class TaskQueue : public TaskRunner {
 public:
  /// `connection` and `sink` outlive it; the connection is best one of its own. The sink is called
  /// on threads of ours and of nats.c, and within run() for what can't be sent at all.
  TaskQueue(Connection& connection, TaskSink& sink, const TaskQueueSettings& settings = {});

  /// Nothing is told after it; what is under way stays so.
  ~TaskQueue() override;

  void run(Task task) override;
  void stop(const InstanceId& task) override;
  /// Asks the broker what it has given to workers.
  bool look(const InstanceId& task) override;

  struct Counts {
    size_t tasks = 0;      ///< known of
    size_t unsent = 0;     ///< of them, those that the broker has not taken yet
    uint64_t answers = 0;  ///< that came by the stream, double and late ones too
    uint64_t strays = 0;   ///< of them, those that name no task, and were thrown away
  };
  Counts counts() const;

  /// Why tasks are not sent, or their answers not read, at the moment; ok while they are.
  Status health() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
