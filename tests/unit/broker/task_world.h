// What tests of tasks need: a sink that keeps what it was told, tasks, and a worker on a plain
// socket.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "broker/task_message.h"
#include "orchestrator/ports/task_runner.h"
#include "tests/support/nats_fixture.h"

namespace millrace {

inline constexpr const char* kTaskSubject = "millrace.tasks.shop.charge";

inline InstanceId task_id(uint8_t number) {
  return make_instance_id(TimePoint(Duration(1'700'000'000'000)),
                          {number, 0, 0, 0, 0, 0, 0, 0, 0, number});
}

inline Task queue_task(uint8_t number, std::string subject = kTaskSubject) {
  return {.id = task_id(number),
          .space = "shop",
          .instance = task_id(200),
          .state = "pay",
          .function = "charge",
          .attempt = 2,
          .target = WorkQueue{std::move(subject)},
          .input = fmt::format(R"({{"n":{}}})", number),
          .deadline = TimePoint(Duration(1'700'000'060'000))};
}

inline Task service_task(uint8_t number, std::string subject = "svc.charge") {
  Task task = queue_task(number);
  task.target = NatsService{std::move(subject)};
  return task;
}

/// "started", "unbegun", "alive", the bytes of an answer, or "!" and code and message of an error.
inline std::string word(const TaskReport& report) {
  if (std::holds_alternative<TaskStarted>(report.what)) return "started";
  if (std::holds_alternative<TaskUnbegun>(report.what)) return "unbegun";
  if (std::holds_alternative<TaskAlive>(report.what)) return "alive";
  const auto* ended = std::get_if<TaskEnded>(&report.what);
  CHECK(ended != nullptr);
  if (ended->result) return *ended->result;
  return fmt::format("!{}: {}", ended->result.error().code, ended->result.error().message);
}

class CollectingTaskSink : public TaskSink {
 public:
  void report(TaskReport report, std::function<void()> stored) override {
    const std::lock_guard lock(mutex_);
    told_.emplace_back(report.task, word(report));
    spaces_[report.task] = report.space.value_or("");
    if (stored && store_) {
      stored();
    } else if (stored) {
      unstored_.push_back(std::move(stored));
    }
    changed_.notify_all();
  }

  /// From now on nothing gets to the disk.
  void hold_back() {
    const std::lock_guard lock(mutex_);
    store_ = false;
  }

  /// All that was held back is on disk, and what follows is at once.
  void store() {
    const std::lock_guard lock(mutex_);
    store_ = true;
    for (const auto& stored : std::exchange(unstored_, {})) stored();
  }

  /// The namespace for which the last word on the task was told; "": none was named.
  std::string space_of(const InstanceId& task) {
    const std::lock_guard lock(mutex_);
    return spaces_[task];
  }

  size_t unstored() {
    const std::lock_guard lock(mutex_);
    return unstored_.size();
  }

  std::vector<std::string> words(const InstanceId& task) {
    const std::lock_guard lock(mutex_);
    return words_of(task);
  }

  /// Waits until so much was told of the task; what was told.
  std::vector<std::string> wait_for(const InstanceId& task, size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLongEnough, [&] { return words_of(task).size() >= count; });
    return words_of(task);
  }

  /// Waits for the end of the task; what was told of that. A start that another thread tells may
  /// come behind it.
  std::string wait_for_end(const InstanceId& task) {
    std::optional<std::string> end;
    const auto ended = [&] {
      for (const std::string& word : words_of(task)) {
        if (word != "started" && word != "alive") end = word;
      }
      return end.has_value();
    };
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLongEnough, ended);
    return end.value_or("(no end)");
  }

  bool wait_for_all(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLongEnough, [&] { return told_.size() >= count; });
  }

  size_t size() {
    const std::lock_guard lock(mutex_);
    return told_.size();
  }

 private:
  std::vector<std::string> words_of(const InstanceId& task) const {
    std::vector<std::string> words;
    for (const auto& [id, what] : told_) {
      if (id == task) words.push_back(what);
    }
    return words;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool store_ = true;
  std::vector<std::pair<InstanceId, std::string>> told_;
  std::map<InstanceId, std::string> spaces_;
  std::vector<std::function<void()>> unstored_;
};

/// Pulls tasks as any client would, and says what a test wants.
class Worker {
 public:
  explicit Worker(const NatsServer& server, std::string subject = kTaskSubject)
      : client(server.client()), consumer_(task_consumer(subject)) {
    client->subscribe("worker.next");
  }

  /// Asks for tasks, as the request of a pull says; they come to `client`.
  void ask(std::string_view request) {
    client->publish("$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS." + consumer_, request,
                    "worker.next");
    client->flush();
  }

  /// The next task; nullopt: there is none.
  std::optional<RawNatsClient::Message> take() {
    const auto deadline = std::chrono::steady_clock::now() + kLongEnough;
    while (std::chrono::steady_clock::now() < deadline) {
      ask(R"({"batch":1,"expires":100000000})");
      // Without a reply it is the end of a request; before the consumer is made nothing comes.
      std::optional<RawNatsClient::Message> message = client->next(Duration(150));
      if (message && !message->reply.empty()) return message;
    }
    return std::nullopt;
  }

  void say(const RawNatsClient::Message& task, std::string_view what) {
    client->publish(task.reply, what);
    client->flush();
  }

  /// `headers` as a block: `A: 1\r\n`.
  void answer(const RawNatsClient::Message& task, std::string_view body,
              std::string_view headers = "") {
    client->publish_acked(header(task, "Millrace-Reply"), headers, body);
  }

  static std::string header(const RawNatsClient::Message& message, const std::string& name) {
    const size_t at = message.headers.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return message.headers.substr(begin, message.headers.find("\r\n", begin) - begin);
  }

  std::unique_ptr<RawNatsClient> client;

 private:
  std::string consumer_;
};

}  // namespace millrace
