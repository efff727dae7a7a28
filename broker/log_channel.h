// LogChannel: performs what a LogExchange asks for, on the connection to the broker, and hands it
// the answers. One thread uses a channel at a time; stop() may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/log/log_exchange.h"
#include "broker/nats_handles.h"
#include "broker/streams.h"

namespace millrace {

class Listening;

class LogChannel {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `stream`: log_stream(). `connection` must outlive this object, and must not be guarded.
  LogChannel(Connection& connection, const StreamSettings& stream);
  ~LogChannel();
  LogChannel(const LogChannel&) = delete;
  LogChannel& operator=(const LogChannel&) = delete;

  /// Drops the answers that have come and were not handed on.
  void drop_answers();
  /// Does what the exchange asks for now.
  void perform(LogExchange& exchange);
  /// Waits until an answer has come, the exchange has something to do, or the deadline has passed;
  /// hands on what came. Error `log.closed`: stop() was called.
  Status wait(LogExchange& exchange, std::optional<Time> deadline);

  /// Ends wait(), and all later ones. Never blocks.
  void stop();
  bool is_stopped() const;

 private:
  /// An answer of the broker.
  struct Answer {
    std::string to;  ///< the last token of its subject
    bool is_no_responder = false;
    std::string data;
  };

  Status send(const NatsMessage& message, uint64_t token);
  Status ask(const std::string& subject, const std::string& body, std::optional<uint64_t> read);
  Status do_action(LogAction action);
  Status listen();
  void on_answer(natsMsg* message);
  void hear(LogExchange& exchange, const Answer& answer);
  void hear_ack(LogExchange& exchange, uint64_t token, const Answer& answer) const;
  void hear_question(LogExchange& exchange, const Answer& answer) const;

  Connection& connection_;
  const std::string stream_;
  const std::string subject_;  ///< of the log
  const std::string get_subject_;
  const std::string info_subject_;
  const std::string inbox_;  ///< ends in a dot; reply subjects add a token
  uint64_t watch_ = 0;
  std::unique_ptr<Listening> listening_;
  uint64_t question_ = 0;               ///< the number of the latest question
  std::optional<uint64_t> asked_read_;  ///< its sequence; nullopt: it asks where the stream ends

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  bool is_stopped_ = false;
  bool is_link_lost_ = false;
  std::vector<Answer> answers_;
};

}  // namespace millrace
