// The bookkeeping of a pull consumer, as pure values: how it asks, what a delivered message says of
// itself, and which requests for more are still open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace millrace {

struct PullSettings {
  size_t requests = 3;                  ///< sent ahead
  size_t batch = 512;                   ///< messages each
  Duration heartbeat{1000};             ///< the server's sign of life when nothing comes
  Duration expires{30'000};             ///< of a request
  Duration inactive_threshold{60'000};  ///< how long the server keeps a consumer that nobody reads
};

/// What the reply subject of a delivered message holds.
struct DeliveryNumbers {
  uint64_t stream_sequence = 0;
  uint64_t consumer_sequence = 0;  ///< 1, 2, 3 …: a gap is a lost message
  int64_t stamped = 0;             ///< when the broker took it, nanoseconds
  uint64_t pending = 0;            ///< how many are behind it

  bool operator==(const DeliveryNumbers&) const = default;
};

/// Reads `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>`,
/// and the form with a domain and an account's hash in front and perhaps a token behind.
std::optional<DeliveryNumbers> parse_ack_subject(std::string_view subject);

/// The name of the consumer in such a subject; empty: it is none.
std::string_view consumer_of_ack(std::string_view subject);

/// How many messages have been asked for and are still to come. Servers spread messages over all
/// open requests, so it is kept for all of them together.
class PullWindow {
 public:
  PullWindow(size_t requests, size_t batch) : requests_(requests), batch_(batch) {}

  /// Whether another request for batch() messages is to be sent now; it then counts as sent.
  bool take_request();

  size_t batch() const { return batch_; }

  /// A message came.
  void count();

  /// The server ended a request that had so many messages left.
  void ended(size_t left);

  /// The messages that are still to come.
  size_t open() const { return open_; }

 private:
  size_t requests_;
  size_t batch_;
  size_t open_ = 0;
};

}  // namespace millrace
