// The part of FileCalls that services use: they read and write the files of their calls, and answer
// calls by callbacks.
#include <utility>

#include "functions/file_call.h"

namespace millrace {
namespace {

Error under_way() {
  return {"busy", "another answer of this call is under way; try again in a second"};
}

Error not_found_yet() {
  return {"busy",
          "millrace has started, and does not have the files of this call yet; send the same "
          "request again in a second"};
}

}  // namespace

bool was_answered(const TaskEnded& ended) {
  if (ended.result) return true;
  const std::string& code = ended.result.error().code;
  return code != kFunctionUnavailable && code != kFunctionTooLarge && code != kFunctionRefused &&
         !code.starts_with("millrace.timeout.");
}

Error process_ends() { return {"stopping", "millrace is stopping; try again"}; }

void FileCalls::collect(const CallAccess& access, TaskEnded ended,
                        std::function<void(Result<CollectedAnswer>)> then) {
  std::optional<Error> refusal;
  bool is_missing = false;
  {
    const std::lock_guard lock(mutex_);
    CallPtr call = call_of(access);
    is_missing = call == nullptr && has_no_folder(access);
    // The engine knows that the task has ended, and whether this answer repeats the first one.
    if (call != nullptr && call->stage == Call::Stage::kEnding && call->is_stopped) call = nullptr;
    if (call != nullptr && is_ending_) {
      refusal = process_ends();
    } else if (call != nullptr && call->stage >= Call::Stage::kAnswering) {
      refusal = under_way();
    } else if (call != nullptr && ended.result && call->folder->is_lost()) {
      refusal = lost_call_files();
    } else if (call != nullptr) {
      call->stage = Call::Stage::kAnswering;
      call->folder->close();
      answers_.push_back({.call = call, .ended = std::move(ended), .then = std::move(then)});
      changed_.notify_all();
      return;
    }
  }
  if (is_missing && is_awaited(access.task)) refusal = not_found_yet();
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

/// The folder that the key opens. Errors kFilesRefused, `busy`.
Result<std::shared_ptr<CallFolder>> FileCalls::folder_for(const CallAccess& access) const {
  const std::string_view key = AttemptKeys::key_of_attempt(access.key);
  if (!settings_.urls.keys.is_key_of(access.task, key)) return tl::unexpected(no_call_files());
  bool is_missing = false;
  {
    const std::lock_guard lock(mutex_);
    if (const CallPtr call = call_of(access)) return call->folder;
    is_missing = has_no_folder(access);
  }
  return tl::unexpected(is_missing && is_awaited(access.task) ? not_found_yet() : no_call_files());
}

Status FileCalls::clear(const CallAccess& access) {
  const std::shared_ptr<CallFolder> folder = TRY(folder_for(access));
  return folder->clear();
}

/// Whether the key is that of a call with files that has no folder here, at least not yet. The
/// caller holds the lock.
bool FileCalls::has_no_folder(const CallAccess& access) const {
  if (AttemptKeys::key_of_attempt(access.key) == access.key) return false;  // it has no files
  const auto found = calls_.find(access.task);
  return found == calls_.end() || !found->second->folder;
}

/// Whether the files of the task are needed until its callback, also if an earlier process had
/// them. If the store cannot say it, they are.
bool FileCalls::is_awaited(const InstanceId& task) const {
  return settings_.awaits_files && settings_.awaits_files(task).value_or(true);
}

/// The call of the delivery whose key it is; null: it has no folder here. The key was checked, or
/// is checked by the caller. The caller holds the lock.
FileCalls::CallPtr FileCalls::call_of(const CallAccess& access) const {
  const auto found = calls_.find(access.task);
  if (found == calls_.end() || !found->second->folder) return nullptr;
  const std::string& key = found->second->key;
  return key.empty() || key == access.key ? found->second : nullptr;
}

}  // namespace millrace
