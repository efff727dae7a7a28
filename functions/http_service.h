// What a function is by HTTP: how a task is asked for and its answer read,
// for whoever calls services, those that run in containers among them; and the runner of tasks
// whose target is an HTTP service.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "functions/signs_of_life.h"
#include "http/http_client.h"
#include "model/task.h"
#include "orchestrator/ports/task_runner.h"

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

/// Runs tasks whose target is an HttpService, and no others. A service may be anywhere, so a task
/// with files ends with kFunctionFiles: there is no folder that both could see.
class HttpServices : public TaskRunner {
 public:
  /// `client` and `sink` outlive it.
  HttpServices(HttpClient& client, TaskSink& sink) : client_(client), sink_(sink) {}

  /// Gives up what is under way, asking no service to end it: it is sent again by the next process.
  /// Nothing is told after it. Not on the client's thread.
  ~HttpServices() override;

  void run(Task task) override;
  void stop(const InstanceId& task) override;
  bool look(const InstanceId& task) override;
  /// Since the request went out, or any byte of the answer came. Signs of life are not told.
  std::optional<Duration> silence(const InstanceId& task) const override;

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  void send(const CallPtr& call);
  void started(const CallPtr& call);
  void end(const CallPtr& call, TaskEnded ended);
  void tell(const CallPtr& call, decltype(TaskReport::what) what);

  HttpClient& client_;
  TaskSink& sink_;
  SignsOfLife signs_;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::unordered_map<InstanceId, CallPtr> calls_;  ///< until nothing more is heard of it
  bool closing_ = false;
};

}  // namespace millrace
