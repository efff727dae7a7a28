// For tests of tasks: tasks, a sink that records reports, and a worker on a plain socket.
#pragma once

#include <algorithm>
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
#include "broker/task_queue.h"
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
          .ns = "shop",
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

/// The settings with times that a busy machine does not exceed, so that the queue reads each answer
/// once and sends each request to a service once.
inline TaskQueueSettings patient(TaskQueueSettings settings = {}) {
  settings.pull = kPatientPull;
  settings.flush_timeout = kPatience;
  return settings;
}

/// The report as a word: "started", "unbegun" (not started), "alive" (a heartbeat),
/// "accepted", the bytes of an answer, or "!" with the code and the message of an error.
inline std::string word(const TaskReport& report) {
  if (std::holds_alternative<TaskStarted>(report.what)) return "started";
  if (std::holds_alternative<TaskNotStarted>(report.what)) return "unbegun";
  if (std::holds_alternative<TaskHeartbeat>(report.what)) return "alive";
  if (std::holds_alternative<TaskAccepted>(report.what)) return "accepted";
  const auto* ended = std::get_if<TaskEnded>(&report.what);
  CHECK(ended != nullptr);
  if (ended->result) return *ended->result;
  return fmt::format("!{}: {}", ended->result.error().code, ended->result.error().message);
}

class CollectingTaskSink : public TaskSink {
 public:
  void report(TaskReport report, std::function<void()> stored) override {
    const std::lock_guard lock(mutex_);
    reports_.emplace_back(report.task, word(report));
    if (std::holds_alternative<TaskEnded>(report.what) ||
        std::holds_alternative<TaskAccepted>(report.what)) {
      namespaces_[report.task] = report.ns.value_or("");
    }
    if (stored && store_) {
      stored();
    } else if (stored) {
      unstored_.push_back(std::move(stored));
    }
    changed_.notify_all();
  }

  /// From now on reports are kept, but not confirmed as stored.
  void hold_back() {
    const std::lock_guard lock(mutex_);
    store_ = false;
  }

  /// Confirms all kept reports as stored; later reports are confirmed at once.
  void store() {
    const std::lock_guard lock(mutex_);
    store_ = true;
    for (const auto& stored : std::exchange(unstored_, {})) stored();
  }

  /// The namespace in the latest answer to the task; "": the answer has no namespace.
  std::string ns_of(const InstanceId& task) {
    const std::lock_guard lock(mutex_);
    return namespaces_[task];
  }

  size_t unstored() {
    const std::lock_guard lock(mutex_);
    return unstored_.size();
  }

  std::vector<std::string> words(const InstanceId& task) {
    const std::lock_guard lock(mutex_);
    return words_of(task);
  }

  /// Waits until there are `count` reports of the task, and returns them.
  std::vector<std::string> wait_for(const InstanceId& task, size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return words_of(task).size() >= count; });
    return words_of(task);
  }

  /// Waits for `count` answers to the task, acceptances included, and returns them. millrace may
  /// notice that a worker has the task at any time, so the start and heartbeats of the task are
  /// left out.
  std::vector<std::string> wait_for_ends(const InstanceId& task, size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return ends_of(task).size() >= count; });
    return ends_of(task);
  }

  /// Waits for the end of the task, and returns the latest answer.
  std::string wait_for_end(const InstanceId& task) {
    const std::vector<std::string> ends = wait_for_ends(task, 1);
    return ends.empty() ? "(no end)" : ends.back();
  }

  /// Waits until the task has `count` reports of that kind: "started" or "alive".
  bool wait_for_reports(const InstanceId& task, const std::string& kind, size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] {
      const std::vector<std::string> words = words_of(task);
      return static_cast<size_t>(std::count(words.begin(), words.end(), kind)) >= count;
    });
  }

  bool wait_for_all(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return reports_.size() >= count; });
  }

 private:
  std::vector<std::string> ends_of(const InstanceId& task) const {
    std::vector<std::string> ends = words_of(task);
    std::erase_if(ends, [](const auto& word) { return word == "started" || word == "alive"; });
    return ends;
  }
  std::vector<std::string> words_of(const InstanceId& task) const {
    std::vector<std::string> words;
    for (const auto& [id, what] : reports_) {
      if (id == task) words.push_back(what);
    }
    return words;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool store_ = true;
  std::vector<std::pair<InstanceId, std::string>> reports_;
  std::map<InstanceId, std::string> namespaces_;
  std::vector<std::function<void()>> unstored_;
};

/// Pulls tasks like any NATS client, and answers as a test asks.
class Worker {
 public:
  explicit Worker(const NatsServer& server, std::string subject = kTaskSubject)
      : client(server.client()), consumer_(task_consumer(subject)) {
    client->subscribe("worker.next.*");
  }

  /// Sends a pull request; the tasks come to `client`. Returns the subject of the message that ends
  /// the request.
  std::string ask(std::string_view request) {
    const std::string subject = fmt::format("worker.next.{}", ++asked_);
    client->publish("$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS." + consumer_, request, subject);
    client->flush();
    return subject;
  }

  /// The next task; nullopt: none came within kPatience.
  std::optional<RawNatsClient::Message> take() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      const std::string end = ask(R"({"batch":1,"expires":1000000000})");
      do {
        // Until the consumer exists, no message comes.
        std::optional<RawNatsClient::Message> message = client->next(Duration(150));
        if (message && !message->reply.empty()) return message;
        if (message && message->subject == end) break;
      } while (has_open_request());
    }
    return std::nullopt;
  }

  void say(const RawNatsClient::Message& task, std::string_view what) {
    client->publish(task.reply, what);
    client->flush();
  }

  /// `headers` is a block of lines such as `A: 1\r\n`.
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
  /// Whether the consumer has a pull request. A second one beside it could take a task that the
  /// test does not read.
  bool has_open_request() {
    return client->api("CONSUMER.INFO.MILLRACE_TASKS." + consumer_).value("num_waiting", 0) > 0;
  }

  std::string consumer_;
  int asked_ = 0;
};

}  // namespace millrace
