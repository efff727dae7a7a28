#include "orchestrator/outgoing/task_dispatch.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// How many due tasks are handed out between two batches, and about how many bytes of files they
/// have.
constexpr size_t kHandedOutAtOnce = 128;
constexpr uint64_t kFileBytesAtOnce = uint64_t{1} << 20;

/// The bytes of tasks of one namespace that a runner may keep in memory until the broker has them.
/// The last one may exceed it. The tasks of all namespaces are sent in one order, so a task waits
/// for no more than that of each other namespace.
constexpr uint64_t kMostWaitingBytes = uint64_t{16} << 20;
/// How often a place for further tasks is looked for, and for how many of a namespace.
constexpr Duration kLookForMemory{20};
constexpr size_t kUnsentReleasedTogether = 64;

/// Whether the call of the task was already started.
Result<bool> has_started(const View& view, const StartTask& task) {
  if (!task.caller) return false;
  const auto instance = TRY(read_caller(view, task.ns, *task.caller));
  return instance && waits_for(*instance, *task.caller) &&
         instance->calls[task.caller->index].started;
}

/// The current deadline of a task that was created earlier: the task's call may have got new
/// deadlines since, and an attempt that a worker has started must end by the timeout of that
/// attempt.
Result<std::optional<TimePoint>> present_deadline(const View& view, const StartTask& task) {
  if (!task.caller) return task.deadline;
  const auto instance = TRY(read_caller(view, task.ns, *task.caller));
  if (!instance || !waits_for(*instance, *task.caller)) return task.deadline;
  const Call& call = instance->calls[task.caller->index];
  std::optional<TimePoint> deadline = latest_end(*instance, call);
  const auto& started_until = call.deadlines[static_cast<size_t>(TimeoutKind::kStartToClose)];
  if (started_until) deadline = std::min(deadline.value_or(*started_until), *started_until);
  return deadline;
}

/// The call of which the task is an attempt, as Task::call. A call that no instance waits for has
/// one attempt.
std::string call_of(const StartTask& task) {
  if (!task.caller) return to_string(task.task);
  const Caller& caller = *task.caller;
  return fmt::format("{}-{}-{}", to_string(caller.instance), caller.entered, caller.index);
}

}  // namespace

OpenTask TaskDispatch::summary_of(const StartTask& task, const std::optional<CallPlace>& place) {
  const auto* const service = std::get_if<NamedService>(&task.runs);
  const std::string& name = service == nullptr ? task.function : service->name;
  return {.ns = task.ns,
          .caller = task.caller,
          .by = task.by,
          .workflow = task.workflow,
          .service = started_.services().number_of(task.ns, name),
          .heartbeat = task.heartbeat,
          .is_accepted = task.is_accepted,
          .has_files = has_served_files(task),
          .place = place,
          .slots = place ? call_slot_key_of(task) : CallSlotKey(),
          .throttle = open_throttle(task),
          .sealed = task.sealed};
}

Status TaskDispatch::load(const View& view) {
  tasks_.clear();
  clear_waits();
  started_.count_again();
  heartbeat_deadlines_.clear();
  due_.clear();
  waiting_.clear();
  unsent_.clear();
  budget_.clear_held();
  holds_tasks_ = false;
  Status status;
  size_t orphans = 0;
  // Their services may ask for the files at any time.
  std::vector<InstanceId> accepted;
  const auto see = [&](const StartTask& task) {
    if (!catalog_.has_namespace(task.ns)) {
      ++orphans;
      return;
    }
    put(task.task, stored_summary(view, task, status));
    OpenTask& known = tasks_.find(task.task)->second;
    known.has_started = started_.contains(task.task);
    const auto* const handed_out = handed_out_.find(task.task);
    if (handed_out == nullptr) {
      if (task.is_accepted && known.has_files) accepted.push_back(task.task);
      if (!task.is_accepted && !known.awaits_turn()) due_.push_back(task.task);
    } else {
      known.sealed |= handed_out->second;
    }
    if (!task.heartbeat) return;
    const Result<bool> started = has_started(view, task);
    const bool is_lost = !started && !is_damaged_row(started.error());
    if (is_lost && status) status = tl::unexpected(started.error());
    // The heartbeat timeout of the worker starts again, because millrace did not receive heartbeats
    // during the restart.
    if (started && *started) listen(task.task, known);
  };
  TRY(each_task(view, see, damages_.noting()));
  if (orphans > 0) {
    spdlog::warn("{} tasks belong to namespaces that do not exist; they are not handed out",
                 orphans);
  }
  std::reverse(due_.begin(), due_.end());
  due_.insert(due_.end(), accepted.rbegin(), accepted.rend());
  return status;
}

