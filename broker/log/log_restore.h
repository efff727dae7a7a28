// LogRestore: appends again what the brokers have lost of the end of the log. Each message is the
// one that the log had at that place, and expects the one before it, so it gets its old sequence or
// none. One message is sent at a time, and the first one only when the message before it was read
// and is the one that the log had there: so nothing is put behind another history. A message that
// was foreign is replaced by an empty one, which is foreign too. Who may restore, and when, is
// decided elsewhere. Pure. Private to broker/; for one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "broker/log/log_exchange.h"
#include "broker/log/log_restored.h"
#include "broker/log/log_tail.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

class LogRestore final : public LogExchange {
 public:
  /// `key`: 32 bytes (log_chain). `until`: nothing is sent from then on. `token`: those of the
  /// messages are greater.
  LogRestore(LogTimes times, std::string key, std::string subject, LogTail tail, Time until,
             uint64_t token = 0)
      : times_(times),
        key_(std::move(key)),
        subject_(std::move(subject)),
        tail_(std::move(tail)),
        until_(until),
        token_(token) {}

  // LogExchange.
  std::vector<LogAction> take_actions(Time now) override;
  std::optional<Time> next_time() const override;
  void acknowledged(uint64_t token, uint64_t sequence, Time now) override;
  void wrong_sequence(uint64_t token, std::optional<uint64_t> last, Time now) override;
  void send_failed(uint64_t token, const Error& error, Time now) override;
  void found(uint64_t sequence, NatsMessage message, Time now) override;
  void not_found(uint64_t sequence, Time now) override;
  void stream_ends(uint64_t last, Time now) override;
  void question_failed(const Error& error, Time now) override;
  void link_lost(Time now) override;

  /// How the restoration has ended; nullopt: it has not.
  const std::optional<LogRestored>& outcome() const { return outcome_; }
  uint64_t latest_token() const { return token_; }

 private:
  enum class Step : uint8_t {
    kAsking,   ///< where the stream ends
    kReading,  ///< the message at checks_
    kSending,  ///< the message at next_
    kPausing,  ///< then kAsking
    kDone,
  };

  void enter(Step step);
  void pause(Duration time, Time now);
  void check(uint64_t sequence);
  void finish(LogRestored::What what, std::string why = {});
  NatsMessage message_to_send() const;

  const LogTimes times_;
  const std::string key_;
  const std::string subject_;
  const LogTail tail_;
  const Time until_;
  uint64_t token_;  ///< of the latest sending
  Step step_ = Step::kAsking;
  std::optional<Time> asked_at_;  ///< nullopt: what the step asks for is to be done
  Time pause_until_{};
  uint64_t checks_ = 0;
  uint64_t next_ = 0;
  uint64_t count_ = 0;
  std::optional<LogRestored> outcome_;
};

}  // namespace millrace
