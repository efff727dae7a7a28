// ContainerJobs: the tasks that are done in containers, from run() to their end, and what is told
// of them. For one thread, but for what says otherwise.
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
#include "functions/output_lines.h"
#include "functions/signs_of_life.h"
#include "http/http_client.h"

namespace millrace {

struct ContainerBox;

struct ContainerJob {
  Task task;
  uint64_t number = 0;
  ContainerBox* box = nullptr;             ///< none: it waits
  std::optional<HttpClient::Ticket> call;  ///< of a reusable function, once it is called
  OutputAllowance left;

  Ticket ticket() const { return {task.id, number}; }
};

class ContainerJobs {
 public:
  explicit ContainerJobs(TaskSink& sink) : sink_(sink) {}

  /// Null: it is under way.
  ContainerJob* add(Task task);
  /// Null: it has ended, or was stopped.
  ContainerJob* find(const InstanceId& task);
  ContainerJob* find(const Ticket& ticket);
  void forget(const ContainerJob& job);
  void clear();

  /// The first of a queue that is still wanted; those before it are taken out.
  ContainerJob* front(std::deque<Ticket>& waiting);

  /// One whose deadline has come; null: there is none.
  ContainerJob* overdue(TimePoint now);
  std::optional<TimePoint> next_deadline() const;

  /// That is a sign of life too.
  void tell(const ContainerJob& job, decltype(TaskReport::what) what);
  /// There was a sign of life, of which nothing is told.
  void heard(const ContainerJob& job) { signs_.heard(job.task.id); }
  void tell_output(ContainerJob& job, std::vector<std::string> lines);
  /// What is left of a stream, and these bytes behind it.
  void tell_rest(ContainerJob& job, OutputLines& lines, std::string_view bytes);

  /// How long nothing was heard of the task; nullopt: it has not begun. Any thread.
  std::optional<Duration> silence(const InstanceId& task) const { return signs_.silence(task); }

 private:
  TaskSink& sink_;
  SignsOfLife signs_;
  std::unordered_map<InstanceId, ContainerJob> jobs_;
  std::set<std::pair<TimePoint, InstanceId>> deadlines_;
  uint64_t last_number_ = 0;
};

}  // namespace millrace
