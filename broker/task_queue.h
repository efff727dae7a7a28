// Work over NATS. Tasks of the work queue go into MILLRACE_TASKS, where workers in any language
// pull them; their answers come back in MILLRACE_RESULTS. NATS services get requests and answer
// them. The protocol for workers is in docs/FORMATS.md and examples/workers/. Any thread may call;
// no call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/pull_window.h"
#include "broker/stream_options.h"
#include "broker/task_callbacks.h"
#include "model/request_subjects.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

/// The data folder of the process.
struct DataFolder {
  std::string mark;  ///< distinguishes the folder from its copies (Environment::mark)
  /// When the folder was made; nullopt: unknown. An older task is an inherited task: the store was
  /// restored or copied, so another process may have sent the task and received its answer.
  std::optional<TimePoint> made;
};

struct TaskQueueSettings {
  StreamOptions streams;
  std::string process;            ///< the owner's process (OwnerRecord); empty: no owner
  std::optional<uint64_t> epoch;  ///< of this node as the active of a cluster; nullopt: no cluster
  DataFolder folder;              ///< for inherited tasks; empty: no task is inherited
  PullSettings pull;              ///< for the consumer of answers
  size_t most_unstored = 4'096;   ///< limit of answers that are reported but not stored yet
  /// No further answer is reported while so many bytes of answers are not stored yet.
  uint64_t most_unstored_bytes = uint64_t{32} << 20;
  Duration ack_timeout{5'000};  ///< after it, an unacknowledged task is sent again
  /// After this time, messages that the broker has not read are sent again.
  Duration flush_timeout{1'000};
  Duration look_timeout{1'000};  ///< the limit to find out whether a worker has a task
  /// How long a worker may take between its answer and its last acknowledgement, in either order.
  /// After this time the message is deleted from the stream, or the task ends without an answer.
  Duration grace{2'000};
  RequestSubjects request_subjects = {};  ///< the subjects on which services may be called
  /// How long a service may take for a task without a timeout, from when it has the request.
  Duration call_timeout = defaults::kCallTimeout;
  /// Called for each answer that names no task, on the thread that reads answers.
  std::function<void()> on_stray = [] {};
  /// Takes the callbacks of services and workers; empty: this process takes none over NATS. It must
  /// outlive the TaskQueue, and the answers that it owes.
  CallbackHandler on_callback = nullptr;
};

/// Runs tasks whose target is a WorkQueue or a NatsService. Without a broker, tasks wait in memory;
/// the caller of run() limits their waiting_bytes(). The stream does not redeliver: a worker keeps
/// its task until the task is stopped. An inherited task is sent again if the stream recognizes it
/// as a duplicate, but neither its message nor an answer to it is in the streams.
class TaskQueue : public TaskRunner {
 public:
  /// `connection` and `sink` must outlive this object. Use a connection that nothing else uses. The
  /// sink is called on threads of this object and of nats.c, and within run() for a task that
  /// cannot be sent at all.
  TaskQueue(Connection& connection, TaskSink& sink, const TaskQueueSettings& settings = {});

  /// Afterwards there are no more reports. Tasks that are under way are not stopped.
  ~TaskQueue() override;

  void run(Task task) override;
  void stop(const InstanceId& task) override;
  /// Asks the broker whether it has given the task to a worker.
  bool check_started(const InstanceId& task) override;
  /// Heartbeats that follow soon on one another are reported once.
  std::optional<Duration> since_heartbeat(const InstanceId& task) const override;
  /// The bytes of tasks that the broker has not accepted yet.
  uint64_t waiting_bytes(std::string_view ns) const override;

  struct Counts {
    size_t tasks = 0;      ///< known tasks
    size_t unsent = 0;     ///< known tasks that the broker has not accepted yet
    uint64_t answers = 0;  ///< answers read from the stream, repeated and late ones included
    uint64_t strays = 0;   ///< answers that name no task, and were dropped
    uint64_t consumers_created_again =
        0;                        ///< consumers of tasks that were deleted by another client
    uint64_t callbacks_busy = 0;  ///< callbacks over NATS that were answered with `busy`
  };
  Counts counts() const;

  /// Ok while tasks are sent and answers are read; otherwise the reason why they are not.
  Status health() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
