// LogBook: what has to be sent, read and asked until an append to the log is certain. Brokers lose
// messages and answers, answer late and twice, and a leader that is cut off answers from an old
// state. Only an acknowledgement, or a message that was read at its sequence, proves what the log
// has. Each message expects the sequence of the one before it, so the log takes it once, however
// often it is sent. No I/O: the time is an argument, and nothing is sent. Private to broker/; for
// one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "broker/log/log_exchange.h"
#include "broker/log/log_message.h"
#include "broker/log/log_payload.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// An end of the log, as far as it is known.
struct LogPlace {
  uint64_t sequence = 0;  ///< of the latest message of the stream, which may be foreign
  LogChain chain{};       ///< of the latest message of the log

  bool operator==(const LogPlace&) const = default;
};

/// How an append has ended.
struct LogOutcome {
  enum class What : uint8_t {
    kCertain,  ///< the log has it
    kDeposed,  ///< another node began an epoch: the log will never have it
    kLost,     ///< the log is not the one that this book has appended to
    // Only of a `begin`. It is never sent again, and only the reader of the log sees whether the
    // log has it: a leader that is cut off may refuse a message that the next leader takes.
    kRefused,     ///< a leader has refused it: another message came first, or it is cut off
    kUnanswered,  ///< it was sent and not acknowledged
  };
  What what = What::kCertain;
  std::string why = {};  ///< a sentence; empty if it is certain
  /// When the last part was sent first: the log has taken it at this time or later.
  std::chrono::steady_clock::time_point sent{};
};

/// A message that the log has.
struct LogKept {
  uint64_t sequence = 0;
  std::optional<LogMessage> message;  ///< with its payload; nullopt: it is foreign
};

class LogBook final : public LogExchange {
 public:
  struct Settings {
    LogTimes times = {};
    size_t most_in_flight = 8;  ///< limit of the parts that are sent and not acknowledged
  };

  /// `key`: 32 bytes (log_chain). `place`: the end of the log, behind which the first append goes.
  LogBook(Settings settings, std::string key, LogPlace place)
      : settings_(settings), key_(std::move(key)), place_(place) {}

  /// Begins an append. Precondition: there is none under way, and all before were certain.
  void append(LogUnit unit);

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

  /// Where the log ends, if a leader has said that it ends before place(), or has refused a message
  /// although it ends there: the leader is cut off, or the log has lost its newest messages.
  /// Nothing is sent before go_on(), so that the caller can have them restored (LogRestore). Never
  /// of a `begin`.
  std::optional<uint64_t> low_end() const { return low_end_; }
  /// Tries again, soon. Precondition: low_end().
  void go_on(Time now);

  /// How the append has ended, once. After kCertain the next append may begin; after another
  /// outcome none may.
  std::optional<LogOutcome> take_outcome();

  /// What the log has behind the former place(), in order, since the latest call. append() drops
  /// what was not taken.
  std::vector<LogKept> take_certain();

  const LogPlace& place() const { return place_; }
  /// Why the append is not certain yet: a sentence; empty: there is no trouble.
  const std::string& trouble() const { return trouble_; }
  /// How many messages of the stream were passed over, because they are not of the log.
  uint64_t passed_over() const { return passed_over_; }

 private:
  enum class Step : uint8_t {
    kIdle,
    kSending,
    kReading,  ///< the message behind place_
    kAsking,   ///< where the stream ends
    kPausing,
    kHeld,     ///< until go_on()
    kStopped,  ///< the last append is not certain
  };
  /// A part that is to be sent or was sent; `message` is without its payload.
  struct Sending {
    LogMessage message;
    uint64_t token = 0;  ///< of the latest sending
    std::optional<Time> sent;
    bool acknowledged = false;
    std::optional<uint64_t> refused;  ///< the last sequence that the broker named
  };

  void elapse(Time now);
  void send_parts(Time now, std::vector<LogAction>& actions);
  Sending next_sending();
  Sending* sending_of(uint64_t token);
  void settle();
  void look_at_refusal(uint64_t last);
  void nothing_heard(std::string why);
  void pass_over();
  void proceed();
  void send_again();
  void forget_acknowledgements();
  void question(Step step);
  void hold(uint64_t last);
  void pause(Duration time, Step then, Time now);
  void finish(LogOutcome::What what, std::string why = {});
  bool is_begin() const { return unit_ && unit_->kind == LogKind::kBegin; }

  const Settings settings_;
  const std::string key_;
  LogPlace place_;  ///< everything up to it is certain
  Step step_ = Step::kIdle;
  std::optional<LogUnit> unit_;
  size_t next_ = 0;  ///< the index of the first part that is not certain
  /// A message was passed over, so a part waits for the one before it: parts that are in flight
  /// together would stand behind one another's places again and again.
  bool sends_singly_ = false;
  /// The parts from next_ on that are in flight: each expects the one before it.
  std::deque<Sending> sendings_;
  uint64_t latest_token_ = 0;
  /// The chains of what was sent: an acknowledgement counts for a part that was sent again, too.
  std::map<uint64_t, LogChain> tokens_;
  uint64_t known_last_ = 0;  ///< the last sequence that the broker named
  std::optional<uint64_t> low_end_;
  std::optional<Time> asked_at_;
  Time pause_until_{};
  Step after_pause_ = Step::kIdle;
  std::optional<Time> last_part_sent_;
  std::vector<LogKept> certain_;
  std::optional<LogOutcome> outcome_;
  std::string trouble_;
  uint64_t passed_over_ = 0;
};

}  // namespace millrace
