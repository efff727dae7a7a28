#include "functions/file_calls.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "functions/container_folder.h"
#include "functions/file_call.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// Whether the task is called, and its service cannot see the folder of a container.
bool is_elsewhere(const Task& task) {
  return std::holds_alternative<HttpService>(task.target) ||
         std::holds_alternative<NatsService>(task.target);
}

/// The bytes of a task that is waiting, and that no budget of its namespace has counted: those for
/// HTTP services are counted until they have ended.
uint64_t uncounted_bytes(const Task& task) {
  if (!std::holds_alternative<NatsService>(task.target)) return 0;
  uint64_t bytes = task.input.size();
  for (const TaskFile& file : task.files) bytes += file.bytes.size();
  return bytes;
}

TaskEnded too_many_accepted(size_t most) {
  return {.result = tl::unexpected(Error{
              std::string(kFunctionUnavailable),
              fmt::format("the service has accepted its call, but so many accepted calls have "
                          "files already that the namespace gets no further place; the server "
                          "has {}",
                          most)})};
}

/// The error of an accepted call whose files cannot be kept for it.
Error not_kept(const Error& error) {
  return {std::string(kFunctionUnavailable),
          fmt::format("the service has accepted its call, but the files of the call can't be kept "
                      "until its callback: {}",
                      error.message)};
}

TaskReport ended_with(const InstanceId& task, const Error& error) {
  return {.task = task, .what = TaskEnded{.result = tl::unexpected(error)}};
}

}  // namespace

FileCalls::FileCalls(FileCallSettings settings, TaskRunner& runner, TaskSink& sink)
    : settings_(std::move(settings)), runner_(runner), sink_(sink), thread_([this] { work(); }) {}

void FileCalls::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::deque<Answer> answers_left;
  std::unique_lock lock(mutex_);
  const auto remove = [](const Call& call) {
    if (!call.folder) return;
    call.folder->close();
    if (!call.outlives_process()) call.folder->remove();
  };
  for (const auto& [id, call] : calls_) remove(*call);
  for (const End& one : ends_) remove(*one.call);
  ends_.clear();
  for (const Answer& one : answers_) remove(*one.call);
  answers_left.swap(answers_);
  // `calls_` stays: a report on one of them is dropped.
  lock.unlock();
  for (const Answer& one : answers_left) one.then(tl::unexpected(process_ends()));
}

void FileCalls::run(Task task) {
  if (task.files.empty() || !is_elsewhere(task)) return runner_.run(std::move(task));
  const uint64_t bytes = uncounted_bytes(task);
  const auto call = std::make_shared<Call>(std::move(task));
  const std::lock_guard lock(mutex_);
  if (is_ending_) return;
  if (!calls_.try_emplace(call->id, call).second) return;  // the call is already under way
  Queue& queue = queues_[call->ns];
  queue.waiting.push_back(call);
  queue.waiting_bytes += bytes;
  changed_.notify_all();
}

void FileCalls::keep_files(Task task) {
  const auto call = std::make_shared<Call>(std::move(task));
  call->stage = Call::Stage::kMaking;
  call->is_accepted = true;
  call->is_of_earlier_process = true;
  const std::lock_guard lock(mutex_);
  if (is_ending_) return;
  if (!calls_.try_emplace(call->id, call).second) return;
  ++queues_[call->ns].accepted;  // it had a place, so it needs none to be free
  ++accepted_;
  left_.push_back(call);
  changed_.notify_all();
}

void FileCalls::stop(const InstanceId& task) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(task);
    if (found != calls_.end()) {
      const CallPtr call = found->second;
      calls_.erase(found);  // the same task may come again at once
      const bool is_answered = std::exchange(call->is_stopped, true);
      if (call->stage == Call::Stage::kWaiting) {
        Queue& queue = queues_[call->ns];
        std::erase(queue.waiting, call);
        queue.waiting_bytes -= uncounted_bytes(call->task);
        return forget(call);
      }
      // The thread, or settle(), sees it.
      if (call->stage == Call::Stage::kMaking) return;
      if (call->stage == Call::Stage::kEnding && !is_answered) return;
      if (call->stage == Call::Stage::kRunning) {
        call->stage = Call::Stage::kEnding;
        call->folder->close();
        ends_.push_back({.call = call, .report = {}, .stored = {}});
        changed_.notify_all();
      }
      if (call->is_of_earlier_process) return;
    }
  }
  runner_.stop(task);
}

uint64_t FileCalls::waiting_bytes(std::string_view ns) const {
  uint64_t bytes = runner_.waiting_bytes(ns);
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(ns);
  if (found != queues_.end()) bytes += found->second.waiting_bytes;
  return bytes;
}

