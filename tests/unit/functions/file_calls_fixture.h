// FileCallsTest: a FileCalls whose runner keeps the tasks that it gets, and whose reports are
// recorded.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "functions/file_calls.h"
#include "tests/support/folder.h"
#include "tests/unit/functions/recorded_reports.h"
#include "tests/unit/functions/service_peer.h"

namespace millrace {

/// Keeps the tasks that it gets.
class KeptTasks final : public TaskRunner {
 public:
  void run(Task task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  void stop(const InstanceId& task) override {
    const std::lock_guard lock(mutex_);
    stopped_.push_back(task);
  }
  uint64_t waiting_bytes(std::string_view /*ns*/) const override { return 5; }

  std::vector<Task> tasks() const {
    const std::lock_guard lock(mutex_);
    return tasks_;
  }
  std::vector<InstanceId> stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Task> tasks_;
  std::vector<InstanceId> stopped_;
};

class FileCallsTest : public testing::Test {
 protected:
  FileCalls& calls() {
    if (!calls_) {
      calls_ = std::make_unique<FileCalls>(
          FileCallSettings{
              .folder = folder(),
              .sealed_folder = "/proc/millrace-calls",
              .urls = {.keys = AttemptKeys("secret"),
                       .public_url = [] { return std::string("http://millrace:8780"); }},
              .process = fmt::format("p{}", process_),
              .awaits_files = [awaited = awaited_](const InstanceId& task) -> Result<bool> {
                return awaited.contains(task);
              },
              .epoch = epoch_,
              .places = places_,
              .accepted_places = accepted_places_},
          runner_, reports_);
    }
    return *calls_;
  }

  /// The process ends, and the next one begins. `awaited`: the tasks of which the store says that
  /// their services have accepted them.
  void restart(std::set<InstanceId> awaited) {
    calls_.reset();
    ++process_;
    awaited_ = std::move(awaited);
    calls();
  }

  std::filesystem::path folder() const { return folder_.path() / "calls"; }

  static Task task_with(std::vector<TaskFile> files, uint8_t number = 1) {
    Task task = task_for("http://service/", number);
    task.files = std::move(files);
    return task;
  }

  /// With the key of the attempt, which opens nothing without the delivery.
  static CallAccess access_to(const Task& task) {
    return {.task = task.id, .key = AttemptKeys("secret").key_of(task.id)};
  }

  /// Runs the task, and waits until the runner has it.
  CallAccess begin(const Task& task) {
    const size_t before = runner_.tasks().size();
    calls().run(task);
    EXPECT_TRUE(eventually([&] { return runner_.tasks().size() > before; }));
    return {.task = task.id, .key = runner_.tasks().back().folder->key};
  }

  Status put(const CallAccess& access, std::string_view name, std::string_view bytes,
             bool is_executable = false) {
    const std::shared_ptr<FileSink> sink = TRY(calls().write(access, name, is_executable));
    TRY(sink->write(bytes));
    return sink->finish();
  }

  Result<std::string> get(const CallAccess& access, std::string_view name) {
    const std::shared_ptr<FileSource> source = TRY(calls().read(access, name));
    std::string all;
    while (true) {
      const std::string piece = TRY(source->next(3));
      if (piece.empty()) return all;
      all += piece;
    }
  }

  TaskEnded end(const Task& task, tl::expected<std::string, Error> result) {
    calls().report({.task = task.id, .what = TaskEnded{.result = std::move(result)}}, {});
    return reports_.end_of(task.id);
  }

  /// Bytes that cannot be packed into a variable.
  static std::string noise() {
    std::string bytes(kMaxVariableBytes + 100'000, '\0');
    uint32_t state = 1;
    for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    return bytes;
  }

  static std::string code_of(const Status& status) { return status ? "" : status.error().code; }

  /// `scope/key=bytes` of each variable.
  static std::vector<std::string> in_words_of(const std::vector<TaskVariable>& variables) {
    std::vector<std::string> all;
    for (const TaskVariable& one : variables) {
      all.push_back(fmt::format("{}/{}={}", to_string(one.scope), one.key, one.value.bytes));
    }
    return all;
  }

  bool is_empty() const { return std::filesystem::is_empty(folder()); }

  size_t places_ = 32;
  size_t process_ = 1;
  uint64_t epoch_ = 0;
  std::set<InstanceId> awaited_;
  size_t accepted_places_ = 8;
  const Folder folder_;
  KeptTasks runner_;
  RecordedReports reports_;
  std::unique_ptr<FileCalls> calls_;
};

}  // namespace millrace
