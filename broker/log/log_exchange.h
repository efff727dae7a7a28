// LogExchange: a conversation with the brokers about the log, as a state machine: what has to be
// sent, read and asked next, and the answers. LogBook and LogRestore are such. No I/O: the time is
// an argument, and nothing is sent. Private to broker/; for one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "broker/log/log_message.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// What has to be done next.
struct LogSend {       ///< publish the message
  uint64_t token = 0;  ///< for acknowledged(), wrong_sequence() and send_failed()
  LogMessage message;
};
struct LogResend {  ///< publish a message that the log has lost
  uint64_t token = 0;
  NatsMessage message;
};
struct LogRead {  ///< read the message of the stream with that sequence from the stream's leader
  uint64_t sequence = 0;
};
struct LogAskEnd {};  ///< ask the stream for its last sequence
using LogAction = std::variant<LogSend, LogRead, LogAskEnd, LogResend>;

struct LogTimes {
  Duration answer_timeout{1'000};  ///< after this time without an answer, the stream is asked
  Duration look_again{100};        ///< the pause after an answer that proves nothing
  Duration error_pause{1'000};     ///< the pause after an error
};

class LogExchange {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~LogExchange() = default;

  /// Returns what has to be done now. It counts as done. To be called after every other function,
  /// and at next_time().
  virtual std::vector<LogAction> take_actions(Time now) = 0;
  /// When take_actions() has something to return if nothing happens before; nullopt: never.
  virtual std::optional<Time> next_time() const = 0;

  // The answers to a LogSend or LogResend. An answer to one that is no longer of interest is
  // ignored.
  /// The broker has stored the message at that sequence.
  virtual void acknowledged(uint64_t token, uint64_t sequence, Time now) = 0;
  /// The broker has refused the message, because the last sequence is `last` (error 10071);
  /// nullopt: it does not name the last sequence.
  virtual void wrong_sequence(uint64_t token, std::optional<uint64_t> last, Time now) = 0;
  /// The broker has answered with another error.
  virtual void send_failed(uint64_t token, const Error& error, Time now) = 0;

  // The answers to a LogRead.
  virtual void found(uint64_t sequence, NatsMessage message, Time now) = 0;
  virtual void not_found(uint64_t sequence, Time now) = 0;
  /// The answer to a LogAskEnd.
  virtual void stream_ends(uint64_t last, Time now) = 0;
  /// A LogRead or a LogAskEnd has failed.
  virtual void question_failed(const Error& error, Time now) = 0;

  /// The connection is lost, or no broker listens: what was not answered may have arrived or not.
  virtual void link_lost(Time now) = 0;
};

}  // namespace millrace
