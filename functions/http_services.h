// The runner of tasks whose target is an HTTP service. Its calls are kept until nothing more is
// heard of them; any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"
#include "functions/signs_of_life.h"
#include "http/http_client.h"
#include "model/task.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

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
