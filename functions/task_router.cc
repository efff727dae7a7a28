#include "functions/task_router.h"

#include <algorithm>

#include "base/check.h"

namespace millrace {

void TaskRouter::run(Task task) {
  TaskRunner* const runner = runners_[task.target.index()];
  CHECK(runner != nullptr, "no runner has the targets of kind {}", task.target.index());
  runner->run(std::move(task));
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
