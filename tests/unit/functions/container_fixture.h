// A ContainerRunner on a fake runtime, with everything that it tells and asks.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "functions/container.h"
#include "tests/unit/functions/fake_runtime.h"
#include "tests/unit/functions/port_listener.h"
#include "tests/unit/functions/told_tasks.h"
#include "tests/unit/store/folder.h"

namespace millrace {

/// Keeps calls until the test answers them.
class HeldCalls final : public HttpCaller {
 public:
  void call(HttpCall call) override {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  void stop(const InstanceId& task) override {
    const std::lock_guard lock(mutex_);
    stopped_.push_back(task);
  }

  /// Waits until so many have come.
  bool have(size_t count) const {
    return eventually([&] { return size() >= count; });
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return calls_.size();
  }
  HttpCall at(size_t index) const {
    const std::lock_guard lock(mutex_);
    return calls_.at(index);
  }
  std::vector<InstanceId> stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<HttpCall> calls_;
  std::vector<InstanceId> stopped_;
};

class ContainerTest : public testing::Test {
 protected:
  ContainerTest() : runtime_(folder_.path() / "runtime") {
    settings_.runtime = runtime_.program();
    settings_.folder = folder_.path() / "functions";
    settings_.data_id = "data-1";
  }

  ContainerRunner& runner() {
    if (!runner_) {
      runner_ = std::make_unique<ContainerRunner>(settings_, calls_, clock_, told_);
    }
    return *runner_;
  }

  static InstanceId id(uint32_t number) {
    InstanceId id;
    id.bytes[14] = static_cast<uint8_t>(number >> 8);
    id.bytes[15] = static_cast<uint8_t>(number);
    return id;
  }

  static Task isolated(uint32_t number, const std::string& image, const std::string& cmd = "") {
    return {.id = id(number),
            .space = "space",
            .target = Container{.isolated = true, .image = image, .cmd = cmd},
            .input = R"({"a":1})"};
  }

  static Task reusable(uint32_t number, const std::string& image, uint32_t scale = 0) {
    return {.id = id(number),
            .space = "space",
            .target = Container{.image = image, .scale = scale},
            .input = R"({"a":1})"};
  }

  TaskEnded run(Task task) {
    const InstanceId task_id = task.id;
    runner().run(std::move(task));
    return told_.end_of(task_id);
  }

  /// Waits until so many containers have been started in all.
  bool has_started(size_t count) const {
    return eventually([&] { return runtime_.calls("run").size() >= count; });
  }

  /// Waits until there are so many, all of them running.
  bool are_running(size_t count) const {
    return eventually([&] {
      const std::vector<std::string> names = runtime_.containers();
      return names.size() == count && std::all_of(names.begin(), names.end(), [&](auto& name) {
               return runtime_.is_running(name);
             });
    });
  }

  bool are_gone() const { return are_running(0); }

  /// The value of an option of the container that was started at that place.
  std::string option(size_t index, const std::string& name) const {
    const std::string line = runtime_.calls("run").at(index);
    const size_t at = line.find(" --" + name + "=");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return line.substr(begin, line.find(' ', begin) - begin);
  }

  uint16_t port(size_t index) const {
    const std::string publish = option(index, "publish");  // 127.0.0.1:<port>:8080
    return static_cast<uint16_t>(std::atoi(publish.c_str() + publish.find(':') + 1));
  }

  /// What is in the folder of all containers.
  size_t folders() const {
    std::error_code error;
    const std::filesystem::directory_iterator all(settings_.folder, error);
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  Folder folder_;
  FakeRuntime runtime_;
  SystemClock clock_;
  ToldTasks told_;
  HeldCalls calls_;
  ContainerSettings settings_;
  std::unique_ptr<ContainerRunner> runner_;
};

}  // namespace millrace
