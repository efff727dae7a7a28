#include "functions/http_services.h"

#include <string>
#include <utility>
#include <variant>

#include "functions/service_protocol.h"
#include "policies/timeout_policy.h"

namespace millrace {
namespace {

/// Whether the call ended because its answer was not complete in time.
bool has_timed_out(const TaskEnded& ended) {
  return !ended.result && ended.result.error().code == error_code(TimeoutKind::kStartToClose);
}

}  // namespace

/// One task, from run() until its last report. The runner's mutex guards the members, except those
/// that no other thread uses.
struct HttpServices::Call {
  explicit Call(Task its_task) : task(std::move(its_task)) {}

  const std::string& url() const { return std::get<HttpService>(task.target).url; }

  Task task;
  std::optional<HttpClient::Ticket> ticket;
  bool was_sent = false;
  bool is_stopped = false;
};

HttpServices::~HttpServices() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  for (const auto& [id, call] : calls_) {
    call->is_stopped = true;
    if (call->ticket) client_.cancel(*call->ticket);
  }
  ended_.wait(lock, [this] { return calls_.empty(); });
}

void HttpServices::run(Task task) {
  const auto call = std::make_shared<Call>(std::move(task));
  {
    const std::lock_guard lock(mutex_);
    if (!calls_.try_emplace(call->task.id, call).second) return;  // the task is already under way
  }
  if (call->task.files.empty()) return send(call);
  end(call, {.result = fail(std::string(kFunctionFiles),
                            "an HTTP service has no shared folder for the function's `files`")});
}

void HttpServices::send(const CallPtr& call) {
  std::optional<Duration> limit;
  if (!call->task.has_timeout()) limit = call_timeout_;
  {
    const std::lock_guard lock(mutex_);
    if (!call->is_stopped) {
      // Under the lock, so that no callback runs before the ticket is stored.
      call->ticket =
          call_service(client_, call->url(), call->task, "",
                       {.sent = [this, call] { started(call); },
                        .alive = [this, id = call->task.id] { heartbeats_.heard(id); },
                        .done = [this, call](TaskEnded ended) { end(call, std::move(ended)); },
                        .accepted = accepts_later(call)},
                       limit);
      call->task.input = {};  // saves memory: the client has a copy, and many calls may wait
      return;
    }
  }
  end(call, {.result = fail(std::string(kFunctionUnavailable), "the task was stopped")});
}

/// Empty if the task has no callback: then the service cannot answer later.
std::function<void()> HttpServices::accepts_later(const CallPtr& call) {
  if (!call->task.callback) return nullptr;
  return [this, call] { finish(call, TaskAccepted{}, false); };
}

void HttpServices::started(const CallPtr& call) {
  {
    const std::lock_guard lock(mutex_);
    call->was_sent = true;
  }
  heartbeats_.heard(call->task.id);
  report(call, TaskStarted{});
}

void HttpServices::end(const CallPtr& call, TaskEnded ended) {
  const bool is_late = has_timed_out(ended);
  finish(call, std::move(ended), is_late);
}

/// Sends the last report of the call. `is_late`: the service did not answer in time.
void HttpServices::finish(const CallPtr& call, decltype(TaskReport::what) last, bool is_late) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_unwanted = call->is_stopped || is_late;
    // At shutdown no service is asked to stop, because the next process sends the task again.
    if (is_unwanted && call->was_sent && !closing_) {
      stop_service(client_, call->url(), call->task);
    }
  }
  report(call, std::move(last));
  heartbeats_.forget(call->task.id);
  const std::lock_guard lock(mutex_);
  calls_.erase(call->task.id);
  ended_.notify_all();
}

void HttpServices::report(const CallPtr& call, decltype(TaskReport::what) what) {
  {
    const std::lock_guard lock(mutex_);
    if (call->is_stopped) return;
  }
  sink_.report({call->task.id, std::move(what)}, nullptr);
}

void HttpServices::stop(const InstanceId& task) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(task);
  if (found == calls_.end()) return;
  found->second->is_stopped = true;
  if (found->second->ticket) client_.cancel(*found->second->ticket);
}

bool HttpServices::check_started(const InstanceId& task) {
  CallPtr call;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(task);
    if (found == calls_.end() || !found->second->was_sent) return false;
    call = found->second;
  }
  report(call, TaskStarted{});
  return true;
}

std::optional<Duration> HttpServices::since_heartbeat(const InstanceId& task) const {
  return heartbeats_.since_heartbeat(task);
}

}  // namespace millrace
