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
#include "functions/kept_folders.h"
#include "model/task.h"
#include "orchestrator/ports/call_files.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

struct FileCallSettings {
  /// For the folders of calls. What an earlier process has left is removed at the start, except the
  /// folders of accepted calls, and the folder is made when it is needed.
  std::filesystem::path folder;
  std::filesystem::path sealed_folder;  ///< the same in a tmpfs, for sealed calls
  AttemptUrls urls;
  std::string process = {};  ///< of letters and digits; no other process has the same
  /// Any thread. Empty: no task awaits files of an earlier process.
  KeptFolders::AwaitsFiles awaits_files = {};
  uint64_t epoch = 0;  ///< of the active of a cluster; 0: there is no cluster
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

  /// Ends the thread and removes all folders, except those of accepted calls. Afterwards no task is
  /// passed on, and calls that have files report nothing: the next process sends their tasks again,
  /// or takes their folders over. May be called again.
  void end();

  // TaskRunner.
  void run(Task task) override;
  void keep_files(Task task) override;
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
  Status clear(const CallAccess& access) override;
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
  /// The acceptance of a call whose files are to be on disk before it is reported.
  using Acceptance = End;
  /// An answer by a callback whose files are to be collected.
  struct Answer {
    CallPtr call;
    TaskEnded ended;
    std::function<void(Result<CollectedAnswer>)> then;
  };

  void work();
  CallPtr take_waiting();
  void begin(std::unique_lock<std::mutex>& lock, const CallPtr& call);
  void take_over(std::unique_lock<std::mutex>& lock, const CallPtr& call);
  Result<std::shared_ptr<CallFolder>> folder_again(const CallPtr& call, std::string& key);
  void keep(std::unique_lock<std::mutex>& lock, Acceptance acceptance);
  void end_by_runner(const CallPtr& call, TaskReport report, std::function<void()> stored);
  void complete(End end);
  void pass_on(Answer answer);
  void settle(const CallPtr& call, bool has_ended);
  bool take_acceptance(const CallPtr& call);
  CallPtr call_of(const CallAccess& access) const;
  bool has_no_folder(const CallAccess& access) const;
  void forget(const CallPtr& call);
  bool is_awaited(const InstanceId& task) const;
  std::string next_delivery();
  Result<std::filesystem::path> folder_of(const Task& task, const std::string& delivery);
  Result<std::shared_ptr<CallFolder>> folder_for(const CallAccess& access) const;

  FileCallSettings settings_;  ///< the folder is changed on the thread of this object only
  TaskRunner& runner_;
  TaskSink& sink_;
  bool has_folder_ = false;         ///< on the thread of this object only
  bool has_sealed_folder_ = false;  ///< on the thread of this object only
  uint64_t last_folder_ = 0;        ///< on the thread of this object only
  KeptFolders kept_;                ///< on the thread of this object only

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::unordered_map<InstanceId, CallPtr> calls_;
  std::map<std::string, Queue, std::less<>> queues_;  ///< by namespace; none is unused
  std::deque<CallPtr> left_;  ///< calls that an earlier process has left; before all others
  std::deque<Acceptance> acceptances_;
  std::deque<End> ends_;
  std::deque<Answer> answers_;
  size_t open_ = 0;      ///< the calls that have a folder, without the accepted ones
  size_t accepted_ = 0;  ///< the accepted calls that have a folder
  bool is_ending_ = false;

  std::thread thread_;  ///< the last member
};

}  // namespace millrace
