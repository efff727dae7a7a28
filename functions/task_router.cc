#include "functions/task_router.h"

#include <algorithm>

#include "base/check.h"

namespace millrace {

void TaskRouter::run(Task task) {
  TaskRunner* const runner = runners_[task.target.index()];
  CHECK(runner != nullptr, "there is no runner for targets of kind {}", task.target.index());
  task.epoch = epoch_;
  if (make_callback_) task.callback = make_callback_(task);
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

bool TaskRouter::check_started(const InstanceId& task) {
  for (TaskRunner* const runner : each()) {
    if (runner->check_started(task)) return true;
  }
  return false;
}

std::optional<Duration> TaskRouter::since_heartbeat(const InstanceId& task) const {
  for (const TaskRunner* const runner : each()) {
    if (const auto elapsed = runner->since_heartbeat(task)) return elapsed;
  }
  return std::nullopt;
}

uint64_t TaskRouter::waiting_bytes(std::string_view ns) const {
  uint64_t bytes = 0;
  for (const TaskRunner* const runner : each()) bytes += runner->waiting_bytes(ns);
  return bytes;
}

}  // namespace millrace
