// OrderSubscribers: the worker of the service `pack` and a reader of the events `delivered` of
// OrderLoad, on a thread of its own. Both read the messages of a stream one by one, in the order of
// the stream, and count what came of each order. So they see each message that the stream has, also
// twice, and do not depend on a consumer that a fault could hit.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "broker/connection.h"
#include "broker/stored_message.h"

namespace millrace {

class OrderSubscribers {
 public:
  /// `connection` may be to any of the NATS servers, and connects again.
  explicit OrderSubscribers(std::unique_ptr<Connection> connection);
  ~OrderSubscribers();
  OrderSubscribers(const OrderSubscribers&) = delete;
  OrderSubscribers& operator=(const OrderSubscribers&) = delete;

  /// Reads both streams from their first message on: they may have lost messages, so that others
  /// have the sequences of those that were read. Tasks that are still there are answered again.
  void read_again();

  /// The orders of these that have no event `delivered` yet.
  std::set<std::string> undelivered(const std::set<std::string>& orders) const;

  /// Expects one task and one event `delivered` for each order, and no others: messages that came
  /// twice have one id.
  void expect_each_once(const std::set<std::string>& orders) const;

 private:
  /// What was read of one stream.
  struct Reading {
    const char* stream;
    const char* subject;
    uint64_t next = 1;                                 ///< the sequence from which on it is read
    std::map<std::string, std::set<std::string>> ids;  ///< by order
    size_t messages = 0;
  };

  void run();
  bool read_task();
  bool read_event();
  Result<StoredMessage> next_of(const Reading& reading);
  bool answer(const NatsMessage& task);
  void check_epoch(const StoredMessage& task);
  void note(Reading& reading, uint64_t sequence, const std::string& order, const std::string& id);
  static void expect_one_id(const Reading& reading, const std::set<std::string>& orders);

  const std::unique_ptr<Connection> connection_;
  std::atomic<bool> is_stopping_ = false;
  mutable std::mutex mutex_;  ///< guards what follows
  bool must_read_again_ = false;
  Reading tasks_{.stream = "MILLRACE_TASKS", .subject = "millrace.tasks.default.pack"};
  Reading events_{.stream = "MILLRACE_EVENTS", .subject = "millrace.events.default.delivered"};
  uint64_t epoch_ = 0;  ///< of the latest task that was read; only the thread uses it
  std::thread thread_;
};

}  // namespace millrace
