#include "functions/task_router.h"

#include <algorithm>

#include "base/check.h"

namespace millrace {

void TaskRouter::run(Task task) {
  TaskRunner* const runner = runners_[task.target.index()];
  CHECK(runner != nullptr, "no runner has the targets of kind {}", task.target.index());
  runner->run(std::move(task));
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
