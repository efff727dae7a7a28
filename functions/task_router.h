// TaskRouter: gives each task to the runner for its kind of target. The router is created first,
// then the processor, then the runners, which report to the processor. All runners must be set
// before a task is run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orchestrator/ports/task_runner.h"

namespace millrace {

class TaskRouter final : public TaskRunner {
 public:
  /// `epoch`: of the active of a cluster, which each task gets; 0: there is no cluster.
  /// `make_callback`: makes Task::callback of a task, on the thread of run(); empty: no service can
  /// answer later.
  explicit TaskRouter(uint64_t epoch = 0,
                      std::function<TaskCallback(const Task& task)> make_callback = nullptr)
      : epoch_(epoch), make_callback_(std::move(make_callback)) {}

  /// Gives tasks with that target to `runner`, which outlives the router. Every kind of target
  /// needs a runner before a task is run.
  template <class Target>
  void route(TaskRunner& runner) {
    runners_[TaskTarget(Target()).index()] = &runner;
  }

  void run(Task task) override;
  void stop(const InstanceId& task) override;
  bool check_started(const InstanceId& task) override;
  std::optional<Duration> since_heartbeat(const InstanceId& task) const override;
  uint64_t waiting_bytes(std::string_view ns) const override;

 private:
  /// All runners. The router does not store which runner got a task; the other runners ignore an
  /// unknown id.
  std::vector<TaskRunner*> each() const;

  const uint64_t epoch_;
  const std::function<TaskCallback(const Task& task)> make_callback_;
  std::array<TaskRunner*, std::variant_size_v<TaskTarget>> runners_{};
};

}  // namespace millrace
