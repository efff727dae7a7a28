#include "functions/file_calls.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "functions/container_folder.h"
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

/// Whether the service has answered the call, with a result or an error: only then its files count.
bool was_answered(const TaskEnded& ended) {
  if (ended.result) return true;
  const std::string& code = ended.result.error().code;
  return code != kFunctionUnavailable && code != kFunctionTooLarge && code != kFunctionRefused &&
         !code.starts_with("millrace.timeout.");
}

Error stopping() { return {"stopping", "millrace is stopping; try again"}; }

Error under_way() {
  return {"busy", "another answer of this call is under way; try again in a second"};
}

TaskEnded too_many_accepted(size_t most) {
  return {.result = tl::unexpected(Error{
              std::string(kFunctionUnavailable),
              fmt::format("the service has accepted its call, but so many accepted calls have "
                          "files already that the namespace gets no further place; the server "
                          "has {}",
                          most)})};
}

TaskReport ended_with(const InstanceId& task, const Error& error) {
  return {.task = task, .what = TaskEnded{.result = tl::unexpected(error)}};
}

}  // namespace

/// A call that has files, from run() until its end was reported. The mutex of the runner guards the
/// members, except those that no other thread uses.
struct FileCalls::Call {
  explicit Call(Task its_task) : id(its_task.id), ns(its_task.ns), task(std::move(its_task)) {}

  enum class Stage : uint8_t {
    kWaiting,    ///< for a place
    kMaking,     ///< its folder is made, and the task is passed on
    kRunning,    ///< the runner has the task, or its service has accepted it
    kAnswering,  ///< an answer by a callback is under way
    kEnding,     ///< it has ended; its variables are collected
  };

  const InstanceId id;
  const std::string ns;
  Task task;  ///< until it is passed on
  Stage stage = Stage::kWaiting;
  bool is_stopped = false;
  bool is_accepted = false;            ///< by its service, which answers it by a callback
  std::string key;                     ///< of this delivery; set with the folder
  std::shared_ptr<CallFolder> folder;  ///< null: it is not made yet
  /// The end that the runner has reported while kAnswering; without the call.
  std::optional<End> held = std::nullopt;
};

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
    call.folder->remove();
  };
  for (const auto& [id, call] : calls_) remove(*call);
  for (const End& one : ends_) remove(*one.call);
  ends_.clear();
  for (const Answer& one : answers_) remove(*one.call);
  answers_left.swap(answers_);
  // `calls_` stays: a report on one of them is dropped.
  lock.unlock();
  for (const Answer& one : answers_left) one.then(tl::unexpected(stopping()));
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
    std::unique_lock lock(mutex_);
    if (const auto found = calls_.find(report.task); found != calls_.end()) {
      const CallPtr call = found->second;
      if (is_ending_ || call->stage == Call::Stage::kEnding || !call->folder) return;
      if (std::holds_alternative<TaskAccepted>(report.what)) {
        if (take_acceptance(call)) {
          lock.unlock();
          return sink_.report(std::move(report), std::move(stored));
        }
        report.what = too_many_accepted(settings_.accepted_places);
      }
      if (call->stage == Call::Stage::kAnswering) {
        call->held = {.call = {}, .report = std::move(report), .stored = std::move(stored)};
        return;
      }
      call->stage = Call::Stage::kEnding;
      call->folder->close();  // the service can change nothing behind its answer
      ends_.push_back({.call = call, .report = std::move(report), .stored = std::move(stored)});
      changed_.notify_all();
      return;
    }
  }
  sink_.report(std::move(report), std::move(stored));
}

