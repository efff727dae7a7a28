#include "functions/container.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <variant>

#include <poll.h>

#include "functions/container_folder.h"
#include "functions/container_impl.h"
#include "functions/files.h"
#include "functions/service_protocol.h"
#include "os/programs.h"
#include "os/thread.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// How often the inbox is checked if there was no descriptor left to signal new messages.
constexpr Duration kWithoutWake{50};

}  // namespace

TaskEnded task_failed(std::string_view code, std::string message) {
  return {.result = tl::unexpected(Error{std::string(code), std::move(message)})};
}

TaskEnded task_failed(const Error& error) { return task_failed(error.code, error.message); }

ContainerRunner::Impl::Impl(ContainerSettings settings, HttpClient& http, const Clock& clock,
                            TaskSink& sink)
    : settings_(std::move(settings)),
      permission_(settings_.guarded),
      http_(http),
      clock_(clock),
      jobs_(sink),
      inbox_(std::make_shared<ContainerInbox>()),
      thread_([this] { run(); }) {}

ContainerRunner::Impl::~Impl() {
  inbox_->close();
  thread_.join();
}

void ContainerRunner::Impl::run() {
  name_thread("containers");
  settings_.folder = prepare_container_folder(settings_.folder);
  remove_folder(settings_.sealed_folder);  // of an earlier process; made again for a sealed task
  clean_up();
  while (true) {
    std::optional<std::vector<ContainerMessage>> messages = inbox_->take();
    if (!messages) break;
    now_ = clock_.elapsed();
    for (ContainerMessage& message : *messages) {
      std::visit([this](auto& what) { take(std::move(what)); }, message);
    }
    poll();
    give_up_overdue();
    assign();
    wait(until_next());
  }
  end_all();
}

void ContainerRunner::Impl::take(RunTask message) {
  const Job* const job = jobs_.add(std::move(message.task));
  if (job == nullptr) return;  // the task is already under way
  const Task& task = job->task;
  const auto& container = std::get<Container>(task.target);
  if (container.isolated) return isolated_[task.ns].push_back(job->ticket());
  Service& service =
      services_[{task.ns, container.image, container.cmd, container.size, task.sealed}];
  service.ns = task.ns;
  service.sealed = task.sealed;
  service.container = container;  // `scale` comes from the newest definition
  service.waiting.push_back(job->ticket());
}

void ContainerRunner::Impl::take(StopContainerTask message) {
  Job* const job = jobs_.find(message.task);
  if (job != nullptr) give_up(*job);
}

void ContainerRunner::Impl::take(CallHeartbeat message) {
  Job* const job = jobs_.find(message.ticket);
  if (job != nullptr) jobs_.heard(*job);
}

void ContainerRunner::Impl::take(CallDone message) {
  Job* const job = jobs_.find(message.ticket);
  if (job == nullptr) return;
  const fs::path folder = job->box->folder / to_string(job->task.id);
  TaskEnded ended = std::move(message.answer);
  Result<std::vector<TaskVariable>> variables = collect_variables(folder);
  if (variables) {
    ended.variables = *std::move(variables);
  } else if (ended.result) {
    ended = task_failed(variables.error());
  }
  end(*job, std::move(ended));
}

void ContainerRunner::Impl::take(CallAccepted message) {
  Job* const job = jobs_.find(message.ticket);
  if (job != nullptr) accept(*job);
}

/// Lets a task go that its function has accepted: its container and its files have no further part
/// in it.
void ContainerRunner::Impl::accept(Job& job) {
  jobs_.report(job, TaskAccepted{});
  forget(job);
}

void ContainerRunner::Impl::end(Job& job, TaskEnded ended) {
  jobs_.report(job, std::move(ended));
  forget(job);
}

/// Ends a task without a report, because its result is not needed any more.
void ContainerRunner::Impl::give_up(Job& job) {
  stop_call(job);
  forget(job);
}

void ContainerRunner::Impl::forget(Job& job) {
  const InstanceId id = job.task.id;
  if (Box* const box = job.box; box != nullptr && box->service == nullptr) {
    let_go(*box);
  } else if (box != nullptr) {
    box->calls.erase(id);
    box->last_used = now_;
    remove_folder(box->folder / to_string(id));
  }
  jobs_.forget(job);
}

void ContainerRunner::Impl::give_up_overdue() {
  const TimePoint now = clock_.now();
  while (Job* const job = jobs_.overdue(now)) give_up(*job);
}