void TaskDispatch::note(const InstanceId& task) {
  auto* const undo = undo_.now();
  if (undo == nullptr) return;
  auto* const found = tasks_.find(task);
  undo->emplace_back(task, found == nullptr ? std::nullopt : std::optional(found->second));
}

void TaskDispatch::undo() {
  const auto undo = undo_.take();
  for (auto one = undo.rbegin(); one != undo.rend(); ++one) {
    const auto& [id, before] = *one;
    auto* const found = tasks_.find(id);
    if (found != nullptr && found->second.heartbeat_deadline) {
      heartbeat_deadlines_.erase({*found->second.heartbeat_deadline, id});
    }
    if (before && before->has_started) {
      started_.add(id);
    } else {
      started_.remove(id);
    }
    if (!before) {
      remove(id);
      continue;
    }
    put(id, *before);
    if (before->heartbeat_deadline) heartbeat_deadlines_.emplace(*before->heartbeat_deadline, id);
  }
}

void TaskDispatch::begin(Transaction& tx, const StartTask& task,
                         const std::optional<CallPlace>& place) {
  note(task.task);
  write_task(tx, task);
  OpenTask known = summary_of(task, place);
  const bool waits = place && place->kind == QueueRow::kCallWaiting;
  if (waits && task.slot->timeout) known.slot_until = task.slot->timeout->after(task.created);
  put(task.task, std::move(known));
}

void TaskDispatch::put(const InstanceId& id, OpenTask task) {
  const NamespaceNumber ns = task.ns;
  if (const auto* const before = tasks_.find(id)) count_awaiting(id, before->second, false);
  count_awaiting(id, task, true);
  if (tasks_.set(id, std::move(task)).second) started_.began(ns);
}

void TaskDispatch::remove(const InstanceId& id) {
  auto* const found = tasks_.find(id);
  if (found == nullptr) return;
  started_.ended(found->second.ns);
  count_awaiting(id, found->second, false);
  tasks_.erase(id);
}

void TaskDispatch::end(Transaction& tx, const InstanceId& task) {
  auto* const found = tasks_.find(task);
  if (found == nullptr) return;
  note(task);
  if (found->second.heartbeat_deadline)
    heartbeat_deadlines_.erase({*found->second.heartbeat_deadline, task});
  if (found->second.has_started) started_.remove(task);
  remove(task);
  erase_task(tx, task);
}

std::vector<InstanceId> TaskDispatch::of(const InstanceId& by) const {
  std::vector<InstanceId> ids;
  tasks_.each([&](const auto& known) {
    if (known.second.by == by) ids.push_back(known.first);
  });
  std::sort(ids.begin(), ids.end());
  return ids;
}

const OpenTask* TaskDispatch::find(const InstanceId& task) const {
  auto* const found = tasks_.find(task);
  return found == nullptr ? nullptr : &found->second;
}

bool TaskDispatch::is_called_directly(const InstanceId& task) const {
  if (budget_.is_handed_out(task)) return true;
  const OpenTask* const known = find(task);
  return known != nullptr && known->is_accepted;
}

