// The bookkeeping of a pull consumer, as pure values: its settings, the numbers in the reply
// subject of a message, and the requests that are still open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace millrace {

struct PullSettings {
  size_t requests = 3;       ///< how many requests are open at the same time
  size_t batch = 512;        ///< messages in each request
  Duration heartbeat{1000};  ///< interval of the broker's heartbeats while it has no messages
  Duration expires{30'000};  ///< lifetime of a request
  Duration inactive_threshold{60'000};  ///< how long the broker keeps a consumer without requests
};

/// The numbers in the reply subject of a delivered message.
struct DeliveryNumbers {
  uint64_t stream_sequence = 0;
  uint64_t consumer_sequence = 0;  ///< 1, 2, 3 …: a gap means a lost message
  int64_t stamped = 0;             ///< when the broker stored the message, nanoseconds
  uint64_t pending = 0;            ///< how many messages follow this one

  bool operator==(const DeliveryNumbers&) const = default;
};

/// Reads `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>`,
/// and the form that has a domain and an account hash before the stream, and perhaps one more token
/// at the end.
std::optional<DeliveryNumbers> parse_ack_subject(std::string_view subject);

/// The name of the consumer in a subject that parse_ack_subject() reads; empty: the subject is not
/// valid.
std::string_view consumer_of_ack(std::string_view subject);

/// How many requested messages are still to come. The broker distributes messages over all open
/// requests, so there is one count for all requests.
class PullWindow {
 public:
  PullWindow(size_t requests, size_t batch) : requests_(requests), batch_(batch) {}

  /// Whether another request for batch() messages has to be sent now; if so, it is counted as sent.
  bool take_request();

  size_t batch() const { return batch_; }

  /// Counts one message that came.
  void count();

  /// The broker ended a request that had `left` messages left.
  void ended(size_t left);

  /// The number of messages that are still to come.
  size_t open() const { return open_; }

 private:
  size_t requests_;
  size_t batch_;
  size_t open_ = 0;
};

}  // namespace millrace
