#include "tests/integration/order_publisher.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "tests/support/nats_fixture.h"
#include "tests/support/process.h"

namespace millrace {
namespace {

/// A publisher with the client of millrace.
class OwnPublisher : public OrderPublisher {
 public:
  OwnPublisher(const std::string& url, std::string subject, size_t count)
      : subject_(std::move(subject)), count_(count), connection_(connect_to(url)) {
    for (std::thread& one : publishers_) one = std::thread([this] { publish(); });
  }
  ~OwnPublisher() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& one : publishers_) one.join();
  }
  OwnPublisher(const OwnPublisher&) = delete;
  OwnPublisher& operator=(const OwnPublisher&) = delete;

  void allow(size_t limit) override {
    {
      const std::lock_guard lock(mutex_);
      limit_ = limit;
    }
    changed_.notify_all();
  }
  size_t acknowledged() override { return acknowledged_; }
  size_t repeated() override { return repeated_; }
  std::string name() const override { return "the client of millrace"; }

 private:
  /// After this time without an acknowledgement an order is published again.
  static constexpr Duration kAnswerTime{2'000};

  void publish() {
    while (const std::optional<size_t> number = next()) {
      while (!is_acknowledged(*number)) {
        if (stopping_) return;
        ++repeated_;
        connection_->wait_until_connected(kAnswerTime);
      }
      ++acknowledged_;
    }
  }
  /// The next order, when it is allowed; nullopt: all are published.
  std::optional<size_t> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || next_ < limit_ || next_ == count_; });
    if (stopping_ || next_ == count_) return std::nullopt;
    return next_++;
  }
  bool is_acknowledged(size_t number) const {
    const auto answer =
        connection_->request({.subject = subject_,
                              .headers = {{"Nats-Msg-Id", fmt::format("order-{}", number)}},
                              .data = fmt::format(R"({{"order":"o-{}","total":7}})", number)},
                             kAnswerTime);
    if (!answer) return false;
    const Result<Json> said = parse_json(answer->data);
    return said && said->is_object() && said->contains("seq") && !said->contains("error");
  }

  const std::string subject_;
  const size_t count_;
  const std::unique_ptr<Connection> connection_;
  std::atomic<size_t> acknowledged_ = 0;
  std::atomic<size_t> repeated_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  // guards limit_ and next_
  std::condition_variable changed_;
  size_t limit_ = 0;
  size_t next_ = 0;
  std::array<std::thread, 4> publishers_;
};

/// A publisher in node (tests/publisher).
class NodePublisher : public OrderPublisher {
 public:
  NodePublisher(const std::string& script, const std::string& url, const std::string& subject,
                size_t count)
      : process_({.command = {"node", script, url, subject, std::to_string(count)},
                  .environment = {},
                  .input = {},
                  .keeps_input_open = true}) {}

  void allow(size_t limit) override { process_.write(fmt::format("{}\n", limit)); }
  size_t acknowledged() override { return shown().first; }
  size_t repeated() override { return shown().second; }
  std::string name() const override { return "the NATS client for node"; }

 private:
  /// The numbers of the last whole line that the publisher has printed.
  std::pair<size_t, size_t> shown() {
    CHECK(!process_.wait(Duration(0)), "the publisher has ended: {}", process_.errors());
    const std::string output = process_.output();
    const size_t end = output.rfind('\n');
    if (end == std::string::npos) return {0, 0};
    const size_t begin = output.substr(0, end).rfind('\n') + 1;  // npos + 1: the first line
    std::istringstream line(output.substr(begin, end - begin));
    std::pair<size_t, size_t> numbers;
    line >> numbers.first >> numbers.second;
    CHECK(!line.fail(), "the publisher printed {}", output);
    return numbers;
  }

  Process process_;
};

}  // namespace

std::unique_ptr<OrderPublisher> start_publisher(const std::string& url, const std::string& subject,
                                                size_t count) {
  const char* const script = std::getenv("MILLRACE_SOURCED_PUBLISHER");
  if (script == nullptr) return std::make_unique<OwnPublisher>(url, subject, count);
  return std::make_unique<NodePublisher>(script, url, subject, count);
}

}  // namespace millrace
