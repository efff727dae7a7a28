// The protocol of functions over HTTP: how a service gets a task, and how its answer is read. For
// all runners that call services, in containers or elsewhere. Any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "http/http_client.h"
#include "model/task.h"

namespace millrace {

/// Callbacks of a call, on the client's thread. The callbacks must be brief and not block.
struct ServiceWatch {
  /// Called when the request is being sent. May be empty.
  std::function<void()> sent;
  /// Called each time a part of the answer comes. May be empty.
  std::function<void()> alive;
  /// Called exactly once: with the body of the answer, the function's error, or an error of
  /// model/task.h. A cancelled call ends with kFunctionUnavailable.
  std::function<void(TaskEnded)> done;
  /// Called in place of `done` if the service answers that it has accepted the task (is_accepted).
  /// Empty: such an answer is a result like any other.
  std::function<void()> accepted = nullptr;
};

/// Whether a service answers that it has accepted the task, and will answer it by a callback: a 2xx
/// with the header `Millrace-Answer: accepted` and without `Direktiv-ErrorCode`.
bool is_accepted(const HttpAnswer& answer);

/// Sends a task to the service at `url`: one POST with the input and `Direktiv-` headers. The POST
/// is not repeated. `folder` is the folder with the task's files, as the service sees it; empty if
/// the task has no folder. If the answer is not complete within `limit` after the request was sent,
/// the call ends with call_limit_error(); nullopt: no limit. Any thread; never blocks.
HttpClient::Ticket call_service(HttpClient& client, const std::string& url, const Task& task,
                                const std::string& folder, ServiceWatch watch,
                                std::optional<Duration> limit = std::nullopt);

/// Asks the service to stop the work for that task: one DELETE, whose result is ignored.
void stop_service(HttpClient& client, const std::string& url, const Task& task);

/// Reads an answer. A non-empty `Direktiv-ErrorCode` is the function's error, whatever the status
/// is. Without that header, any status other than 2xx is kFunctionStatus; otherwise the body is the
/// result. For an error with status 429 or 503, the header Retry-After is read too.
TaskEnded read_answer(HttpAnswer answer);

}  // namespace millrace
