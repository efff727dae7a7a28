// A TaskSink that records the reports of tasks.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/ports/task_runner.h"
#include "tests/support/process.h"

namespace millrace {

class ToldTasks final : public TaskSink {
 public:
  void report(TaskReport report, std::function<void()> stored) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    if (stored) stored();
  }

  /// What was told of that task.
  std::vector<TaskReport> of(const InstanceId& task) const {
    const std::lock_guard lock(mutex_);
    std::vector<TaskReport> found;
    for (const TaskReport& report : reports_) {
      if (report.task == task) found.push_back(report);
    }
    return found;
  }

  bool has_started(const InstanceId& task) const { return count<TaskStarted>(task) > 0; }

  /// The lines that it printed.
  std::vector<std::string> output(const InstanceId& task) const {
    std::vector<std::string> lines;
    for (const TaskReport& report : of(task)) {
      if (const auto* const line = std::get_if<TaskOutput>(&report.what)) {
        lines.push_back(line->text);
      }
    }
    return lines;
  }

  /// How it ended; waits for that. An error "test" where it does not.
  TaskEnded end_of(const InstanceId& task) const {
    if (!eventually([&] { return count<TaskEnded>(task) > 0; })) {
      return {.result = tl::unexpected(Error{"test", "it does not end"})};
    }
    TaskEnded ended{.result = ""};
    for (const TaskReport& report : of(task)) {
      if (const auto* const end = std::get_if<TaskEnded>(&report.what)) ended = *end;
    }
    return ended;
  }

  template <class T>
  size_t count(const InstanceId& task) const {
    size_t found = 0;
    for (const TaskReport& report : of(task)) found += std::holds_alternative<T>(report.what);
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<TaskReport> reports_;
};

}  // namespace millrace
