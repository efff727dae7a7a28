// FileCalls: the runner of calls that have files and whose service shares no folder with millrace:
// an HTTP or a NATS service. It makes the folder of the call, passes the task on with its URL and
// key, and adds the variables to the answer. The service reads and writes the files through
// CallFiles. All other tasks and reports are passed on as they are. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "base/ids.h"
#include "base/result.h"
#include "functions/attempt_urls.h"
#include "functions/call_folder.h"
#include "model/task.h"
#include "orchestrator/ports/call_files.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

struct FileCallSettings {
  /// For the folders of calls. What an earlier process has left is removed at the start, and the
  /// folder is made when it is needed.
  std::filesystem::path folder;
  std::filesystem::path sealed_folder;  ///< the same in a tmpfs, for sealed calls
  AttemptUrls urls;
  std::string process = {};  ///< of letters and digits; no other process has the same
  /// How many calls have a folder at once; a namespace has at most as many as are free.
  size_t places = 32;
  /// The same for calls that their services have accepted, which have no place any more.
  size_t accepted_places = 1'024;
};

class FileCalls final : public TaskRunner, public TaskSink, public CallFiles {
 public:
  /// `runner` gets the tasks, and reports on those of HTTP and NATS services to this object, which
  /// reports to `sink`. Both must outlive this object.
  FileCalls(FileCallSettings settings, TaskRunner& runner, TaskSink& sink);
  ~FileCalls() override { end(); }

  /// Ends the thread and removes all folders. Afterwards no task is passed on, and calls that have
  /// files report nothing: the next process sends their tasks again. May be called again.
  void end();

  // TaskRunner.
  void run(Task task) override;
  void stop(const InstanceId& task) override;
  bool check_started(const InstanceId& task) override { return runner_.check_started(task); }
  std::optional<Duration> since_heartbeat(const InstanceId& task) const override {
    return runner_.since_heartbeat(task);
  }
  uint64_t waiting_bytes(std::string_view ns) const override;

  // TaskSink.
  void report(TaskReport report, std::function<void()> stored) override;

  // CallFiles.
  Result<Json> list(const CallAccess& access) override;
  Result<std::shared_ptr<FileSource>> read(const CallAccess& access,
                                           std::string_view name) override;
  Result<std::shared_ptr<FileSink>> write(const CallAccess& access, std::string_view name,
                                          bool executable) override;
  void collect(const CallAccess& access, TaskEnded ended,
               std::function<void(Result<CollectedAnswer>)> then) override;

  struct Counts {
    size_t open = 0;      ///< calls that have a folder, without the accepted ones
    size_t waiting = 0;   ///< calls that wait for one
    size_t accepted = 0;  ///< accepted calls that have a folder
  };
  Counts counts() const;

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;
  struct Queue {
    std::deque<CallPtr> waiting;
    size_t open = 0;             ///< the calls of the namespace that have a folder
    size_t accepted = 0;         ///< those that were accepted; `open` is without them
    uint64_t waiting_bytes = 0;  ///< of tasks that nothing else bounds
  };
  struct End {
    CallPtr call;
    TaskReport report;
    std::function<void()> stored;
  };
  /// An answer by a callback whose files are to be collected.
  struct Answer {
    CallPtr call;
    TaskEnded ended;
    std::function<void(Result<CollectedAnswer>)> then;
  };

  void work();
  CallPtr take_waiting();
  void begin(std::unique_lock<std::mutex>& lock, const CallPtr& call);
  void complete(End end);
  void pass_on(Answer answer);
  void settle(const CallPtr& call, bool has_ended);
  bool take_acceptance(const CallPtr& call);
  CallPtr call_of(const CallAccess& access) const;
  void forget(const CallPtr& call);
  Result<std::filesystem::path> folder_of(const Task& task);
  Result<std::shared_ptr<CallFolder>> folder_for(const CallAccess& access) const;

  FileCallSettings settings_;  ///< the folder is changed on the thread of this object only
  TaskRunner& runner_;
  TaskSink& sink_;
  bool has_folder_ = false;         ///< on the thread of this object only
  bool has_sealed_folder_ = false;  ///< on the thread of this object only
  uint64_t last_folder_ = 0;        ///< on the thread of this object only

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::unordered_map<InstanceId, CallPtr> calls_;
  std::map<std::string, Queue, std::less<>> queues_;  ///< by namespace; none is unused
  std::deque<End> ends_;
  std::deque<Answer> answers_;
  size_t open_ = 0;      ///< the calls that have a folder, without the accepted ones
  size_t accepted_ = 0;  ///< the accepted calls that have a folder
  bool is_ending_ = false;

  std::thread thread_;  ///< the last member
};

}  // namespace millrace