Result<bool> TaskDispatch::accept(Transaction& tx, const InstanceId& task) {
  auto* const found = tasks_.find(task);
  if (found == nullptr || found->second.is_accepted) return false;
  auto row = TRY(read_task(tx, task));
  if (!row) return false;
  note(task);
  found->second.is_accepted = true;
  row->is_accepted = true;
  // A variable that made it sealed may have another value when the next process keeps its files.
  row->sealed |= found->second.sealed;
  write_task(tx, *row);
  return true;
}

std::optional<Duration> TaskDispatch::heard(const InstanceId& task) {
  auto* const found = tasks_.find(task);
  if (found == nullptr) return std::nullopt;
  note(task);
  if (!std::exchange(found->second.has_started, true)) started_.add(task);
  if (found->second.heartbeat) listen(task, found->second);
  const auto since = std::exchange(found->second.handed_out_at, std::nullopt);
  if (!since) return std::nullopt;
  const Duration after = clock_.elapsed() - *since;
  started_.services().started(found->second.service, after);
  return after;
}

void TaskDispatch::note_failure(const OpenTask& task, const Error& error, TimePoint at) const {
  started_.services().failed(task.service, error, static_cast<bool>(task.sealed), at);
}

/// Sets the heartbeat deadline of a task whose last heartbeat was `ago` before now.
void TaskDispatch::listen(const InstanceId& id, OpenTask& task, Duration ago) {
  if (task.heartbeat_deadline) heartbeat_deadlines_.erase({*task.heartbeat_deadline, id});
  task.heartbeat_deadline = clock_.elapsed() - ago + *task.heartbeat;
  heartbeat_deadlines_.emplace(*task.heartbeat_deadline, id);
}

std::vector<InstanceId> TaskDispatch::missed_heartbeats(size_t most) {
  std::vector<InstanceId> found;
  const Duration now = clock_.elapsed();
  for (size_t left = most; left > 0; --left) {
    if (heartbeat_deadlines_.empty() || heartbeat_deadlines_.begin()->first > now) break;
    const InstanceId id = heartbeat_deadlines_.begin()->second;
    note(id);
    heartbeat_deadlines_.erase(heartbeat_deadlines_.begin());
    OpenTask& task = tasks_.find(id)->second;
    task.heartbeat_deadline.reset();
    const std::optional<Duration> silence = runner_.since_heartbeat(id);
    if (silence && *silence < *task.heartbeat) {
      listen(id, task, *silence);
    } else {
      found.push_back(id);
    }
  }
  return found;
}

bool TaskDispatch::awaits_start_check(const InstanceId& task, TimePoint deadline) {
  auto* const found = tasks_.find(task);
  if (found == nullptr) return false;
  OpenTask& known = found->second;
  if (known.looked_for == deadline) return !known.is_not_started;
  note(task);
  known.looked_for = deadline;
  // A task that this process has not handed out has no runner to ask.
  known.is_not_started = !handed_out_.contains(task) || !runner_.check_started(task);
  return !known.is_not_started;
}

void TaskDispatch::start_checked(const InstanceId& task) {
  auto* const found = tasks_.find(task);
  if (found == nullptr || !found->second.looked_for) return;
  note(task);
  found->second.is_not_started = true;
}

std::optional<Duration> TaskDispatch::next_heartbeat_deadline() const {
  if (heartbeat_deadlines_.empty()) return std::nullopt;
  return heartbeat_deadlines_.begin()->first;
}

TaskTarget TaskDispatch::target_of(const StartTask& task) const {
  if (const auto* container = std::get_if<Container>(&task.runs)) return *container;
  const auto& service = std::get<NamedService>(task.runs);
  const NamespaceNumber ns = catalog_.ns_of(task.ns, service);
  const ServiceSetting* const setting = catalog_.find_service(task.ns, service);
  if (setting != nullptr && setting->target) return *setting->target;
  return default_queue(catalog_.name_of(ns), service.name);
}

