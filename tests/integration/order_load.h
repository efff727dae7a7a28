// OrderLoad: clients of a cluster that start orders and pay for them, over HTTP, while nodes and
// NATS servers fail. Each client stays with a node until that node does not answer, and sends again
// what was not acknowledged, under the same idempotency key or the same id of the event. So each
// order must be there once.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/time.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {

class OrderLoad {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The workflow: an order waits until it is paid, is packed by a worker of the service `pack`,
  /// and generates the event `delivered`. The data of the task and of the event is {"order": key}.
  static const char* const kDefinition;

  /// Starts the clients. `ports` are those of the nodes, on the loopback.
  explicit OrderLoad(std::vector<uint16_t> ports);
  /// Ends the clients at once, also in the middle of an order.
  ~OrderLoad();
  OrderLoad(const OrderLoad&) = delete;
  OrderLoad& operator=(const OrderLoad&) = delete;

  /// Waits until further orders were started and paid. False if that took longer than kPatience, or
  /// if a request failed.
  bool proceeds() const;

  /// How many orders are started and paid.
  size_t paid() const { return paid_; }

  /// Returns when each order that was started is paid.
  void stop();

  /// After stop(): pays for an order again, with the event of before.
  void pay_again(const std::string& order);

  /// After stop(): the keys of all orders.
  std::set<std::string> orders() const;

  /// The longest time without an acknowledged start of an order, from the last one before `from`
  /// until the latest one. It includes the time after which a client asks another node (0.5 s at
  /// most) and the time between two orders.
  Duration longest_gap(Time from) const;

 private:
  /// The node that a client uses now, as an index of ports_.
  struct Client {
    size_t node = 0;
  };
  using Call = std::function<HttpReply(uint16_t port)>;

  void run(size_t number);
  bool start(Client& client, const std::string& order);
  bool pay(Client& client, const std::string& order);
  bool call_until_acknowledged(Client& client, std::string_view what, const Call& call);
  void note_acknowledgement();
  void pause(Duration time);

  const std::vector<uint16_t> ports_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_abandoned_ = false;
  std::atomic<bool> has_failed_ = false;
  std::atomic<size_t> paid_ = 0;
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::set<std::string> orders_;
  std::vector<Time> acknowledged_;  ///< when orders were started, in order
  std::vector<std::thread> clients_;
};

}  // namespace millrace
