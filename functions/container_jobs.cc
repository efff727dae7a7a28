#include "functions/container_jobs.h"

namespace millrace {

ContainerJob* ContainerJobs::add(Task task) {
  const auto [found, is_new] = jobs_.try_emplace(task.id);
  if (!is_new) return nullptr;
  ContainerJob& job = found->second;
  job.task = std::move(task);
  job.number = ++last_number_;
  if (job.task.deadline) deadlines_.emplace(*job.task.deadline, job.task.id);
  return &job;
}

ContainerJob* ContainerJobs::find(const InstanceId& task) {
  const auto found = jobs_.find(task);
  return found == jobs_.end() ? nullptr : &found->second;
}

ContainerJob* ContainerJobs::find(const Ticket& ticket) {
  ContainerJob* const job = find(ticket.task);
  return job != nullptr && job->number == ticket.number ? job : nullptr;
}

void ContainerJobs::forget(const ContainerJob& job) {
  const InstanceId id = job.task.id;
  if (job.task.deadline) deadlines_.erase({*job.task.deadline, id});
  heartbeats_.forget(id);
  jobs_.erase(id);
}

void ContainerJobs::clear() {
  jobs_.clear();
  deadlines_.clear();
}

ContainerJob* ContainerJobs::front(std::deque<Ticket>& waiting) {
  while (!waiting.empty()) {
    ContainerJob* const job = find(waiting.front());
    if (job != nullptr) return job;
    waiting.pop_front();
  }
  return nullptr;
}

ContainerJob* ContainerJobs::overdue(TimePoint now) {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return nullptr;
  return find(deadlines_.begin()->second);
}

std::optional<TimePoint> ContainerJobs::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

void ContainerJobs::report(const ContainerJob& job, decltype(TaskReport::what) what) {
  heard(job);
  sink_.report({.task = job.task.id, .what = std::move(what)}, {});
}

void ContainerJobs::report_output(ContainerJob& job, std::vector<std::string> lines) {
  heard(job);
  for (std::string& line : lines) report(job, TaskOutput{std::move(line)});
}

void ContainerJobs::report_rest(ContainerJob& job, OutputLines& lines, std::string_view bytes) {
  for (std::string& line : lines.add(bytes, job.left)) report(job, TaskOutput{std::move(line)});
  for (std::string& line : lines.finish(job.left)) report(job, TaskOutput{std::move(line)});
}

}  // namespace millrace