bool TaskDispatch::is_budgeted(const StartTask& task) const {
  const auto* const service = std::get_if<NamedService>(&task.runs);
  if (service == nullptr) return true;  // a container
  const ServiceSetting* const setting = catalog_.find_service(task.ns, *service);
  return setting != nullptr && setting->target &&
         std::holds_alternative<HttpService>(*setting->target);
}

bool TaskDispatch::is_paused(const StartTask& task) const {
  const auto* const service = std::get_if<NamedService>(&task.runs);
  if (service == nullptr) return false;
  return catalog_.is_held(task.ns, *service);
}

void TaskDispatch::resume_all() {
  for (const auto& [service, tasks] : std::exchange(waiting_, {})) {
    due_.insert(due_.begin(), tasks.rbegin(), tasks.rend());
  }
}

void TaskDispatch::resume(NamespaceNumber ns, std::string_view service) {
  const auto found = waiting_.find({ns, std::string(service)});
  if (found == waiting_.end()) return;
  due_.insert(due_.begin(), found->second.rbegin(), found->second.rend());
  waiting_.erase(found);
}

void TaskDispatch::hand_out(const StartTask& task) {
  if (!task.files.empty()) {
    due_.push_front(task.task);
  } else if (may_go_out(task)) {
    run(task, {.sealed = task.sealed});
  }
}

bool TaskDispatch::may_go_out(const StartTask& task) {
  const OpenTask* const known = find(task.task);
  if (known == nullptr) return false;  // the task ended in the batch that created it
  if (known->awaits_turn()) return false;
  if (!catalog_.has_namespace(task.ns)) return false;  // a purge ends the task
  if (is_paused(task)) {
    waiting_[{task.ns, std::get<NamedService>(task.runs).name}].push_back(task.task);
    return false;
  }
  if (!is_budgeted(task)) {
    const auto older = unsent_.find(task.ns);
    const bool is_first = older == unsent_.end() || task.task < *older->second.begin();
    if (is_first && has_memory(task.ns)) return true;
    unsent_[task.ns].insert(task.task);
    return false;
  }
  if (budget_.has_room(task.ns, task.task)) return true;
  budget_.hold(task.task, task.ns);
  holds_tasks_ = true;
  return false;
}

/// Whether the runner may get a further task of the namespace that it keeps in memory until the
/// broker has it.
bool TaskDispatch::has_memory(NamespaceNumber ns) const {
  return runner_.waiting_bytes(catalog_.name_of(ns)) < kMostWaitingBytes;
}

/// Makes the oldest tasks due that waited until the broker has others.
void TaskDispatch::release_unsent() {
  looked_at_ = clock_.elapsed();
  std::vector<InstanceId> released;
  for (auto space = unsent_.begin(); space != unsent_.end();) {
    std::set<InstanceId>& tasks = space->second;
    if (has_memory(space->first)) {
      const size_t number = std::min(kUnsentReleasedTogether, tasks.size());
      const auto behind = std::next(tasks.begin(), static_cast<std::ptrdiff_t>(number));
      released.insert(released.end(), tasks.begin(), behind);
      tasks.erase(tasks.begin(), behind);
    }
    space = tasks.empty() ? unsent_.erase(space) : std::next(space);
  }
  due_.assign(released.rbegin(), released.rend());
}

void TaskDispatch::forget_unsent(const InstanceId& task) {
  for (auto space = unsent_.begin(); space != unsent_.end();) {
    space->second.erase(task);
    space = space->second.empty() ? unsent_.erase(space) : std::next(space);
  }
}

size_t TaskDispatch::held() const {
  size_t number = budget_.held();
  for (const auto& [ns, tasks] : unsent_) number += tasks.size();
  return number;
}

std::optional<Duration> TaskDispatch::next_time() const {
  const std::optional<Duration> deadline = next_heartbeat_deadline();
  if (unsent_.empty()) return deadline;
  const Duration look = looked_at_ + kLookForMemory;
  return std::min(deadline.value_or(look), look);
}

