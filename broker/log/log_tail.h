// LogTail: the newest messages of the log, as a node has read or appended them, so that a node can
// append again what the brokers have lost. It has no gap: each message follows the one before it.
// Bounded by bytes and by age. Pure: the time is an argument. A copy is cheap, it shares the
// messages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/time.h"
#include "broker/log/log_book.h"
#include "broker/log/log_message.h"

namespace millrace {

class LogTail {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    size_t bytes = size_t{256} << 20;  ///< payloads, and kMessageBytes for each message
    /// How much older than the newest message a message may be: NATS servers sync every two minutes
    /// unless they are configured otherwise.
    Duration age{240'000};
  };
  /// What a message counts beside its payload.
  static constexpr size_t kMessageBytes = 256;

  /// `base`: the end of the log, as far as its node has it. The messages follow it.
  explicit LogTail(LogPlace base) : LogTail(base, Limits()) {}
  LogTail(LogPlace base, Limits limits) : limits_(limits), base_(base) {}

  /// Keeps the next message of the stream, and drops the oldest ones as the limits say.
  /// `message`: of the log, with its payload; nullopt: it is foreign, and only its place counts.
  /// A message at a place that the tail has had already is ignored. Precondition: there is no gap.
  void add(uint64_t sequence, std::optional<LogMessage> message, Time now);

  /// The place before the oldest kept message.
  const LogPlace& base() const { return base_; }
  /// The sequence of the newest message; of the base, if there is none.
  uint64_t last() const { return base_.sequence + kept_.size(); }
  /// Whether the tail has that message of the stream.
  bool has(uint64_t sequence) const { return sequence > base_.sequence && sequence <= last(); }
  /// That message; null: it is foreign. Precondition: has(sequence).
  const LogMessage* at(uint64_t sequence) const;
  /// What the messages count by Limits::bytes.
  size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    std::shared_ptr<const LogMessage> message;  ///< null: it is foreign
    Time added{};
  };

  static size_t bytes_of(const Kept& kept);
  void drop_first();

  Limits limits_;
  LogPlace base_;
  std::deque<Kept> kept_;
  size_t bytes_ = 0;
};

}  // namespace millrace
