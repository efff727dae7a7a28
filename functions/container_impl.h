// ContainerRunner::Impl: all work of the containers thread. Private to container.cc (the thread,
// tasks, time), container_life.cc (containers from their start to their end) and
// container_schedule.cc (which task gets which container).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "functions/container.h"
#include "functions/container_box.h"
#include "functions/container_command.h"
#include "functions/container_inbox.h"
#include "functions/container_jobs.h"
#include "functions/container_process.h"
#include "functions/output_lines.h"
#include "os/permission.h"

namespace millrace {

inline constexpr const char* kSharedMount = "/mnt/shared";
/// How often the size of a container's files is measured.
inline constexpr Duration kMeasureEvery{1'000};
/// The longest wait after failed containers before the next one is started for `scale`.
inline constexpr Duration kLongestPause{60'000};

/// The report that a task ended with this error.
TaskEnded task_failed(std::string_view code, std::string message);
TaskEnded task_failed(const Error& error);

class ContainerRunner::Impl {
 public:
  Impl(ContainerSettings settings, HttpClient& http, const Clock& clock, TaskSink& sink);
  ~Impl();

  /// Any thread.
  void put(ContainerMessage message) { inbox_->put(std::move(message)); }
  /// Any thread.
  void allow_until(Permission::Time until, std::optional<Permission::Time> asked) {
    if (permission_.allow_until(until, asked)) inbox_->put(ContainersAllowed{});
  }
  /// Any thread.
  void forbid() { permission_.forbid(); }
  /// Any thread.
  std::optional<Duration> since_heartbeat(const InstanceId& task) const {
    return jobs_.since_heartbeat(task);
  }

 private:
  using Box = ContainerBox;
  using Job = ContainerJob;
  using Service = ContainerService;

  void run();

  // Messages.
  void take(RunTask message);
  void take(StopContainerTask message);
  void take(CallHeartbeat message);
  void take(CallDone message);
  void take(CallAccepted message);
  void take(ContainersAllowed) {}  // assign() follows

  // Jobs.
  void end(Job& job, TaskEnded ended);
  void accept(Job& job);
  void give_up(Job& job);
  void forget(Job& job);
  void give_up_overdue();
  void fail_waiting(std::deque<Ticket>& waiting, const Error& error);
  void stop_call(const Job& job);

  // The runtime.
  bool clean_up();
  void fail_all_waiting(const Error& error);
  bool has_waiting_calls();

  // The life of a container.
  void poll();
  void has_ended(Box& box);
  void watch(Box& box);
  void stop_writing(Box& box);
  void lose(Box& box, const std::string& why);
  void let_go(Box& box);
  size_t count_of(const Service& service) const;
  Result<std::filesystem::path> folder_of(bool sealed);
  Result<std::unique_ptr<Box>> new_box(const Task& task, bool sealed);
  ContainerPlan plan_of(const Box& box, const Task& task) const;
  Status start_box(std::unique_ptr<Box> box, const ContainerPlan& plan, const Container& container,
                   std::string input);
  void start_isolated(std::deque<Ticket>& waiting);
  void start_service(Service& service);
  void heard(Box& box, OutputLines& lines, std::string_view bytes);
  void heard_output(Box& box, std::string_view bytes);

  // Which task gets which container.
  void assign();
  bool is_over(Service& service);
  void call_ready(Service& service);
  void call(Job& job, Box& box);
  std::deque<Ticket>* first_in_need();
  Service* service_of(const std::deque<Ticket>* waiting);
  void make_room();
  void keep(Service& service);

  // Time.
  Duration until_next();
  void wait(Duration at_most);
  void end_all();

  ContainerSettings settings_;
  Permission permission_;
  HttpClient& http_;
  const Clock& clock_;
  ContainerJobs jobs_;
  /// Shared with calls that may end after this object.
  const std::shared_ptr<ContainerInbox> inbox_;

  Duration now_{};
  std::optional<std::filesystem::path> sealed_folder_;  ///< once a sealed task has run
  std::string runtime_;
  std::unique_ptr<LeftoverRemoval> leftovers_;
  bool is_clean_ = false;

  /// The tasks of isolated functions that wait for a container, by namespace.
  std::map<std::string, std::deque<Ticket>> isolated_;
  std::map<ServiceKey, Service> services_;
  std::vector<std::unique_ptr<Box>> boxes_;
  uint64_t last_box_ = 0;

  std::thread thread_;
};

}  // namespace millrace
