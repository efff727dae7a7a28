// ContainerJobs: the tasks that run in containers, from run() to their end, and the reports on
// them. For one thread, except since_heartbeat().
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "functions/container_inbox.h"
#include "functions/heartbeats.h"
#include "functions/output_lines.h"
#include "http/http_client.h"

namespace millrace {

struct ContainerBox;

struct ContainerJob {
  Task task;
  uint64_t number = 0;
  ContainerBox* box = nullptr;  ///< null: the task waits for a container
  /// The HTTP call to the container of a reusable function, once it was sent.
  std::optional<HttpClient::Ticket> call;
  OutputAllowance left;

  Ticket ticket() const { return {task.id, number}; }
};

class ContainerJobs {
 public:
  explicit ContainerJobs(TaskSink& sink) : sink_(sink) {}

  /// Null: the task is already under way.
  ContainerJob* add(Task task);
  /// Null: the task has ended or was stopped.
  ContainerJob* find(const InstanceId& task);
  ContainerJob* find(const Ticket& ticket);
  void forget(const ContainerJob& job);
  void clear();

  /// The first task of a queue that has not ended; earlier entries are removed from the queue.
  /// Null: the queue has no such task.
  ContainerJob* front(std::deque<Ticket>& waiting);

  /// A task whose deadline has passed; null if no deadline has passed.
  ContainerJob* overdue(TimePoint now);
  std::optional<TimePoint> next_deadline() const;

  /// Reports `what`; this counts as a heartbeat too.
  void report(const ContainerJob& job, decltype(TaskReport::what) what);
  /// Notes a heartbeat; heartbeats are not reported.
  void heard(const ContainerJob& job) { heartbeats_.heard(job.task.id); }
  void report_output(ContainerJob& job, std::vector<std::string> lines);
  /// Reports `bytes` as the end of a stream, with the incomplete line that is still in `lines`.
  void report_rest(ContainerJob& job, OutputLines& lines, std::string_view bytes);

  /// The time since the last heartbeat of the task; nullopt: the task has not started. Any thread.
  std::optional<Duration> since_heartbeat(const InstanceId& task) const {
    return heartbeats_.since_heartbeat(task);
  }

 private:
  TaskSink& sink_;
  Heartbeats heartbeats_;
  std::unordered_map<InstanceId, ContainerJob> jobs_;
  std::set<std::pair<TimePoint, InstanceId>> deadlines_;
  uint64_t last_number_ = 0;
};

}  // namespace millrace
