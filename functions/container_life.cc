// Containers from their start to their end: how they are started, what is checked while they run,
// and how the tasks of a container end with it.
#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "functions/container_folder.h"
#include "functions/container_impl.h"
#include "functions/files.h"
#include "functions/isolated.h"

namespace millrace {

namespace fs = std::filesystem;

void ContainerRunner::Impl::poll() {
  const std::optional<Status> cleaned = leftovers_ ? leftovers_->poll() : std::nullopt;
  if (cleaned) {
    leftovers_.reset();
    is_clean_ = cleaned->has_value();
    if (!is_clean_) fail_all_waiting(cleaned->error());
  }
  for (size_t i = 0; i < boxes_.size(); ++i) {
    Box& box = *boxes_[i];
    box.process->poll();
    if (box.process->code() && !box.is_let_go) has_ended(box);
    if (!box.is_let_go) watch(box);
  }
  std::erase_if(boxes_, [](const std::unique_ptr<Box>& box) {
    if (!box->is_let_go || !box->process->is_gone()) return false;
    remove_folder(box->folder);
    return true;
  });
}

/// Handles a container that ended by itself, with any exit code.
void ContainerRunner::Impl::has_ended(Box& box) {
  if (box.service != nullptr) {
    return lose(box, fmt::format("its container ended with code {}: {}", *box.process->code(),
                                 box.process->last_errors()));
  }
  Job& job = *jobs_.find(*box.job);
  IsolatedAnswer answer = read_isolated(box.folder, {.code = *box.process->code(),
                                                     .output = box.output,
                                                     .errors = box.process->last_errors(),
                                                     .may_accept = job.task.callback.has_value()});
  jobs_.report_rest(job, box.error_lines, "");
  OutputLines lines;
  jobs_.report_rest(job, lines, answer.log);
  if (!answer.is_output_result) jobs_.report_rest(job, box.output_lines, box.output);
  if (answer.is_accepted) return accept(job);
  end(job, std::move(answer.ended));
}

void ContainerRunner::Impl::watch(Box& box) {
  if (now_ - box.measured >= kMeasureEvery) {
    box.measured = now_;
    if (is_too_full(box.folder)) return stop_writing(box);
  }
  if (box.service == nullptr) return;
  if (!box.is_ready) {
    if (box.probe->poll(now_)) {
      box.is_ready = true;
      box.last_used = now_;
      box.service->failures = 0;
    } else if (now_ - box.started >= settings_.start_timeout) {
      lose(box, fmt::format("its container does not listen on port {}", kContainerPort));
    }
    return;
  }
  const bool is_idle = box.calls.empty() && now_ - box.last_used >= settings_.idle;
  if (is_idle && count_of(*box.service) > box.service->container.scale) let_go(box);
}

void ContainerRunner::Impl::stop_writing(Box& box) {
  const std::string said = fmt::format("its container has written more than {} MiB, or {} files",
                                       kMaxFilesBytes >> 20, kMaxFilesEntries);
  if (box.service != nullptr) return lose(box, said);
  end(*jobs_.find(*box.job), task_failed(kFunctionTooLarge, said));
}

/// Removes a reusable container that failed to start, or that cannot be used any more.
void ContainerRunner::Impl::lose(Box& box, const std::string& why) {
  Service& service = *box.service;
  for (const InstanceId& id : std::set<InstanceId>(box.calls)) {
    Job& job = *jobs_.find(id);
    stop_call(job);
    end(job, task_failed(kFunctionUnavailable, why));
  }
  service.failures = std::min(service.failures + 1, 16U);
  service.kept_from = now_ + std::min(Duration(500) * (1 << service.failures), kLongestPause);
  const bool was_ready = box.is_ready;
  let_go(box);
  if (!was_ready && count_of(service) == 0) {
    fail_waiting(service.waiting, {std::string(kFunctionUnavailable), why});
  }
}

void ContainerRunner::Impl::let_go(Box& box) {
  box.is_let_go = true;
  box.process->remove();
}

size_t ContainerRunner::Impl::count_of(const Service& service) const {
  return static_cast<size_t>(
      std::count_if(boxes_.begin(), boxes_.end(), [&](const std::unique_ptr<Box>& box) {
        return box->service == &service && !box->is_let_go;
      }));
}

/// The folder for the folders of containers.
Result<fs::path> ContainerRunner::Impl::folder_of(bool sealed) {
  if (!sealed) return settings_.folder;
  if (!sealed_folder_) sealed_folder_ = TRY(prepare_sealed_folder(settings_.sealed_folder));
  return *sealed_folder_;
}

/// A container that has not started. Its folder does not exist yet. Error: see
/// prepare_sealed_folder().
Result<std::unique_ptr<ContainerBox>> ContainerRunner::Impl::new_box(const Task& task,
                                                                     bool sealed) {
  const fs::path parent = TRY(folder_of(sealed));
  auto box = std::make_unique<Box>();
  box->name = fmt::format("millrace-{}-{}-{}", settings_.data_id, to_string(task.id), ++last_box_);
  box->folder = parent / box->name;
  box->measured = box->started = now_;
  return box;
}

ContainerPlan ContainerRunner::Impl::plan_of(const Box& box, const Task& task) const {
  const bool isolated = box.job.has_value();
  const bool has_own = !isolated && !settings_.pool_network.empty();
  return {.runtime = runtime_,
          .name = box.name,
          .data_id = settings_.data_id,
          .task = to_string(task.id),
          .source = box.folder,
          .maps_users = settings_.maps_users,
          .network = network_of(has_own ? settings_.pool_network : settings_.network, isolated),
          .options = settings_.options};
}

Status ContainerRunner::Impl::start_box(std::unique_ptr<Box> box, const ContainerPlan& plan,
                                        const Container& container, std::string input) {
  std::vector<std::string> command = TRY(run_command(plan, container));
  Box* const own = box.get();
  Result<std::unique_ptr<ContainerProcess>> process = ContainerProcess::start(
      {.runtime = runtime_,
       .name = own->name,
       .command = std::move(command),
       .input = std::move(input),
       .output = [this, own](std::string_view bytes) { heard_output(*own, bytes); },
       .errors = [this, own](std::string_view bytes) { heard(*own, own->error_lines, bytes); }});
  if (!process) return fail(std::string(kFunctionUnavailable), process.error().message);
  own->process = *std::move(process);
  boxes_.push_back(std::move(box));
  return {};
}

void ContainerRunner::Impl::start_isolated(std::deque<Ticket>& waiting) {
  Job& job = *jobs_.front(waiting);
  waiting.pop_front();
  const Task& task = job.task;
  Result<std::unique_ptr<Box>> made = new_box(task, task.sealed);
  if (!made) return end(job, task_failed(made.error()));
  std::unique_ptr<Box> box = *std::move(made);
  box->ns = task.ns;
  box->job = job.ticket();
  Box* const own = box.get();
  const fs::path folder = box->folder;
  Status done = lay_out_isolated(task, folder);
  if (done && !permission_.is_valid()) {  // the files may have taken long
    remove_folder(folder);
    waiting.push_front(job.ticket());
    return;
  }
  if (done) {
    ContainerPlan plan = plan_of(*box, task);
    plan.target = kIsolatedMount;
    plan.reads_input = true;
    done = start_box(std::move(box), plan, std::get<Container>(task.target), folder / "input.json");
  }
  if (!done) {
    remove_folder(folder);
    return end(job, task_failed(done.error()));
  }
  job.box = own;
  job.task.files.clear();
  job.task.input.clear();
  jobs_.report(job, TaskStarted());
}

void ContainerRunner::Impl::start_service(Service& service) {
  // Without a task the container is started for `scale`; its name then has an empty task id.
  const Job* const first = jobs_.front(service.waiting);
  const Task task = first == nullptr ? Task() : first->task;
  Result<std::unique_ptr<Box>> made = new_box(task, service.sealed);
  if (!made) {
    service.kept_from = now_ + kLongestPause;
    return fail_waiting(service.waiting, made.error());
  }
  std::unique_ptr<Box> box = *std::move(made);
  box->ns = service.ns;
  box->service = &service;
  box->probe.emplace();
  const fs::path folder = box->folder;
  std::error_code error;
  fs::create_directory(folder, error);
  ContainerPlan plan = plan_of(*box, task);
  plan.target = kSharedMount;
  plan.port = box->probe->port();
  Status done;
  if (error) {
    done = fail(std::string(kFunctionFiles), "its folder can't be created: " + error.message());
  } else if (plan.port == 0) {
    done =
        fail(std::string(kFunctionUnavailable), "this machine has no free port for its container");
  } else if (plan.network == kNoNetwork) {
    done = fail(std::string(kFunctionUnavailable),
                "its containers are called over HTTP and need a network, but millrace serve gives "
                "them none; set --container-pool-network, or --container-network");
  } else {
    done = start_box(std::move(box), plan, service.container, "");
  }
  if (done) return;
  remove_folder(folder);
  service.kept_from = now_ + kLongestPause;
  fail_waiting(service.waiting, done.error());
}

/// Output of a reusable container is reported only if the container runs exactly one call.
void ContainerRunner::Impl::heard(Box& box, OutputLines& lines, std::string_view bytes) {
  Job* job = nullptr;
  if (box.job) job = jobs_.find(*box.job);
  if (box.calls.size() == 1) job = jobs_.find(*box.calls.begin());
  OutputAllowance unassigned;
  std::vector<std::string> whole = lines.add(bytes, job == nullptr ? unassigned : job->left);
  if (job != nullptr) jobs_.report_output(*job, std::move(whole));
}

/// Standard output of an isolated container may be the result; whether it is one is known only when
/// the container has ended.
void ContainerRunner::Impl::heard_output(Box& box, std::string_view bytes) {
  if (!box.job) return heard(box, box.output_lines, bytes);
  const size_t room = kMaxAnswerBytes + 1 - box.output.size();
  box.output += bytes.substr(0, room);
  if (Job* const job = jobs_.find(*box.job)) jobs_.heard(*job);
}

}  // namespace millrace
