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

void TaskRouter::stop(const InstanceId& task) {
  // Which one it went to is not kept: to the others its id is none of their own.
  std::array<TaskRunner*, std::variant_size_v<TaskTarget>> all = runners_;
  std::sort(all.begin(), all.end());
  const auto end = std::unique(all.begin(), all.end());
  for (auto runner = all.begin(); runner != end; ++runner) {
    if (*runner != nullptr) (*runner)->stop(task);
  }
}

}  // namespace millrace
