// ActedFunctions: simulated external functions. A scenario defines when each task starts, sends
// heartbeats, returns a result or fails, on the virtual clock. A task of a function without a
// definition waits until answer() or report() is called. An ActedFunctions outlives the simulated
// process of millrace: after a crash, the next process receives the reports that became due
// meanwhile. For use by one thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

/// The simulated behaviour of a function for one attempt.
struct Performance {
  std::optional<Duration> begins = Duration(0);  ///< delay from hand-out to start; nullopt: never
  std::optional<Duration> heartbeat;             ///< interval of heartbeats from start to end
  std::optional<Duration> takes = Duration(0);   ///< time from start to end; nullopt: no end
  bool answers = true;  ///< false: the task sends no result, and stops its heartbeats
  /// Whether the service accepts the task when it starts. Then its heartbeats and its end are those
  /// of callbacks, and the task is not handed out again.
  bool accepts = false;
  /// Whether start and heartbeats are not reported: then only check_started() and since_heartbeat()
  /// show them.
  bool is_mute = false;
  tl::expected<Json, Error> result = Json();
  std::vector<TaskVariable> files =
      {};  ///< that it leaves at its end, as the variables they become
};

class ActedFunctions final : public TaskRunner {
 public:
  explicit ActedFunctions(const Clock& clock) : clock_(clock) {}

  /// Sets the behaviour of the function for each of its attempts, in order. The last element of
  /// `parts` also applies to all further attempts.
  void act(std::string function, std::vector<Performance> parts) {
    parts_[std::move(function)] = std::move(parts);
  }

  void run(Task task) override;
  void keep_files(Task task) override { kept_.push_back(std::move(task)); }
  void stop(const InstanceId& task) override;
  bool check_started(const InstanceId& task) override;
  std::optional<Duration> since_heartbeat(const InstanceId& task) const override;

  /// Passes all reports that are due to the sink. Returns whether there were any.
  bool pump(TaskSink& sink);
  /// The time of the next report; nullopt if none is planned.
  std::optional<TimePoint> next_deadline() const;

  // For tests: the state, and reports by hand.

  /// All tasks that were handed out, in order, including those that have ended.
  const std::vector<Task>& tasks() const { return tasks_; }
  /// The id of each hand-out, in order. A restart hands out again each task that has not ended, so
  /// an id may occur several times.
  const std::vector<InstanceId>& handed_out() const { return handed_out_; }
  /// The accepted tasks of an earlier process whose files are needed, in order.
  const std::vector<Task>& kept() const { return kept_; }
  /// The ids of the tasks that were stopped.
  const std::vector<InstanceId>& stopped() const { return stopped_; }
  /// Adds a report that the next pump() passes to the sink.
  void report(TaskReport report);
  /// Adds a report that the task has ended with that result.
  void answer(const InstanceId& task, Json result);
  /// Simulates the replacement of all workers by workers that have none of the tasks: forgets all
  /// tasks and all planned reports.
  void be_replaced() {
    tasks_.clear();
    mute_.clear();
    planned_.clear();
  }

 private:
  /// The times of a mute task.
  struct Life {
    TimePoint begin;
    TimePoint end;
    std::optional<Duration> heartbeat;
  };

  void plan(TimePoint at, TaskReport report) { planned_.emplace(at, std::move(report)); }

  const Clock& clock_;
  std::map<std::string, std::vector<Performance>, std::less<>> parts_;
  std::map<std::string, size_t, std::less<>> attempts_;  ///< number of attempts so far, by function
  std::multimap<TimePoint, TaskReport> planned_;
  std::vector<Task> tasks_;
  std::vector<InstanceId> handed_out_;
  std::vector<Task> kept_;
  std::map<InstanceId, Life> mute_;
  std::vector<InstanceId> stopped_;
};

}  // namespace millrace
