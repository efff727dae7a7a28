#include "orchestrator/outgoing/task_dispatch.h"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// How many of those that a load has found are handed out between two batches.
constexpr size_t kHandedOutAtOnce = 256;

TaskInHand in_hand(const StartTask& task) {
  return {.space = task.space,
          .caller = task.caller,
          .by = task.by,
          .workflow = task.workflow,
          .heartbeat = task.heartbeat,
          .sealed = task.sealed};
}

/// Whether somebody had begun with it.
Result<bool> has_begun(const View& view, const StartTask& task) {
  if (!task.caller) return false;
  const auto instance = TRY(read_living(view, task.space, task.caller->instance));
  return instance && waits_for(*instance, *task.caller) &&
         instance->calls[task.caller->index].begun;
}

/// The deadline of a task that was made a while ago: that of its row may have been renewed since,
/// and an attempt that a worker has begun has to end by its own timeout.
Result<std::optional<TimePoint>> present_deadline(const View& view, const StartTask& task) {
  if (!task.caller) return task.deadline;
  const auto instance = TRY(read_living(view, task.space, task.caller->instance));
  if (!instance || !waits_for(*instance, *task.caller)) return task.deadline;
  const Call& call = instance->calls[task.caller->index];
  std::optional<TimePoint> deadline = latest_end(*instance, call);
  const auto& begun_until = call.deadlines[static_cast<size_t>(TimeoutKind::kStartToClose)];
  if (begun_until) deadline = std::min(deadline.value_or(*begun_until), *begun_until);
  return deadline;
}

/// The variables that it takes as files, as they are now; one that is not set is an empty file.
Result<std::vector<TaskFile>> files_of(const View& view, const StartTask& task) {
  std::vector<TaskFile> files;
  for (const FunctionFile& file : task.files) {
    const VariableOwner owner = owner_of(task.space, task.workflow, task.by, file.scope);
    const auto found = read_variable(view, {owner, file.key});
    if (!found && is_damaged_row(found.error())) return tl::unexpected(found.error());
    if (!found) {
      return fail(found.error().code,
                  fmt::format("reading variable {}: {}", file.key, found.error().message));
    }
    files.push_back({.name = file.as, .type = file.type, .bytes = *found ? (*found)->bytes : ""});
  }
  return files;
}

}  // namespace

Status Tasks::load(const View& view) {
  tasks_.clear();
  silences_.clear();
  due_.clear();
  waiting_.clear();
  Status status;
  size_t orphans = 0;
  const auto see = [&](const StartTask& task) {
    if (!catalog_.has_namespace(task.space)) {
      ++orphans;
      return;
    }
    TaskInHand& known = tasks_[task.task] = in_hand(task);
    known.has_begun = begun_.contains(task.task);
    if (!handed_out_.contains(task.task)) due_.push_back(task.task);
    if (!task.heartbeat) return;
    const Result<bool> begun = has_begun(view, task);
    const bool is_lost = !begun && !is_damaged_row(begun.error());
    if (is_lost && status) status = tl::unexpected(begun.error());
    // Whoever works on it gets a new chance: what he told meanwhile nobody heard.
    if (begun && *begun) listen(task.task, known);
  };
  TRY(each_task(view, see, damages_.noting()));
  if (orphans > 0) {
    spdlog::warn("{} tasks are of namespaces that do not exist; they are not handed out", orphans);
  }
  std::reverse(due_.begin(), due_.end());
  return status;
}

void Tasks::note(const InstanceId& task) {
  auto* const undo = undo_.now();
  if (undo == nullptr) return;
  const auto found = tasks_.find(task);
  undo->emplace_back(task, found == tasks_.end() ? std::nullopt : std::optional(found->second));
}

void Tasks::undo() {
  const auto undo = undo_.take();
  for (auto one = undo.rbegin(); one != undo.rend(); ++one) {
    const auto& [id, before] = *one;
    const auto found = tasks_.find(id);
    if (found != tasks_.end() && found->second.silent_at) {
      silences_.erase({*found->second.silent_at, id});
    }
    if (before && before->has_begun) {
      begun_.add(id);
    } else {
      begun_.remove(id);
    }
    if (!before) {
      tasks_.erase(id);
      continue;
    }
    tasks_[id] = *before;
    if (before->silent_at) silences_.emplace(*before->silent_at, id);
  }
}

void Tasks::begin(Transaction& tx, const StartTask& task) {
  note(task.task);
  write_task(tx, task);
  tasks_[task.task] = in_hand(task);
}

void Tasks::end(Transaction& tx, const InstanceId& task) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  note(task);
  if (found->second.silent_at) silences_.erase({*found->second.silent_at, task});
  if (found->second.has_begun) begun_.remove(task);
  tasks_.erase(found);
  erase_task(tx, task);
}