void FileCalls::report(TaskReport report, std::function<void()> stored) {
  // A report with a namespace came over a subject on which any client may publish, and not from the
  // service that has the call.
  const bool is_last = std::holds_alternative<TaskEnded>(report.what) ||
                       std::holds_alternative<TaskAccepted>(report.what);
  if (is_last && !report.ns) {
    const std::lock_guard lock(mutex_);
    if (const auto found = calls_.find(report.task); found != calls_.end()) {
      const CallPtr call = found->second;
      if (is_ending_ || call->stage == Call::Stage::kEnding || !call->folder) return;
      if (std::holds_alternative<TaskAccepted>(report.what)) {
        if (take_acceptance(call)) {
          acceptances_.push_back(
              {.call = call, .report = std::move(report), .stored = std::move(stored)});
          return;
        }
        report.what = too_many_accepted(settings_.accepted_places);
      }
      return end_by_runner(call, std::move(report), std::move(stored));
    }
  }
  sink_.report(std::move(report), std::move(stored));
}

/// Ends a call as its runner has reported. The caller holds the lock.
void FileCalls::end_by_runner(const CallPtr& call, TaskReport report,
                              std::function<void()> stored) {
  if (call->stage == Call::Stage::kAnswering) {
    call->held = {.call = {}, .report = std::move(report), .stored = std::move(stored)};
    return;
  }
  call->stage = Call::Stage::kEnding;
  call->folder->close();  // the service can change nothing behind its answer
  ends_.push_back({.call = call, .report = std::move(report), .stored = std::move(stored)});
  changed_.notify_all();
}

void FileCalls::work() {
  name_thread("files");
  for (const std::filesystem::path& folder : {settings_.folder, settings_.sealed_folder}) {
    kept_.find(folder, settings_.epoch,
               [this](const InstanceId& task) { return is_awaited(task); });
  }
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    if (!left_.empty()) {
      const CallPtr call = std::move(left_.front());
      left_.pop_front();
      take_over(lock, call);
    } else if (!acceptances_.empty()) {
      Acceptance first = std::move(acceptances_.front());
      acceptances_.pop_front();
      keep(lock, std::move(first));
    } else if (!answers_.empty()) {
      Answer first = std::move(answers_.front());
      answers_.pop_front();
      lock.unlock();
      pass_on(std::move(first));
      lock.lock();
    } else if (!ends_.empty()) {
      End first = std::move(ends_.front());
      ends_.pop_front();
      lock.unlock();
      complete(std::move(first));
      lock.lock();
    } else if (const CallPtr call = take_waiting()) {
      begin(lock, call);
    } else {
      changed_.wait(lock);
    }
  }
}

/// The next call that gets a place: of the namespace with the fewest calls that have one. Null: no
/// call may get one now. The caller holds the lock.
FileCalls::CallPtr FileCalls::take_waiting() {
  if (open_ >= settings_.places) return nullptr;
  const size_t free = settings_.places - open_;
  Queue* first = nullptr;
  for (auto& [ns, queue] : queues_) {
    if (queue.waiting.empty() || queue.open >= free) continue;
    if (first == nullptr || queue.open < first->open) first = &queue;
  }
  if (first == nullptr) return nullptr;
  CallPtr call = std::move(first->waiting.front());
  first->waiting.pop_front();
  first->waiting_bytes -= uncounted_bytes(call->task);
  ++first->open;
  ++open_;
  call->stage = Call::Stage::kMaking;
  return call;
}

/// Makes the folder of the call and passes its task on. Unlocks meanwhile.
void FileCalls::begin(std::unique_lock<std::mutex>& lock, const CallPtr& call) {
  lock.unlock();
  const std::string delivery = next_delivery();
  const Result<std::shared_ptr<CallFolder>> folder = [&]() -> Result<std::shared_ptr<CallFolder>> {
    std::filesystem::path path = TRY(folder_of(call->task, delivery));
    return CallFolder::make(call->task.files, std::move(path));
  }();
  Task task = std::move(call->task);
  task.files.clear();
  task.folder = {.url = settings_.urls.files_of(call->id),
                 .key = settings_.urls.keys.key_of(call->id, delivery)};
  lock.lock();
  call->key = task.folder->key;
  if (folder) call->folder = *folder;
  if (folder && !call->is_stopped) {
    lock.unlock();
    runner_.run(std::move(task));
    lock.lock();
    if (call->stage != Call::Stage::kMaking) return;
    call->stage = Call::Stage::kRunning;
    if (!call->is_stopped) return;
  }
  const bool is_passed_on = call->stage == Call::Stage::kRunning;
  const bool is_stopped = call->is_stopped;
  if (call->folder) call->folder->close();
  lock.unlock();
  if (is_passed_on) runner_.stop(call->id);
  if (call->folder) call->folder->remove();
  lock.lock();
  forget(call);
  if (is_stopped) return;
  lock.unlock();
  sink_.report(ended_with(call->id, folder.error()), {});
  lock.lock();
}

/// Finds or makes the folder of a call that an earlier process has left. Unlocks meanwhile.
void FileCalls::take_over(std::unique_lock<std::mutex>& lock, const CallPtr& call) {
  lock.unlock();
  std::string key;
  const Result<std::shared_ptr<CallFolder>> folder = folder_again(call, key);
  lock.lock();
  call->task = {};
  if (folder && !call->is_stopped) {
    call->key = std::move(key);
    call->folder = *folder;
    call->stage = Call::Stage::kRunning;
    return;
  }
  const bool is_stopped = call->is_stopped;
  forget(call);
  lock.unlock();
  if (folder) {
    (*folder)->close();
    (*folder)->remove();
  } else if (!is_stopped) {
    sink_.report(ended_with(call->id, folder.error()), {});
  }
  lock.lock();
}

