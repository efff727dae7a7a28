#include "functions/task_router.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {

void TaskRouter::run(Task task) {
  TaskRunner* const runner = runners_[task.target.index()];
  if (runner != nullptr) return runner->run(std::move(task));
  sink_->report(
      {task.id,
       TaskEnded{.result = tl::unexpected(WorkflowError{
                     std::string(kFunctionUnavailable),
                     fmt::format("function \"{}\" cannot run here: {}", task.function, why_)})}},
      nullptr);
}

std::vector<TaskRunner*> TaskRouter::each() const {
  std::vector<TaskRunner*> all(runners_.begin(), runners_.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase(all, nullptr);
  return all;
}

void TaskRouter::stop(const InstanceId& task) {
  for (TaskRunner* const runner : each()) runner->stop(task);
}

bool TaskRouter::look(const InstanceId& task) {
  for (TaskRunner* const runner : each()) {
    if (runner->look(task)) return true;
  }
  return false;
}

std::optional<Duration> TaskRouter::silence(const InstanceId& task) const {
  for (const TaskRunner* const runner : each()) {
    if (const auto silence = runner->silence(task)) return silence;
  }
  return std::nullopt;
}

}  // namespace millrace
