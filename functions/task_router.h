// TaskRouter: gives each task to whoever does tasks of its kind. It is made before the processor
// and those, who tell the processor, behind it; nothing is run before all of them are named.
#pragma once

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "orchestrator/ports/task_runner.h"

namespace millrace {

class TaskRouter final : public TaskRunner {
 public:
  /// Has tasks with that target done by this one, which outlives the router. Every kind of target
  /// has one before a task is run.
  template <class Target>
  void route(TaskRunner& runner) {
    runners_[TaskTarget(Target()).index()] = &runner;
  }

  void run(Task task) override;
  void stop(const InstanceId& task) override;
  bool look(const InstanceId& task) override;
  std::optional<Duration> silence(const InstanceId& task) const override;

 private:
  /// Which one a task went to is not kept: to the others its id is none of their own.
  std::vector<TaskRunner*> each() const;

  std::array<TaskRunner*, std::variant_size_v<TaskTarget>> runners_{};
};

}  // namespace millrace
