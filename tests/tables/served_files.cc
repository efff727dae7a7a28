#include "tests/tables/served_files.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "tests/support/process.h"

namespace millrace {

/// The tasks that a FileCalls has passed on, and its reports.
class ServedFiles::Passed final : public TaskRunner, public TaskSink {
 public:
  void run(Task task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  void stop(const InstanceId& /*task*/) override {}
  void report(TaskReport report, std::function<void()> stored) override {
    const std::lock_guard lock(mutex_);
    ++reported_[report.task];
    reports_.push_back(std::move(report));
    if (stored) stored();
  }

  size_t tasks() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }
  Task last_task() const {
    const std::lock_guard lock(mutex_);
    return tasks_.back();
  }
  size_t reported(const InstanceId& task) const {
    const std::lock_guard lock(mutex_);
    const auto found = reported_.find(task);
    return found == reported_.end() ? 0 : found->second;
  }
  std::vector<TaskReport> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reports_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Task> tasks_;
  std::vector<TaskReport> reports_;
  std::map<InstanceId, size_t> reported_;  ///< how many of each task
};

ServedFiles::ServedFiles(std::filesystem::path folder, KeptFolders::AwaitsFiles awaits_files)
    : folder_(std::move(folder)), awaits_files_(std::move(awaits_files)) {
  begin();
}

ServedFiles::~ServedFiles() = default;

void ServedFiles::begin() {
  passed_ = std::make_unique<Passed>();
  calls_ = std::make_unique<FileCalls>(
      FileCallSettings{
          .folder = folder_,
          .sealed_folder = "/proc/millrace-calls",
          .urls = {.keys = keys_, .public_url = [] { return std::string("http://millrace.test"); }},
          .process = fmt::format("p{}", ++processes_),
          .awaits_files = awaits_files_},
      *passed_, *passed_);
}

void ServedFiles::restart() {
  calls_.reset();
  open_.clear();
  begin();
}

void ServedFiles::run(Task task) {
  const InstanceId id = task.id;
  const size_t tasks = passed_->tasks();
  const size_t reported = passed_->reported(id);
  calls_->run(std::move(task));
  const bool is_done =
      eventually([&] { return passed_->tasks() > tasks || passed_->reported(id) > reported; });
  CHECK(is_done, "the task was neither passed on nor refused");
  if (passed_->tasks() == tasks) return;  // a variable cannot become a file
  const Task passed = passed_->last_task();
  if (!passed.folder) return;
  open_.insert(id);
  deliveries_[id].push_back(passed.folder->key);
}

void ServedFiles::keep_files(Task task) {
  const InstanceId id = task.id;
  const size_t reported = passed_->reported(id);
  calls_->keep_files(std::move(task));
  const CallAccess access{.task = id, .key = key_of(id, 0)};
  const bool is_done = eventually(
      [&] { return calls_->list(access).has_value() || passed_->reported(id) > reported; });
  CHECK(is_done, "the files were neither found nor missed");
  if (passed_->reported(id) == reported) open_.insert(id);
}

void ServedFiles::stop(const InstanceId& task) {
  open_.erase(task);
  calls_->stop(task);
}

void ServedFiles::report(TaskReport report) {
  const InstanceId id = report.task;
  const bool has_files = open_.contains(id);
  if (has_files && std::holds_alternative<TaskEnded>(report.what)) open_.erase(id);
  const size_t reported = passed_->reported(id);
  calls_->report(std::move(report), {});
  if (!has_files) return;
  CHECK(eventually([&] { return passed_->reported(id) > reported; }), "the report was not made");
}

std::vector<TaskReport> ServedFiles::take_reports() { return passed_->take(); }

std::string ServedFiles::key_of(const InstanceId& task, size_t delivery) const {
  const auto found = deliveries_.find(task);
  if (found == deliveries_.end()) return keys_.key_of(task);
  const std::vector<std::string>& keys = found->second;
  CHECK(delivery <= keys.size(), "there is no delivery {} of the task", delivery);
  return delivery == 0 ? keys.back() : keys[delivery - 1];
}

void ServedFiles::collect(const CallAccess& access, TaskEnded ended,
                          std::function<void(Result<CollectedAnswer>)> then) {
  const auto came = std::make_shared<std::promise<Result<CollectedAnswer>>>();
  std::future<Result<CollectedAnswer>> collected = came->get_future();
  calls_->collect(access, std::move(ended),
                  [came](Result<CollectedAnswer> answer) { came->set_value(std::move(answer)); });
  CHECK(collected.wait_for(kPatience) == std::future_status::ready, "the files are not collected");
  Result<CollectedAnswer> answer = collected.get();
  if (answer && answer->settle) {
    answer->settle = [this, task = access.task,
                      settle = std::move(answer->settle)](bool has_ended) {
      if (has_ended) open_.erase(task);
      settle(has_ended);
    };
  }
  then(std::move(answer));
}

}  // namespace millrace
