// OrderSubscribers: the worker of the service `pack` and a reader of the events `delivered` of
// OrderLoad, each on a thread of its own. Both read the messages of a stream one by one, in the
// order of the stream, and count what came of each order. So they see each message that the stream
// has, also twice, and do not depend on a consumer that a fault could hit.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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
  /// `connection` may be to any of the NATS servers, and connects again by itself.
  explicit OrderSubscribers(std::unique_ptr<Connection> connection);
  ~OrderSubscribers();
  OrderSubscribers(const OrderSubscribers&) = delete;
  OrderSubscribers& operator=(const OrderSubscribers&) = delete;

  /// The streams will not lose what they have now.
  void mark();
  /// The streams may have lost messages that came after mark(), so that others have their
  /// sequences: reads what comes after mark() again. Tasks that are still there are answered again.
  void read_again();

  /// How many orders have an event `delivered`.
  size_t delivered() const;

  /// The orders of these that have no event `delivered` yet.
  std::set<std::string> undelivered(const std::set<std::string>& orders) const;

  /// Expects one task and one event `delivered` for each order, and no others: messages that came
  /// twice have one id. After read_again() a task may have been attempted again, under another id:
  /// the attempt before was lost after it was read here.
  void expect_each_once(const std::set<std::string>& orders) const;

 private:
  /// What was read of one stream. The mutex guards it, except the names.
  struct Reading {
    const char* const stream;
    const char* const subject;
    uint64_t next = 1;    ///< the sequence from which on it is read
    uint64_t marked = 1;  ///< `next` at the latest mark()
    size_t again = 0;     ///< how often it was read again
    std::map<std::string, std::set<std::string>> ids = {};  ///< by order
    size_t messages = 0;
  };
  /// Where a thread reads.
  struct Place {
    uint64_t next = 1;
    size_t again = 0;
  };

  void run(const std::function<bool()>& read_one);
  bool read_task();
  bool read_event();
  Place place_of(const Reading& reading) const;
  Result<StoredMessage> message_at(const Reading& reading, const Place& place);
  bool answer(const NatsMessage& task);
  void check_epoch(const StoredMessage& task, const Place& place);
  void note(Reading& reading, const Place& place, uint64_t sequence, const std::string& order,
            const std::string& id);
  static void expect_one_id(const Reading& reading, const std::set<std::string>& orders,
                            bool may_repeat);

  const std::unique_ptr<Connection> connection_;
  std::atomic<bool> is_stopping_ = false;
  mutable std::mutex mutex_;
  Reading tasks_{.stream = "MILLRACE_TASKS", .subject = "millrace.tasks.default.pack"};
  Reading events_{.stream = "MILLRACE_EVENTS", .subject = "millrace.events.default.delivered"};
  /// Of the latest task that was read since the tasks were read again that often. Only the worker
  /// uses them.
  uint64_t epoch_ = 0;
  size_t epoch_again_ = 0;
  std::thread worker_;
  std::thread reader_;
};

}  // namespace millrace
