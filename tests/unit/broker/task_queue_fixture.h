// TaskQueueTest: a task queue on a real nats-server, and all of its reports.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "broker/task_queue.h"
#include "tests/unit/broker/task_world.h"

namespace millrace {

/// Waits until `condition` is true; false after kPatience.
inline bool becomes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class TaskQueueTest : public NatsFixture {
 protected:
  using Words = std::vector<std::string>;
  using Message = RawNatsClient::Message;

  void open(TaskQueueSettings settings = {}) {
    connection_ = server_.connect();
    queue_ = std::make_unique<TaskQueue>(*connection_, sink_, patient(std::move(settings)));
  }

  /// Destroys the queue and opens another queue, as a restart of the process does.
  void restart(const TaskQueueSettings& settings = {}) {
    queue_.reset();
    open(settings);
  }

  uint64_t messages_in(std::string_view stream) {
    const Json info = client_->api(fmt::format("STREAM.INFO.{}", stream));
    return info["state"]["messages"].get<uint64_t>();
  }
  bool empties(std::string_view stream) {
    return becomes_true([&] { return messages_in(stream) == 0; });
  }
  bool all_sent() {
    return becomes_true([&] { return queue_->counts().unsent == 0; });
  }

  /// Expects that the start of the task was reported so often: once by each process. The threads of
  /// the queue report the start and a heartbeat in any order.
  void expect_starts(uint8_t number, size_t count = 1) {
    ASSERT_TRUE(sink_.wait_for_reports(task_id(number), "started", count));
    const Words words = sink_.words(task_id(number));
    EXPECT_EQ(static_cast<size_t>(std::count(words.begin(), words.end(), "started")), count);
  }

  /// Expects no report of the task. Before that, another task passes through the same streams, so
  /// that an earlier report would have arrived.
  void expect_no_report(uint8_t number) {
    Worker worker(server_, "millrace.tasks.shop.probe");
    queue_->run(queue_task(99, "millrace.tasks.shop.probe"));
    const std::optional<Message> probe = worker.take();
    ASSERT_TRUE(probe);
    worker.say(*probe, "+WPI");
    ASSERT_TRUE(sink_.wait_for_reports(task_id(99), "started", 1));
    worker.answer(*probe, "through");
    ASSERT_EQ(sink_.wait_for_ends(task_id(99), 1), (Words{"through"}));
    expect_starts(99);
    worker.say(*probe, "+ACK");
    EXPECT_EQ(sink_.words(task_id(number)), Words());
  }

  std::unique_ptr<RawNatsClient> client_ = server_.client();
  CollectingTaskSink sink_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<TaskQueue> queue_;
};

}  // namespace millrace
