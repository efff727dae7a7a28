// What a function is over HTTP: how a service is asked for a task, and how its answer is read. For
// all runners that call services, be they in containers or anywhere else. Any thread.
#pragma once

#include <functional>
#include <string>

#include "http/http_client.h"
#include "model/task.h"

namespace millrace {

/// What is told of a call, on the client's thread: brief, and without blocking.
struct ServiceWatch {
  /// The request goes out. May be empty.
  std::function<void()> sent;
  /// Something of the answer came; as often as it does. May be empty.
  std::function<void()> alive;
  /// Just once, whatever happens: the body of the answer, or the function's error, or one of those
  /// of model/task.h. A call that was cancelled ends with kFunctionUnavailable.
  std::function<void(TaskEnded)> done;
};

/// Asks the service at `url` for a task: POST with the input, sent once, and `Direktiv-` headers
/// that say what of. `folder` is where it finds its files; empty: nowhere. Any thread; never
/// blocks.
HttpClient::Ticket call_service(HttpClient& client, const std::string& url, const Task& task,
                                const std::string& folder, ServiceWatch watch);

/// Asks the service to end what it does for that action: DELETE, once, whether it is heard or not.
void stop_service(HttpClient& client, const std::string& url, const InstanceId& task);

/// Reads an answer: a non-empty `Direktiv-ErrorCode` is the function's error, whatever the status;
/// any status but 2xx without it is kFunctionStatus; else the body is the result. Of a 429 or 503
/// comes its Retry-After too.
TaskEnded read_answer(HttpAnswer answer);

}  // namespace millrace
