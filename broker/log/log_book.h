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

/// What has to be done next.
struct LogSend {       ///< publish the message
  uint64_t token = 0;  ///< for acknowledged(), wrong_sequence() and send_failed()
  LogMessage message;
};
struct LogRead {  ///< read the message of the stream with that sequence from the stream's leader
  uint64_t sequence = 0;
};
struct LogAskEnd {};  ///< ask the stream for its last sequence
using LogAction = std::variant<LogSend, LogRead, LogAskEnd>;

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

class LogBook {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Settings {
    Duration answer_timeout{1'000};  ///< after this time without an answer, the stream is asked
    Duration look_again{100};        ///< the pause after an answer that proves nothing
    Duration error_pause{1'000};     ///< the pause after an error
    size_t most_in_flight = 8;       ///< limit of the parts that are sent and not acknowledged
  };

  /// `key`: 32 bytes (log_chain). `place`: the end of the log, behind which the first append goes.
  LogBook(Settings settings, std::string key, LogPlace place)
      : settings_(settings), key_(std::move(key)), place_(place) {}

  /// Begins an append. Precondition: there is none under way, and all before were certain.
  void append(LogUnit unit);

  /// Returns what has to be done now. It counts as done. To be called after every other function,
  /// and at next_time().
  std::vector<LogAction> take_actions(Time now);
  /// When take_actions() has something to return if nothing happens before; nullopt: never.
  std::optional<Time> next_time() const;

  // The answers to a LogSend. An answer to one that is no longer of interest is ignored.
  /// The broker has stored the message at that sequence.
  void acknowledged(uint64_t token, uint64_t sequence, Time now);
  /// The broker has refused the message, because the last sequence is `last` (error 10071).
  void wrong_sequence(uint64_t token, uint64_t last, Time now);
  /// The broker has answered with another error.
  void send_failed(uint64_t token, const Error& error, Time now);

  // The answers to a LogRead.
  void found(uint64_t sequence, NatsMessage message, Time now);
  void not_found(uint64_t sequence, Time now);
  /// The answer to a LogAskEnd.
  void stream_ends(uint64_t last, Time now);
  /// A LogRead or a LogAskEnd has failed.
  void question_failed(const Error& error, Time now);

  /// The connection is lost, or no broker listens: what was not answered may have arrived or not.
  void link_lost(Time now);

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
  void settle(Time now);
  void look_at_refusal(uint64_t last, Time now);
  void nothing_heard(std::string why);
  void pass_over();
  void proceed();
  void send_again();
  void question(Step step);
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