void ContainerRunner::Impl::fail_waiting(std::deque<Ticket>& waiting, const Error& error) {
  while (Job* const job = jobs_.front(waiting)) {
    waiting.pop_front();
    end(*job, task_failed(error));
  }
}

/// Cancels the call, and asks the service to stop the work for the task.
void ContainerRunner::Impl::stop_call(const Job& job) {
  if (!job.call) return;
  http_.cancel(*job.call);
  stop_service(http_, job.box->url(), job.task);
}

/// Starts the removal of the containers of earlier processes, unless it was started before. Returns
/// false if there is no runtime.
bool ContainerRunner::Impl::clean_up() {
  if (is_clean_ || leftovers_) return true;
  for (const char* const program : {"podman", "docker"}) {
    if (!runtime_.empty()) break;
    runtime_ = find_program(settings_.runtime.empty() ? program : settings_.runtime);
  }
  if (runtime_.empty()) return false;
  leftovers_ = std::make_unique<LeftoverRemoval>(runtime_, settings_.data_id);
  return true;
}

void ContainerRunner::Impl::fail_all_waiting(const Error& error) {
  for (auto& [ns, waiting] : isolated_) fail_waiting(waiting, error);
  for (auto& [key, service] : services_) fail_waiting(service.waiting, error);
}

bool ContainerRunner::Impl::has_waiting_calls() {
  return std::any_of(isolated_.begin(), isolated_.end(),
                     [this](auto& one) { return jobs_.front(one.second) != nullptr; }) ||
         std::any_of(services_.begin(), services_.end(),
                     [this](auto& one) { return jobs_.front(one.second.waiting) != nullptr; });
}

/// The time until the next action that no message or descriptor signals.
Duration ContainerRunner::Impl::until_next() {
  Duration next{60'000};
  const auto at = [&](Duration due) { next = std::clamp(due - now_, Duration(0), next); };
  for (const std::unique_ptr<Box>& box : boxes_) {
    if (box->is_let_go) continue;
    at(box->measured + kMeasureEvery);
    if (box->service == nullptr) continue;
    if (!box->is_ready) {
      at(now_ + kProbeLook);
    } else if (box->calls.empty() && count_of(*box->service) > box->service->container.scale) {
      at(box->last_used + settings_.idle);
    }
  }
  for (const auto& [key, service] : services_) {
    if (count_of(service) < service.container.scale && service.kept_from > now_) {
      at(service.kept_from);
    }
  }
  if (const auto deadline = jobs_.next_deadline()) at(now_ + (*deadline - clock_.now()));
  return next;
}

void ContainerRunner::Impl::wait(Duration at_most) {
  std::vector<pollfd> list = {{.fd = inbox_->fd(), .events = POLLIN, .revents = 0}};
  if (leftovers_) leftovers_->wait_for(list);
  for (const std::unique_ptr<Box>& box : boxes_) box->process->wait_for(list);
  if (list.front().fd < 0) at_most = std::min(at_most, kWithoutWake);
  ::poll(list.data(), list.size(), static_cast<int>(at_most.count()));
}

void ContainerRunner::Impl::end_all() {
  jobs_.clear();
  const Duration started = clock_.elapsed();
  for (const std::unique_ptr<Box>& box : boxes_) let_go(*box);
  while (!boxes_.empty() && clock_.elapsed() - started < settings_.end_timeout) {
    wait(kMeasureEvery);
    poll();
  }
  std::error_code ignored;  // the folder stays if it still has files
  if (sealed_folder_) fs::remove(*sealed_folder_, ignored);
}

ContainerRunner::ContainerRunner(ContainerSettings settings, HttpClient& http, const Clock& clock,
                                 TaskSink& sink)
    : impl_(std::make_unique<Impl>(std::move(settings), http, clock, sink)) {}

ContainerRunner::~ContainerRunner() = default;

void ContainerRunner::run(Task task) { impl_->put(RunTask{std::move(task)}); }

void ContainerRunner::stop(const InstanceId& task) { impl_->put(StopContainerTask{task}); }

std::optional<Duration> ContainerRunner::since_heartbeat(const InstanceId& task) const {
  return impl_->since_heartbeat(task);
}

void ContainerRunner::allow_until(Permission::Time until, std::optional<Permission::Time> asked) {
  impl_->allow_until(until, asked);
}

void ContainerRunner::forbid() { impl_->forbid(); }

}  // namespace millrace