std::vector<InstanceId> Tasks::of(const InstanceId& by) const {
  std::vector<InstanceId> ids;
  for (const auto& [id, task] : tasks_) {
    if (task.by == by) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

const TaskInHand* Tasks::find(const InstanceId& task) const {
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? nullptr : &found->second;
}

std::optional<Duration> Tasks::heard(const InstanceId& task) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return std::nullopt;
  note(task);
  if (!std::exchange(found->second.has_begun, true)) begun_.add(task);
  if (found->second.heartbeat) listen(task, found->second);
  const auto since = std::exchange(found->second.handed_out_at, std::nullopt);
  if (!since) return std::nullopt;
  return clock_.elapsed() - *since;
}

/// It was heard of so long ago.
void Tasks::listen(const InstanceId& id, TaskInHand& task, Duration ago) {
  if (task.silent_at) silences_.erase({*task.silent_at, id});
  task.silent_at = clock_.elapsed() - ago + *task.heartbeat;
  silences_.emplace(*task.silent_at, id);
}

std::vector<InstanceId> Tasks::silent() {
  std::vector<InstanceId> found;
  const Duration now = clock_.elapsed();
  while (!silences_.empty() && silences_.begin()->first <= now) {
    const InstanceId id = silences_.begin()->second;
    note(id);
    silences_.erase(silences_.begin());
    TaskInHand& task = tasks_.at(id);
    task.silent_at.reset();
    const std::optional<Duration> silence = runner_.silence(id);
    if (silence && *silence < *task.heartbeat) {
      listen(id, task, *silence);
    } else {
      found.push_back(id);
    }
  }
  return found;
}

bool Tasks::awaits_look(const InstanceId& task, TimePoint deadline) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return false;
  TaskInHand& known = found->second;
  if (known.looked_for == deadline) return !known.is_unbegun;
  note(task);
  known.looked_for = deadline;
  // A task that this process has not handed out has no runner that could be asked.
  known.is_unbegun = !handed_out_.contains(task) || !runner_.look(task);
  return !known.is_unbegun;
}

void Tasks::looked(const InstanceId& task) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end() || !found->second.looked_for) return;
  note(task);
  found->second.is_unbegun = true;
}

std::optional<Duration> Tasks::next_silence() const {
  if (silences_.empty()) return std::nullopt;
  return silences_.begin()->first;
}

TaskTarget Tasks::target_of(const StartTask& task) const {
  if (const auto* container = std::get_if<Container>(&task.runs)) return *container;
  const auto& service = std::get<NamedService>(task.runs);
  const NamespaceNumber space = catalog_.space_of(task.space, service);
  const ServiceSetting* const setting = catalog_.find_service(task.space, service);
  if (setting != nullptr && setting->target) return *setting->target;
  return default_queue(catalog_.name_of(space), service.name);
}

bool Tasks::is_paused(const StartTask& task) const {
  const auto* const service = std::get_if<NamedService>(&task.runs);
  if (service == nullptr) return false;
  return catalog_.is_held(task.space, *service);
}

void Tasks::resume_all() {
  for (const auto& [service, tasks] : std::exchange(waiting_, {})) {
    due_.insert(due_.begin(), tasks.rbegin(), tasks.rend());
  }
}

void Tasks::resume(NamespaceNumber space, std::string_view service) {
  const auto found = waiting_.find({space, std::string(service)});
  if (found == waiting_.end()) return;
  due_.insert(due_.begin(), found->second.rbegin(), found->second.rend());
  waiting_.erase(found);
}

void Tasks::hand_out(const StartTask& task) {
  if (!task.files.empty()) {
    due_.insert(due_.begin(), task.task);
  } else if (may_go_out(task)) {
    run(task, {});
  }
}

bool Tasks::may_go_out(const StartTask& task) {
  if (!tasks_.contains(task.task)) return false;          // it has ended in the same batch
  if (!catalog_.has_namespace(task.space)) return false;  // a purge ends it
  if (!is_paused(task)) return true;
  waiting_[{task.space, std::get<NamedService>(task.runs).name}].push_back(task.task);
  return false;
}

void Tasks::run(const StartTask& task, std::vector<TaskFile> files) {
  handed_out_.insert(task.task);
  tasks_.at(task.task).handed_out_at = clock_.elapsed();
  crash_point(CrashPoint::kHandingOut);
  runner_.run({.id = task.task,
               .space = catalog_.name_of(task.space),
               .instance = task.by,
               .state = task.state,
               .function = task.function,
               .attempt = task.attempt,
               .target = target_of(task),
               .input = task.input.text(),
               .files = std::move(files),
               .deadline = task.deadline,
               .start_to_close = task.start_to_close});
  crash_point(CrashPoint::kHandedOut);
}

Status Tasks::hand_out_due(const View& view) {
  Status done;
  const size_t most = std::min(kHandedOutAtOnce, due_.size());
  for (size_t i = 0; i < most; ++i) {
    const InstanceId id = due_.back();
    due_.pop_back();
    const Status handed_out = damages_.pass_over(hand_out_due(view, id));
    if (done && !handed_out) done = handed_out;
  }
  return done;
}

Status Tasks::hand_out_due(const View& view, const InstanceId& id) {
  const auto again = [&](const Error& error) -> Status {
    due_.insert(due_.begin(), id);
    return tl::unexpected(error);
  };
  auto task = read_task(view, id);
  if (!task && is_damaged_row(task.error())) return tl::unexpected(task.error());
  if (!task) return again(task.error());
  if (!*task) return {};
  const auto deadline = present_deadline(view, **task);
  if (!deadline && !is_damaged_row(deadline.error())) return again(deadline.error());
  if (deadline) (*task)->deadline = *deadline;
  if (!may_go_out(**task)) return {};
  auto files = files_of(view, **task);
  if (!files && is_damaged_row(files.error())) return tl::unexpected(files.error());
  if (!files) return again(files.error());
  run(**task, *std::move(files));
  return {};
}

void Tasks::stop(const InstanceId& task) {
  if (handed_out_.erase(task) > 0) runner_.stop(task);
}

}  // namespace millrace
