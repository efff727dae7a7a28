// A worker that speaks NATS on a plain socket and answers the tasks of one service.
#pragma once

#include <cctype>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tests/support/nats_fixture.h"

namespace millrace {

class QueueWorker {
 public:
  /// `prefix` is the prefix of the streams. `consumer` is the name of the service's consumer:
  /// `default+charge`.
  QueueWorker(std::unique_ptr<RawNatsClient> client, std::string_view prefix, std::string consumer,
              std::string inbox = "_INBOX.worker")
      : client_(std::move(client)), consumer_(std::move(consumer)), inbox_(std::move(inbox)) {
    for (const char c : prefix) stream_.push_back(static_cast<char>(std::toupper(c)));
    stream_ += "_TASKS";
    client_->subscribe(inbox_ + ".*");
  }

  /// Answers the next task and returns it; nullopt if none came within kPatience. `headers` is a
  /// block of lines such as `A: 1\r\n`.
  std::optional<RawNatsClient::Message> do_one(const std::string& answer,
                                               const std::string& headers = "") {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      client_->publish(fmt::format("$JS.API.CONSUMER.MSG.NEXT.{}.{}", stream_, consumer_),
                       R"({"batch":1,"expires":100000000})", inbox_ + ".1");
      client_->flush();
      // A message without a reply subject is not a task: the broker ends a request by it. Before
      // the consumer exists, no message comes.
      std::optional<RawNatsClient::Message> task = client_->next(Duration(150));
      if (!task || task->reply.empty()) continue;
      client_->publish(reply_of(*task), headers, answer, "");
      client_->publish(task->reply, "+ACK");
      client_->flush();
      return task;
    }
    return std::nullopt;
  }

  static std::string reply_of(const RawNatsClient::Message& task) {
    const std::string name = "\r\nMillrace-Reply: ";
    const size_t at = task.headers.find(name) + name.size();
    return task.headers.substr(at, task.headers.find("\r\n", at) - at);
  }

  RawNatsClient& client() { return *client_; }

 private:
  std::unique_ptr<RawNatsClient> client_;
  std::string consumer_;
  std::string inbox_;
  std::string stream_;
};

}  // namespace millrace
