// ServedFiles: the files of the calls of a world: a real FileCalls between the engine and a runner
// that keeps its tasks. Each function returns when the FileCalls has done its work, so nothing
// depends on the thread of the FileCalls. For use by one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "functions/file_calls.h"
#include "model/attempt_key.h"
#include "orchestrator/ports/call_files.h"

namespace millrace {

/// The secret of the keys of attempts, also of those of the service.
inline constexpr std::string_view kSecretOfKeys = "secret";

class ServedFiles final : public CallFiles {
 public:
  /// `awaits_files`: see FileCallSettings.
  ServedFiles(std::filesystem::path folder, KeptFolders::AwaitsFiles awaits_files);
  ~ServedFiles() override;

  /// The process dies, and the next one begins: the files are gone, except those of accepted calls.
  void restart();

  void run(Task task);
  void keep_files(Task task);
  void stop(const InstanceId& task);
  void report(TaskReport report);
  /// The reports for the engine, in order, once.
  std::vector<TaskReport> take_reports();

  /// The key that the service got with a delivery of the task, counted from 1; 0: the newest one. A
  /// task without files has the key of its attempt.
  std::string key_of(const InstanceId& task, size_t delivery) const;

  // CallFiles. collect() calls `then` before it returns.
  void collect(const CallAccess& access, TaskEnded ended,
               std::function<void(Result<CollectedAnswer>)> then) override;
  Result<Json> list(const CallAccess& access) override { return calls_->list(access); }
  Result<std::shared_ptr<FileSource>> read(const CallAccess& access,
                                           std::string_view name) override {
    return calls_->read(access, name);
  }
  Result<std::shared_ptr<FileSink>> write(const CallAccess& access, std::string_view name,
                                          bool executable) override {
    return calls_->write(access, name, executable);
  }
  Status clear(const CallAccess& access) override { return calls_->clear(access); }

 private:
  class Passed;

  void begin();

  const std::filesystem::path folder_;
  const KeptFolders::AwaitsFiles awaits_files_;
  const AttemptKeys keys_{kSecretOfKeys};
  size_t processes_ = 0;
  std::unique_ptr<Passed> passed_;                             ///< what the FileCalls has passed on
  std::unique_ptr<FileCalls> calls_;                           ///< of the present process
  std::set<InstanceId> open_;                                  ///< the tasks that have files now
  std::map<InstanceId, std::vector<std::string>> deliveries_;  ///< their keys, the oldest first
};

}  // namespace millrace
