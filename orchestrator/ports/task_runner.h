// TaskRunner: the port to what does tasks outside the process; TaskSink is what it reports to.
#pragma once

#include <functional>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "model/task.h"

namespace millrace {

/// Hears of tasks.
class TaskSink {
 public:
  virtual ~TaskSink() = default;
  /// Any thread; never blocks. `stored`, where there is one, is called once on any thread when what
  /// is told is on disk, or is of no use (late, double, nobody's): only then may its source forget
  /// it. It is not called where the process ends before.
  virtual void report(TaskReport report, std::function<void()> stored) = 0;
};

/// Does tasks of one kind of target. Any thread; never blocks.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  /// Has the task done, and tells the sink of it: TaskEnded at last, whatever happens, unless it is
  /// stopped or its deadline passes. One that was run before under its id may be under way.
  virtual void run(Task task) = 0;
  /// Nobody waits for it any more: what has not begun is taken back, what runs is asked to end, and
  /// nothing need be told of it. An unknown id is none of its own.
  virtual void stop(const InstanceId& task) = 0;
  /// Finds out whether a worker has begun with the task, which workers need not report. True:
  /// TaskStarted or TaskUnbegun is reported within two seconds, unless the task ends before. False:
  /// nothing is known beyond what was reported.
  virtual bool look(const InstanceId& task) {
    (void)task;
    return false;
  }
  /// How long the task has given no sign of life; nullopt: not known beyond what was reported. A
  /// runner that knows this need not report each sign of life.
  virtual std::optional<Duration> silence(const InstanceId& task) const {
    (void)task;
    return std::nullopt;
  }
};

}  // namespace millrace