Task TaskDispatch::made(const StartTask& task, FilesOfTask files) const {
  return {.id = task.task,
          .ns = catalog_.name_of(task.ns),
          .instance = task.by,
          .state = task.state,
          .function = task.function,
          .attempt = task.attempt,
          .call = call_of(task),
          .target = target_of(task),
          .input = task.input.text(),
          .files = std::move(files.all),
          .deadline = task.deadline,
          .start_to_close = task.start_to_close,
          .heartbeat = task.heartbeat,
          .sealed = files.sealed,
          .progress = task.progress};
}

void TaskDispatch::run(const StartTask& task, FilesOfTask files) {
  handed_out_.set(task.task, files.sealed);
  OpenTask& known = tasks_.find(task.task)->second;
  known.handed_out_at = clock_.elapsed();
  known.sealed = files.sealed;
  crash_point(CrashPoint::kHandingOut);
  if (is_budgeted(task)) {
    budget_.hand_out(task.task, task.ns, task.input.text().size() + files.bytes);
  }
  runner_.run(made(task, std::move(files)));
  crash_point(CrashPoint::kHandedOut);
}

Status TaskDispatch::hand_out_due(const View& view) {
  Status done;
  if (due_.empty() && holds_tasks_) {
    const std::vector<InstanceId> released = budget_.release();
    due_.assign(released.rbegin(), released.rend());
    holds_tasks_ = budget_.held() > 0;
  }
  if (due_.empty() && !unsent_.empty()) release_unsent();
  const size_t most = std::min(kHandedOutAtOnce, due_.size());
  uint64_t file_bytes = 0;
  for (size_t i = 0; i < most && file_bytes < kFileBytesAtOnce; ++i) {
    const InstanceId id = due_.back();
    due_.pop_back();
    const Status handed_out = damages_.pass_over(hand_out_due(view, id, file_bytes));
    if (done && !handed_out) done = handed_out;
  }
  return done;
}

/// Adds the bytes of its files to `file_bytes`. Of a task that its service has accepted in an
/// earlier process, only the files are passed on.
Status TaskDispatch::hand_out_due(const View& view, const InstanceId& id, uint64_t& file_bytes) {
  const auto again = [&](const Error& error) -> Status {
    due_.push_front(id);
    return tl::unexpected(error);
  };
  auto task = read_task(view, id);
  if (!task && is_damaged_row(task.error())) return tl::unexpected(task.error());
  if (!task) return again(task.error());
  if (!*task || ((*task)->is_accepted && !has_served_files(**task))) return {};
  const auto deadline = present_deadline(view, **task);
  if (!deadline && !is_damaged_row(deadline.error())) return again(deadline.error());
  if (deadline) (*task)->deadline = *deadline;
  if (!(*task)->is_accepted && !may_go_out(**task)) return {};
  auto files = files_of(view, **task, read_variable_);
  if (!files && is_damaged_row(files.error())) return tl::unexpected(files.error());
  if (!files) return again(files.error());
  file_bytes += files->bytes;
  // What the function reports may contain the file, so the reports are sealed from here on. Nothing
  // of the file is in a row of the task, so no row has to change.
  files->sealed |= (*task)->sealed;
  if (!(*task)->is_accepted) {
    run(**task, *std::move(files));
  } else if (OpenTask* const known =
                 tasks_.find(id) == nullptr ? nullptr : &tasks_.find(id)->second) {
    known->sealed = files->sealed;
    handed_out_.set(id, files->sealed);
    runner_.keep_files(made(**task, *std::move(files)));
  }
  return {};
}

void TaskDispatch::forget(const InstanceId& task) {
  budget_.end(task);
  forget_unsent(task);
  handed_out_.erase(task);
}

void TaskDispatch::stop(const InstanceId& task) {
  budget_.end(task);
  forget_unsent(task);
  if (handed_out_.erase(task)) runner_.stop(task);
}

}  // namespace millrace
