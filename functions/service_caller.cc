#include "functions/service_caller.h"

#include <utility>

#include "functions/http_service.h"

namespace millrace {

void ServiceCaller::call(HttpCall call) {
  const std::lock_guard guard(lock_);
  const InstanceId id = call.task.id;
  // Nothing is told before the ticket is known: the client's thread waits for the lock.
  const auto forgets = [this, id, done = std::move(call.done)](TaskEnded ended) {
    {
      const std::lock_guard forgetting(lock_);
      calls_.erase(id);
    }
    done(std::move(ended));
  };
  const HttpClient::Ticket ticket = call_service(client_, call.url, call.task, call.folder,
                                                 {.alive = std::move(call.alive), .done = forgets});
  calls_[id] = {.ticket = ticket, .url = std::move(call.url)};
}

void ServiceCaller::stop(const InstanceId& task) {
  Call call;
  {
    const std::lock_guard guard(lock_);
    const auto found = calls_.find(task);
    if (found == calls_.end()) return;
    call = found->second;
  }
  client_.cancel(call.ticket);
  stop_service(client_, call.url, task);
}

}  // namespace millrace
