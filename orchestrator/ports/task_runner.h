// TaskRunner: the port to runners, which hand tasks to services; TaskSink receives their reports.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "model/task.h"

namespace millrace {

/// Receives reports of tasks.
class TaskSink {
 public:
  virtual ~TaskSink() = default;
  /// Any thread; never blocks. `stored`, if set, is called once on any thread when the report is on
  /// disk or was ignored (late, repeated, or of an unknown task). Only then may the runner forget
  /// the report. `stored` is not called if the process ends first.
  virtual void report(TaskReport report, std::function<void()> stored) = 0;
};

/// Runs tasks for one kind of target. Any thread; never blocks.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  /// Runs the task and reports to the sink. The last report is always TaskEnded or
  /// TaskAccepted, unless the task is stopped or its deadline passes. A task that an earlier run()
  /// with the same id started may still be under way.
  virtual void run(Task task) = 0;
  /// The service of the task has accepted it in an earlier process, and answers it by a callback:
  /// it is not called again, and only its files are needed, until stop() or its callback. Reports
  /// TaskEnded if they cannot be there.
  // By value, because those that do something take the task over.
  // NOLINTNEXTLINE(performance-unnecessary-value-param)
  virtual void keep_files(Task /*task*/) {}
  /// The result of the task is no longer needed: if the task has not started it is withdrawn, if it
  /// runs it is asked to end, and no further report is required. Unknown ids are ignored.
  virtual void stop(const InstanceId& task) = 0;
  /// Finds out whether a worker has started the task, since workers need not report the start.
  /// Returns true if TaskStarted or TaskNotStarted is reported within two seconds, unless the task
  /// ends first; false if the runner knows nothing beyond its reports.
  virtual bool check_started(const InstanceId& task) {
    (void)task;
    return false;
  }
  /// The time since the task's last heartbeat; nullopt: the runner knows of no heartbeats beyond
  /// those that it reported. A runner that returns the time need not report each heartbeat.
  virtual std::optional<Duration> since_heartbeat(const InstanceId& task) const {
    (void)task;
    return std::nullopt;
  }
  /// The bytes of tasks of that namespace that the runner keeps in memory until a broker has them.
  /// 0 if it keeps none, or if it keeps its tasks until they have ended.
  virtual uint64_t waiting_bytes(std::string_view ns) const {
    (void)ns;
    return 0;
  }
};

}  // namespace millrace
