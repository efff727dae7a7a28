#include "functions/http_services.h"

#include <string>
#include <utility>
#include <variant>

#include "functions/service_protocol.h"

namespace millrace {

/// One task from run() until nothing more is heard of it. Guarded by the runner's mutex, but for
/// what no other thread asks for.
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
    if (!calls_.try_emplace(call->task.id, call).second) return;  // it is under way
  }
  if (call->task.files.empty()) return send(call);
  end(call, {.result = fail(std::string(kFunctionFiles),
                            "the service shares no folder that files could be laid in")});
}

void HttpServices::send(const CallPtr& call) {
  {
    const std::lock_guard lock(mutex_);
    if (!call->is_stopped) {
      // Under the lock, so that nobody hears of it before its ticket is known.
      call->ticket =
          call_service(client_, call->url(), call->task, "",
                       {.sent = [this, call] { started(call); },
                        .alive = [this, id = call->task.id] { signs_.heard(id); },
                        .done = [this, call](TaskEnded ended) { end(call, std::move(ended)); }});
      call->task.input = {};  // the client has it; there may be many that wait
      return;
    }
  }
  end(call, {.result = fail(std::string(kFunctionUnavailable), "it was stopped")});
}

void HttpServices::started(const CallPtr& call) {
  {
    const std::lock_guard lock(mutex_);
    call->was_sent = true;
  }
  signs_.heard(call->task.id);
  tell(call, TaskStarted{});
}

void HttpServices::end(const CallPtr& call, TaskEnded ended) {
  {
    const std::lock_guard lock(mutex_);
    // At our own end no service is asked to end: the next process sends the task again.
    if (call->is_stopped && call->was_sent && !closing_) {
      stop_service(client_, call->url(), call->task.id);
    }
  }
  tell(call, std::move(ended));
  signs_.forget(call->task.id);
  const std::lock_guard lock(mutex_);
  calls_.erase(call->task.id);
  ended_.notify_all();
}

void HttpServices::tell(const CallPtr& call, decltype(TaskReport::what) what) {
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

bool HttpServices::look(const InstanceId& task) {
  CallPtr call;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(task);
    if (found == calls_.end() || !found->second->was_sent) return false;
    call = found->second;
  }
  tell(call, TaskStarted{});
  return true;
}

std::optional<Duration> HttpServices::silence(const InstanceId& task) const {
  return signs_.silence(task);
}

}  // namespace millrace
