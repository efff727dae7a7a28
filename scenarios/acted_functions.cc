#include "scenarios/acted_functions.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace millrace {
namespace {

/// The most heartbeats that are planned for a task that never ends; more than any scenario needs.
constexpr int kMostHeartbeats = 10'000;

TaskEnded ended(const tl::expected<Json, Error>& result, std::vector<TaskVariable> files = {}) {
  if (!result) {
    return {.result = tl::unexpected(result.error()), .variables = std::move(files)};
  }
  return {.result = dump_json(*result), .variables = std::move(files)};
}

/// The folder of a container is removed when the container accepts its task.
bool loses_files(const Performance& part, const Task& task) {
  return part.accepts && std::holds_alternative<Container>(task.target);
}

}  // namespace

void ActedFunctions::run(Task task) {
  handed_out_.push_back(task.id);
  const auto is_same = [&](const Task& known) { return known.id == task.id; };
  if (std::any_of(tasks_.begin(), tasks_.end(), is_same)) return;  // the task was handed out before
  const InstanceId id = task.id;
  const std::string function = task.function;
  tasks_.push_back(std::move(task));
  const Task& kept = tasks_.back();
  const auto found = parts_.find(function);
  if (found == parts_.end() || found->second.empty()) return;
  const Performance& part =
      found->second[std::min(attempts_[function]++, found->second.size() - 1)];
  if (!part.begins) return;
  const TimePoint begin = clock_.now() + *part.begins;
  const TimePoint end = part.takes ? begin + *part.takes : TimePoint::max();
  if (part.is_mute) {
    mute_[id] = {.begin = begin, .end = end, .heartbeat = part.heartbeat};
  } else {
    plan(begin, {id, TaskStarted{}});
  }
  if (part.accepts) plan(begin, {id, TaskAccepted{}});
  if (part.heartbeat && !part.is_mute) {
    TimePoint at = begin + *part.heartbeat;
    for (int i = 0; i < kMostHeartbeats && at < end; ++i, at += *part.heartbeat) {
      plan(at, {id, TaskHeartbeat{}});
    }
  }
  if (!part.takes || !part.answers) return;
  const bool has_files = !loses_files(part, kept);
  plan(begin + *part.takes,
       {id, ended(part.result, has_files ? part.files : std::vector<TaskVariable>())});
}

void ActedFunctions::stop(const InstanceId& task) {
  stopped_.push_back(task);
  std::erase_if(planned_, [&](const auto& one) { return one.second.task == task; });
}

bool ActedFunctions::check_started(const InstanceId& task) {
  const auto found = mute_.find(task);
  if (found == mute_.end()) return false;
  const TimePoint now = clock_.now();
  const bool has_started = found->second.begin <= now;
  plan(now, has_started ? TaskReport{task, TaskStarted{}} : TaskReport{task, TaskNotStarted{}});
  return true;
}

std::optional<Duration> ActedFunctions::since_heartbeat(const InstanceId& task) const {
  const auto found = mute_.find(task);
  if (found == mute_.end() || !found->second.heartbeat) return std::nullopt;
  const Life& life = found->second;
  const Duration lived = std::min(clock_.now(), life.end) - life.begin;
  return clock_.now() - (life.begin + lived / *life.heartbeat * *life.heartbeat);
}

bool ActedFunctions::pump(TaskSink& sink) {
  bool any = false;
  while (!planned_.empty() && planned_.begin()->first <= clock_.now()) {
    TaskReport report = std::move(planned_.begin()->second);
    planned_.erase(planned_.begin());
    sink.report(std::move(report), nullptr);
    any = true;
  }
  return any;
}

std::optional<TimePoint> ActedFunctions::next_deadline() const {
  if (planned_.empty()) return std::nullopt;
  return planned_.begin()->first;
}

void ActedFunctions::report(TaskReport report) { plan(clock_.now(), std::move(report)); }

void ActedFunctions::answer(const InstanceId& task, Json result) {
  report({task, ended(std::move(result))});
}

}  // namespace millrace
