#include "tests/integration/order_subscribers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "cloudevents/headers.h"
#include "model/task.h"
#include "tests/support/process.h"

namespace millrace {
namespace {

/// How long the thread waits when neither stream has a further message.
constexpr Duration kBetweenReads{20};
constexpr Duration kAnswerOfStream = std::chrono::seconds(2);

std::string header_of(const NatsMessage& message, std::string_view name) {
  const std::string* const value = find_header(message.headers, name);
  return value == nullptr ? "" : *value;
}

}  // namespace

OrderSubscribers::OrderSubscribers(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)), thread_([this] { run(); }) {}

OrderSubscribers::~OrderSubscribers() {
  is_stopping_ = true;
  thread_.join();
}

void OrderSubscribers::read_again() {
  const std::lock_guard lock(mutex_);
  must_read_again_ = true;
}

std::set<std::string> OrderSubscribers::undelivered(const std::set<std::string>& orders) const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> missing;
  for (const std::string& order : orders) {
    if (!events_.ids.contains(order)) missing.insert(order);
  }
  return missing;
}

void OrderSubscribers::expect_each_once(const std::set<std::string>& orders) const {
  const std::lock_guard lock(mutex_);
  expect_one_id(tasks_, orders);
  expect_one_id(events_, orders);
  fmt::print("{} orders, {} tasks, {} events delivered\n", orders.size(), tasks_.messages,
             events_.messages);
}

void OrderSubscribers::expect_one_id(const Reading& reading, const std::set<std::string>& orders) {
  for (const std::string& order : orders) {
    EXPECT_TRUE(reading.ids.contains(order))
        << "lost: no message with subject " << reading.subject << " for order " << order;
  }
  for (const auto& [order, ids] : reading.ids) {
    EXPECT_TRUE(orders.contains(order))
        << "a message with subject " << reading.subject << " for the unknown order " << order;
    EXPECT_EQ(ids.size(), 1U) << "doubled: messages of several ids with subject " << reading.subject
                              << " for order " << order;
  }
}

void OrderSubscribers::run() {
  while (!is_stopping_) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(must_read_again_, false)) {
        tasks_.next = 1;
        events_.next = 1;
        epoch_ = 0;
      }
    }
    const bool has_task = read_task();
    const bool has_event = read_event();
    if (has_task || has_event) continue;
    const auto until = std::chrono::steady_clock::now() + kBetweenReads;
    eventually([&] { return is_stopping_ || std::chrono::steady_clock::now() >= until; });
  }
}

bool OrderSubscribers::read_task() {
  const Result<StoredMessage> task = next_of(tasks_);
  if (!task || !answer(task->message)) return false;
  check_epoch(*task);
  note(tasks_, task->sequence, Json::parse(task->message.data).at("order"),
       header_of(task->message, "Direktiv-ActionID"));
  return true;
}

bool OrderSubscribers::read_event() {
  const Result<StoredMessage> event = next_of(events_);
  if (!event) return false;
  const Json json = Json::parse(event->message.data);
  note(events_, event->sequence, json.at("data").at("order"), json.at("id"));
  return true;
}

/// The next message of the subject. Errors: as of fetch_stored(); there may be none yet, or no NATS
/// server that answers.
Result<StoredMessage> OrderSubscribers::next_of(const Reading& reading) {
  return fetch_stored(*connection_, reading.stream,
                      {{"seq", reading.next}, {"next_by_subj", reading.subject}});
}

/// False if the stream of the answers has not acknowledged the answer: it is sent again.
bool OrderSubscribers::answer(const NatsMessage& task) {
  const NatsMessage reply{.subject = header_of(task, "Millrace-Reply"), .headers = {}, .data = "1"};
  const Result<NatsMessage> acknowledged = connection_->request(reply, kAnswerOfStream);
  return acknowledged && parse_json(acknowledged->data).value_or(Json()).contains("seq");
}

/// The tasks of one epoch are never behind those of a later one: one node at a time has effects.
void OrderSubscribers::check_epoch(const StoredMessage& task) {
  const std::string text = header_of(task.message, kEpochHeader);
  const uint64_t epoch = text.empty() ? 0 : std::stoull(text);
  EXPECT_GT(epoch, 0U) << "message " << task.sequence << " of " << tasks_.stream
                       << " has no header " << kEpochHeader;
  EXPECT_GE(epoch, epoch_) << "two actives: message " << task.sequence << " of " << tasks_.stream
                           << " is of epoch " << epoch << ", behind one of epoch " << epoch_;
  epoch_ = std::max(epoch_, epoch);
}

void OrderSubscribers::note(Reading& reading, uint64_t sequence, const std::string& order,
                            const std::string& id) {
  const std::lock_guard lock(mutex_);
  reading.next = sequence + 1;
  reading.ids[order].insert(id);
  ++reading.messages;
}

}  // namespace millrace
