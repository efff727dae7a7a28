// OrderPublisher: another program, which fills the stream of a source with orders in plain JSON,
// several at a time. It publishes each order again, under the same Nats-Msg-Id, until the stream
// has acknowledged it: so the stream has each of them once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace millrace {

class OrderPublisher {
 public:
  virtual ~OrderPublisher() = default;

  /// Lets the first `limit` orders be published from now on.
  virtual void allow(size_t limit) = 0;
  /// How many orders the stream has acknowledged.
  virtual size_t acknowledged() = 0;
  /// How often an order was published again.
  virtual size_t repeated() = 0;
  /// What the publisher is, for the output of a test.
  virtual std::string name() const = 0;
};

/// Starts a publisher of `count` orders: that of tests/publisher, if the environment variable
/// MILLRACE_SOURCED_PUBLISHER is its path, or else one with the client of millrace.
std::unique_ptr<OrderPublisher> start_publisher(const std::string& url, const std::string& subject,
                                                size_t count);

}  // namespace millrace
