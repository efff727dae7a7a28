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
    : connection_(std::move(connection)),
      worker_([this] { run([this] { return read_task(); }); }),
      reader_([this] { run([this] { return read_event(); }); }) {}

OrderSubscribers::~OrderSubscribers() {
  is_stopping_ = true;
  worker_.join();
  reader_.join();
}

void OrderSubscribers::mark() {
  const std::lock_guard lock(mutex_);
  tasks_.marked = tasks_.next;
  events_.marked = events_.next;
}

void OrderSubscribers::read_again() {
  const std::lock_guard lock(mutex_);
  for (Reading* reading : {&tasks_, &events_}) {
    reading->next = reading->marked;
    ++reading->again;
  }
}

size_t OrderSubscribers::delivered() const {
  const std::lock_guard lock(mutex_);
  return events_.ids.size();
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
  expect_one_id(tasks_, orders, tasks_.again > 0);
  expect_one_id(events_, orders, false);
  fmt::print("{} orders, {} tasks, {} events delivered\n", orders.size(), tasks_.messages,
             events_.messages);
}

void OrderSubscribers::expect_one_id(const Reading& reading, const std::set<std::string>& orders,
                                     bool may_repeat) {
  for (const std::string& order : orders) {
    EXPECT_TRUE(reading.ids.contains(order))
        << "lost: no message with subject " << reading.subject << " for order " << order;
  }
  for (const auto& [order, ids] : reading.ids) {
    EXPECT_TRUE(orders.contains(order))
        << "a message with subject " << reading.subject << " for the unknown order " << order;
    if (may_repeat) continue;
    EXPECT_EQ(ids.size(), 1U) << "doubled: messages of several ids with subject " << reading.subject
                              << " for order " << order;
  }
}

/// Calls `read_one` until the end; it returns false if there is nothing to read now.
void OrderSubscribers::run(const std::function<bool()>& read_one) {
  while (!is_stopping_) {
    if (read_one()) continue;
    const auto until = std::chrono::steady_clock::now() + kBetweenReads;
    eventually([&] { return is_stopping_ || std::chrono::steady_clock::now() >= until; });
  }
}

bool OrderSubscribers::read_task() {
  const Place place = place_of(tasks_);
  const Result<StoredMessage> task = message_at(tasks_, place);
  if (!task || !answer(task->message)) return false;
  check_epoch(*task, place);
  note(tasks_, place, task->sequence, Json::parse(task->message.data).at("order"),
       header_of(task->message, "Direktiv-ActionID"));
  return true;
}

bool OrderSubscribers::read_event() {
  const Place place = place_of(events_);
  const Result<StoredMessage> event = message_at(events_, place);
  if (!event) return false;
  const Json json = Json::parse(event->message.data);
  note(events_, place, event->sequence, json.at("data").at("order"), json.at("id"));
  return true;
}

OrderSubscribers::Place OrderSubscribers::place_of(const Reading& reading) const {
  const std::lock_guard lock(mutex_);
  return {.next = reading.next, .again = reading.again};
}

/// The next message of the subject. Errors: those of fetch_stored(). There may be none yet, or no
/// NATS server that answers.
Result<StoredMessage> OrderSubscribers::message_at(const Reading& reading, const Place& place) {
  return fetch_stored(*connection_, reading.stream,
                      {{"seq", place.next}, {"next_by_subj", reading.subject}});
}

/// False if the stream of the answers has not acknowledged the answer: it is sent again.
bool OrderSubscribers::answer(const NatsMessage& task) {
  const NatsMessage reply{.subject = header_of(task, "Millrace-Reply"), .headers = {}, .data = "1"};
  const Result<NatsMessage> acknowledged = connection_->request(reply, kAnswerOfStream);
  return acknowledged && parse_json(acknowledged->data).value_or(Json()).contains("seq");
}

/// The tasks of one epoch are never behind those of a later one: one node at a time has effects.
void OrderSubscribers::check_epoch(const StoredMessage& task, const Place& place) {
  if (std::exchange(epoch_again_, place.again) != place.again) epoch_ = 0;
  const std::string text = header_of(task.message, kEpochHeader);
  const uint64_t epoch = text.empty() ? 0 : std::stoull(text);
  EXPECT_GT(epoch, 0U) << "message " << task.sequence << " of " << tasks_.stream
                       << " has no header " << kEpochHeader;
  EXPECT_GE(epoch, epoch_) << "two actives: message " << task.sequence << " of " << tasks_.stream
                           << " is of epoch " << epoch << ", behind one of epoch " << epoch_;
  epoch_ = std::max(epoch_, epoch);
}

void OrderSubscribers::note(Reading& reading, const Place& place, uint64_t sequence,
                            const std::string& order, const std::string& id) {
  const std::lock_guard lock(mutex_);
  reading.ids[order].insert(id);
  ++reading.messages;
  if (reading.again == place.again) reading.next = sequence + 1;
}

}  // namespace millrace
