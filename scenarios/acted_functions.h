// ActedFunctions: functions outside, as a scenario says what they do: when they begin, give signs
// of life, answer or fail, on the virtual clock. What nobody has a part for waits until it is
// answered by hand. They outlive the process: who dies hears what they told meanwhile when he comes
// back. One thread.
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

/// What a function does with one attempt.
struct Performance {
  std::optional<Duration> begins = Duration(0);  ///< after it was handed out; nullopt: never
  std::optional<Duration> heartbeat;             ///< from when it begins until it ends
  std::optional<Duration> takes = Duration(0);   ///< from when it begins; nullopt: for ever
  bool answers = true;                           ///< else it falls silent then
  bool is_mute = false;  ///< that it begins and lives is told only to who asks
  tl::expected<Json, Error> result = Json();
};

class ActedFunctions final : public TaskRunner {
 public:
  explicit ActedFunctions(const Clock& clock) : clock_(clock) {}

  /// What is done with the attempts at that function, in their order; the last part again and
  /// again.
  void act(std::string function, std::vector<Performance> parts) {
    parts_[std::move(function)] = std::move(parts);
  }

  void run(Task task) override;
  void stop(const InstanceId& task) override;
  bool look(const InstanceId& task) override;
  std::optional<Duration> silence(const InstanceId& task) const override;

  /// Tells the sink what is due by now. Whether there was anything.
  bool pump(TaskSink& sink);
  /// When something is due next.
  std::optional<TimePoint> next_deadline() const;

  // By hand, and for looking at.

  /// Those that were handed out, in their order, also those that are over.
  const std::vector<Task>& tasks() const { return tasks_; }
  /// The ids of those that were handed out, once for each time: a restart hands out again what has
  /// not ended.
  const std::vector<InstanceId>& handed_out() const { return handed_out_; }
  /// Those that were stopped.
  const std::vector<InstanceId>& stopped() const { return stopped_; }
  /// Has it told with the next pump().
  void tell(TaskReport report);
  void answer(const InstanceId& task, Json result);
  /// Others take their place, who know nothing of what was handed out.
  void be_replaced() {
    tasks_.clear();
    mute_.clear();
    planned_.clear();
  }

 private:
  /// When a mute one gives signs of life.
  struct Life {
    TimePoint begin;
    TimePoint end;
    std::optional<Duration> heartbeat;
  };

  void plan(TimePoint at, TaskReport report) { planned_.emplace(at, std::move(report)); }

  const Clock& clock_;
  std::map<std::string, std::vector<Performance>, std::less<>> parts_;
  std::map<std::string, size_t, std::less<>> attempts_;  ///< so far, by function
  std::multimap<TimePoint, TaskReport> planned_;
  std::vector<Task> tasks_;
  std::vector<InstanceId> handed_out_;
  std::map<InstanceId, Life> mute_;
  std::vector<InstanceId> stopped_;
};

}  // namespace millrace