void FileCalls::work() {
  name_thread("files");
  // What an earlier process has left.
  remove_folder(settings_.folder);
  remove_folder(settings_.sealed_folder);
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    if (!answers_.empty()) {
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
  const Result<std::shared_ptr<CallFolder>> folder = [&]() -> Result<std::shared_ptr<CallFolder>> {
    std::filesystem::path path = TRY(folder_of(call->task));
    return CallFolder::make(call->task.files, std::move(path));
  }();
  Task task = std::move(call->task);
  task.files.clear();
  const std::string delivery = fmt::format("{}-{}", settings_.process, last_folder_);
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

void FileCalls::collect(const CallAccess& access, TaskEnded ended,
                        std::function<void(Result<CollectedAnswer>)> then) {
  std::optional<Error> refusal;
  {
    const std::lock_guard lock(mutex_);
    CallPtr call = call_of(access);
    // The engine knows that the task has ended, and whether this answer repeats the first one.
    if (call != nullptr && call->stage == Call::Stage::kEnding && call->is_stopped) call = nullptr;
    if (call != nullptr && is_ending_) {
      refusal = stopping();
    } else if (call != nullptr && call->stage >= Call::Stage::kAnswering) {
      refusal = under_way();
    } else if (call != nullptr) {
      call->stage = Call::Stage::kAnswering;
      call->folder->close();
      answers_.push_back({.call = call, .ended = std::move(ended), .then = std::move(then)});
      changed_.notify_all();
      return;
    }
  }
  if (refusal) return then(tl::unexpected(*std::move(refusal)));
  then(CollectedAnswer{.ended = std::move(ended)});
}

/// Passes an answer by a callback on with the variables. The folder stays until it is settled.
void FileCalls::pass_on(Answer answer) {
  CollectedAnswer collected{.ended = std::move(answer.ended), .has_files = true};
  if (was_answered(collected.ended)) {
    Result<std::vector<TaskVariable>> variables = answer.call->folder->collect();
    if (variables) {
      collected.ended.variables = *std::move(variables);
    } else {
      collected.wrong_files = variables.error();
    }
  }
  collected.settle = [this, call = answer.call](bool has_ended) { settle(call, has_ended); };
  answer.then(std::move(collected));
}

/// After an answer by a callback: ends the call, or lets the service answer again.
void FileCalls::settle(const CallPtr& call, bool has_ended) {
  const std::lock_guard lock(mutex_);
  if (is_ending_) return;  // end() removes the folder, or the next process
  if (!has_ended && !call->is_stopped && !call->held) {
    call->stage = Call::Stage::kRunning;
    call->folder->open_again();
    return;
  }
  call->stage = Call::Stage::kEnding;
  End end;
  if (call->held) end = *std::exchange(call->held, std::nullopt);
  end.call = call;
  if (has_ended) call->is_stopped = true;  // nothing is to be reported
  ends_.push_back(std::move(end));
  changed_.notify_all();
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

/// Where the folder of the call is made. Error: see prepare_sealed_folder().
Result<std::filesystem::path> FileCalls::folder_of(const Task& task) {
  const std::string name = fmt::format("{}-{}", to_string(task.id), ++last_folder_);
  if (!task.sealed && !has_folder_) {
    settings_.folder = prepare_container_folder(settings_.folder);
    has_folder_ = true;
  }
  if (!task.sealed) return settings_.folder / name;
  if (!has_sealed_folder_) {
    settings_.sealed_folder = TRY(prepare_sealed_folder(settings_.sealed_folder));
    has_sealed_folder_ = true;
  }
  return settings_.sealed_folder / name;
}

Result<Json> FileCalls::list(const CallAccess& access) {
  const std::shared_ptr<CallFolder> folder = TRY(folder_for(access));
  return folder->list(settings_.urls.files_of(access.task));
}

Result<std::shared_ptr<FileSource>> FileCalls::read(const CallAccess& access,
                                                    std::string_view name) {
  const std::shared_ptr<CallFolder> folder = TRY(folder_for(access));
  return folder->read(name);
}

Result<std::shared_ptr<FileSink>> FileCalls::write(const CallAccess& access, std::string_view name,
                                                   bool executable) {
  const std::shared_ptr<CallFolder> folder = TRY(folder_for(access));
  return folder->write(name, executable);
}

/// The folder that the key opens. Error kFilesRefused.
Result<std::shared_ptr<CallFolder>> FileCalls::folder_for(const CallAccess& access) const {
  const std::string_view key = AttemptKeys::key_of_attempt(access.key);
  if (!settings_.urls.keys.is_key_of(access.task, key)) return tl::unexpected(no_call_files());
  const std::lock_guard lock(mutex_);
  const CallPtr call = call_of(access);
  if (call == nullptr) return tl::unexpected(no_call_files());
  return call->folder;
}

/// The call of the delivery whose key it is; null: it has no folder here. The key was checked, or
/// is checked by the caller. The caller holds the lock.
FileCalls::CallPtr FileCalls::call_of(const CallAccess& access) const {
  const auto found = calls_.find(access.task);
  if (found == calls_.end() || !found->second->folder) return nullptr;
  return found->second->key == access.key ? found->second : nullptr;
}

FileCalls::Counts FileCalls::counts() const {
  const std::lock_guard lock(mutex_);
  size_t waiting = 0;
  for (const auto& [ns, queue] : queues_) waiting += queue.waiting.size();
  return {.open = open_, .waiting = waiting, .accepted = accepted_};
}

}  // namespace millrace
