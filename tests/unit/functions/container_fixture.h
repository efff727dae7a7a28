// ContainerTest: a ContainerRunner on a fake runtime, with its reports and its calls.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "functions/container.h"
#include "http/http_client.h"
#include "orchestrator/ports/clock.h"
#include "tests/support/folder.h"
#include "tests/support/patience.h"
#include "tests/unit/functions/fake_runtime.h"
#include "tests/unit/functions/recorded_reports.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {

/// HTTP servers that stand in for containers and hold calls until the test answers them.
class HeldCalls {
 public:
  struct Call {
    uint16_t port = 0;
    std::string task;
    std::string folder;
    std::string input;
  };

  HeldCalls() = default;
  ~HeldCalls() {
    {
      const std::lock_guard lock(mutex_);
      is_closing_ = true;
    }
    changed_.notify_all();
  }
  HeldCalls(const HeldCalls&) = delete;
  HeldCalls& operator=(const HeldCalls&) = delete;

  /// Listens on the port of a container, in its place.
  HttpPeer& serve(uint16_t port) {
    return *peers_.emplace_back(std::make_unique<HttpPeer>(
        [this, port](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
          return take(port, request, connection);
        },
        port));
  }

  /// Waits until there are `count` calls.
  bool have(size_t count) const {
    return eventually([&] { return size() >= count; });
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return calls_.size();
  }
  Call at(size_t index) const {
    const std::lock_guard lock(mutex_);
    return calls_.at(index);
  }
  /// The ids of the tasks for which a DELETE came.
  std::vector<std::string> stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

  void answer(size_t index, const std::string& body, const Headers& headers = {}) {
    std::string text = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.size());
    for (const auto& [name, value] : headers) text += fmt::format("{}: {}\r\n", name, value);
    const std::lock_guard lock(mutex_);
    answers_[index] = text + "\r\n" + body;
    changed_.notify_all();
  }

 private:
  /// Called on the thread of the connection.
  bool take(uint16_t port, const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    std::unique_lock lock(mutex_);
    if (request.method == "DELETE") {
      stopped_.push_back(request.header("Direktiv-ActionID"));
      return connection.answer(204);
    }
    const size_t index = calls_.size();
    calls_.push_back({.port = port,
                      .task = request.header("Direktiv-ActionID"),
                      .folder = request.header("Direktiv-TempDir"),
                      .input = request.body});
    changed_.wait(lock, [&] { return is_closing_ || answers_.contains(index); });
    return !is_closing_ && connection.send(answers_.at(index));
  }

  mutable std::mutex mutex_;  // guards the members below, except the peers
  std::condition_variable changed_;
  bool is_closing_ = false;
  std::vector<Call> calls_;
  std::vector<std::string> stopped_;
  std::map<size_t, std::string> answers_;

  std::vector<std::unique_ptr<HttpPeer>>
      peers_;  // last: the threads of the peers use the members above
};

class ContainerTest : public testing::Test {
 protected:
  ContainerTest() : runtime_(folder_.path() / "runtime") {
    settings_.runtime = runtime_.program();
    settings_.folder = folder_.path() / "functions";
    settings_.data_id = "data-1";
    settings_.end_timeout = kPatience;
  }

  ContainerRunner& runner() {
    if (!runner_) {
      runner_ = std::make_unique<ContainerRunner>(settings_, client_, clock_, reports_);
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
            .ns = "space",
            .target = Container{.isolated = true, .image = image, .cmd = cmd},
            .input = R"({"a":1})"};
  }

  static Task reusable(uint32_t number, const std::string& image, uint32_t scale = 0) {
    return {.id = id(number),
            .ns = "space",
            .target = Container{.image = image, .scale = scale},
            .input = R"({"a":1})"};
  }

  TaskEnded run(Task task) {
    const InstanceId task_id = task.id;
    runner().run(std::move(task));
    return reports_.end_of(task_id);
  }

  /// Waits until `count` containers were started in all.
  bool has_started(size_t count) const {
    return eventually([&] { return runtime_.calls("run").size() >= count; });
  }

  /// Waits until exactly `count` containers exist and all of them run.
  bool are_running(size_t count) const {
    return eventually([&] {
      const std::vector<std::string> names = runtime_.containers();
      return names.size() == count && std::all_of(names.begin(), names.end(), [&](auto& name) {
               return runtime_.is_running(name);
             });
    });
  }

  bool are_gone() const { return are_running(0); }

  /// The value of an option of the container that was started as number `index`.
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

  /// How many entries the folder of all containers has.
  size_t folders() const {
    std::error_code error;
    const std::filesystem::directory_iterator all(settings_.folder, error);
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  Folder folder_;
  FakeRuntime runtime_;
  SystemClock clock_;
  RecordedReports reports_;
  HeldCalls calls_;
  HttpClient client_{
      {.connections = 1'000, .connections_per_host = 1'000}};  // held calls keep their connections
  ContainerSettings settings_;
  std::unique_ptr<ContainerRunner> runner_;
};

}  // namespace millrace
