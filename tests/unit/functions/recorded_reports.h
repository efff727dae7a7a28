// RecordedReports: a TaskSink that records the reports of tasks.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/ports/task_runner.h"
#include "tests/support/process.h"

namespace millrace {

class RecordedReports final : public TaskSink {
 public:
  void report(TaskReport report, std::function<void()> stored) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    if (stored) stored();
  }

  /// The reports of one task.
  std::vector<TaskReport> of(const InstanceId& task) const {
    const std::lock_guard lock(mutex_);
    std::vector<TaskReport> found;
    for (const TaskReport& report : reports_) {
      if (report.task == task) found.push_back(report);
    }
    return found;
  }

  bool has_started(const InstanceId& task) const { return count<TaskStarted>(task) > 0; }

  /// The lines that the task printed.
  std::vector<std::string> output(const InstanceId& task) const {
    std::vector<std::string> lines;
    for (const TaskReport& report : of(task)) {
      if (const auto* const line = std::get_if<TaskOutput>(&report.what)) {
        lines.push_back(line->text);
      }
    }
    return lines;
  }

  /// Waits for the end of the task, and returns it; an error "test" if it does not end.
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