/// The folder of a call that an earlier process has left; without it, one with the files that the
/// call is given now, in which the files are missing that its service had written. `key`: see
/// Call::key.
Result<std::shared_ptr<CallFolder>> FileCalls::folder_again(const CallPtr& call, std::string& key) {
  if (const auto kept = kept_.take(call->id)) {
    auto taken = CallFolder::take_over(kept->path, settings_.epoch);
    if (taken && !(*taken)->has_any_key()) {
      key = settings_.urls.keys.key_of(call->id, kept->delivery);
    }
    if (taken) return taken;
    remove_folder(kept->path);
  }
  std::filesystem::path path = TRY(folder_of(call->task, next_delivery()));
  auto made = TRY(CallFolder::make(call->task.files, std::move(path)));
  const Status done = made->keep({.epoch = settings_.epoch, .is_lost = true, .has_any_key = true});
  if (done) return made;
  made->close();
  made->remove();
  return tl::unexpected(not_kept(done.error()));
}

/// Reports that a service has accepted its call when the files are on disk. Unlocks meanwhile.
void FileCalls::keep(std::unique_lock<std::mutex>& lock, Acceptance acceptance) {
  const CallPtr& call = acceptance.call;
  lock.unlock();
  const Status done = call->folder->keep({.epoch = settings_.epoch});
  lock.lock();
  if (is_ending_ || call->is_stopped) return;
  if (!done) {
    return end_by_runner(call, ended_with(call->id, not_kept(done.error())),
                         std::move(acceptance.stored));
  }
  lock.unlock();
  sink_.report(std::move(acceptance.report), std::move(acceptance.stored));
  lock.lock();
}

/// Adds the variables to the answer of the service, and removes the folder.
void FileCalls::complete(End end) {
  const Call& call = *end.call;
  if (auto* const ended = std::get_if<TaskEnded>(&end.report.what); ended && was_answered(*ended)) {
    Result<std::vector<TaskVariable>> variables = call.folder->collect();
    if (variables) {
      ended->variables = *std::move(variables);
    } else if (ended->result) {
      *ended = {.result = tl::unexpected(variables.error())};
    }
  }
  call.folder->remove();
  bool is_wanted = false;
  {
    const std::lock_guard lock(mutex_);
    forget(end.call);
    is_wanted = !call.is_stopped && !is_ending_;
  }
  if (is_wanted) sink_.report(std::move(end.report), std::move(end.stored));
}

/// Gives the place of a call that its service has accepted to another call. Returns false if too
/// many accepted calls have files. The caller holds the lock.
bool FileCalls::take_acceptance(const CallPtr& call) {
  if (call->is_accepted) return true;
  Queue& queue = queues_[call->ns];
  const size_t free = settings_.accepted_places - accepted_;
  if (free == 0 || queue.accepted >= free) return false;
  call->is_accepted = true;
  --queue.open;
  --open_;
  ++queue.accepted;
  ++accepted_;
  changed_.notify_all();
  return true;
}

/// Forgets a call that has ended, and frees its place. The caller holds the lock.
void FileCalls::forget(const CallPtr& call) {
  if (const auto found = calls_.find(call->id); found != calls_.end() && found->second == call) {
    calls_.erase(found);
  }
  const auto queue = queues_.find(call->ns);
  if (queue == queues_.end()) return;
  Queue& own = queue->second;
  if (call->is_accepted) {
    --own.accepted;
    --accepted_;
  } else if (call->stage != Call::Stage::kWaiting) {
    --own.open;
    --open_;
  }
  if (own.open == 0 && own.accepted == 0 && own.waiting.empty()) queues_.erase(queue);
}

/// What no other delivery of an attempt has in its key, in this process or an earlier one.
std::string FileCalls::next_delivery() {
  return fmt::format("{}-{}", settings_.process, ++last_folder_);
}

/// Where the folder of the call is made. Error: see make_sealed_folder().
Result<std::filesystem::path> FileCalls::folder_of(const Task& task, const std::string& delivery) {
  const std::string name = KeptFolders::name_of(task.id, delivery);
  if (!task.sealed && !has_folder_) {
    settings_.folder = make_own_folder(settings_.folder);
    has_folder_ = true;
  }
  if (!task.sealed) return settings_.folder / name;
  if (!has_sealed_folder_) {
    settings_.sealed_folder = TRY(make_sealed_folder(settings_.sealed_folder));
    has_sealed_folder_ = true;
  }
  return settings_.sealed_folder / name;
}

FileCalls::Counts FileCalls::counts() const {
  const std::lock_guard lock(mutex_);
  size_t waiting = 0;
  for (const auto& [ns, queue] : queues_) waiting += queue.waiting.size();
  return {.open = open_, .waiting = waiting, .accepted = accepted_};
}

}  // namespace millrace
