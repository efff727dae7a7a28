// The runner of tasks whose target is an HTTP service. A call is stored until its last report. Any
// thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/defaults.h"
#include "base/ids.h"
#include "base/time.h"
#include "functions/heartbeats.h"
#include "http/http_client.h"
#include "model/task.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

/// Runs tasks whose target is an HttpService, and no others. A service may run on any machine, so
/// there is no shared folder: FileCalls gives a task with files a folder that is reached over HTTP,
/// and a task that still has `files` ends with kFunctionFiles.
class HttpServices : public TaskRunner {
 public:
  /// `client` and `sink` must outlive this object. A call without a timeout ends `call_timeout`
  /// after its request was sent.
  HttpServices(HttpClient& client, TaskSink& sink, Duration call_timeout = defaults::kCallTimeout)
      : client_(client), sink_(sink), call_timeout_(call_timeout) {}

  /// Gives up the calls that are under way. No service is asked to stop, because the next process
  /// sends the task again. Afterwards there are no more reports. Do not destroy this object on the
  /// client's thread.
  ~HttpServices() override;

  void run(Task task) override;
  void stop(const InstanceId& task) override;
  bool check_started(const InstanceId& task) override;
  /// The time since the request was sent or, if a part of the answer came, since the latest part.
  /// Heartbeats are not reported.
  std::optional<Duration> since_heartbeat(const InstanceId& task) const override;

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  void send(const CallPtr& call);
  void started(const CallPtr& call);
  std::function<void()> accepts_later(const CallPtr& call);
  void end(const CallPtr& call, TaskEnded ended);
  void finish(const CallPtr& call, decltype(TaskReport::what) last, bool is_late);
  void report(const CallPtr& call, decltype(TaskReport::what) what);

  HttpClient& client_;
  TaskSink& sink_;
  const Duration call_timeout_;
  Heartbeats heartbeats_;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::unordered_map<InstanceId, CallPtr> calls_;  ///< each call until its last report
  bool closing_ = false;
};

}  // namespace millrace
