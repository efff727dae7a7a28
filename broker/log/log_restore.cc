#include "broker/log/log_restore.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bytes.h"

namespace millrace {

std::vector<LogAction> LogRestore::take_actions(Time now) {
  std::vector<LogAction> actions;
  if (step_ == Step::kDone) return actions;
  if (now >= until_) {
    finish(LogRestored::What::kExpired, "the time in which this node may restore the log is over");
    return actions;
  }
  if (step_ == Step::kPausing && now >= pause_until_) enter(Step::kAsking);
  // What was sent may have arrived or not.
  if (asked_at_ && now >= *asked_at_ + times_.answer_timeout) enter(Step::kAsking);
  if (step_ == Step::kPausing || asked_at_) return actions;
  asked_at_ = now;
  if (step_ == Step::kAsking) actions.emplace_back(LogAskEnd{});
  if (step_ == Step::kReading) actions.emplace_back(LogRead{checks_});
  if (step_ == Step::kSending) actions.emplace_back(LogResend{++token_, message_to_send()});
  return actions;
}

std::optional<LogRestore::Time> LogRestore::next_time() const {
  if (step_ == Step::kDone) return std::nullopt;
  const Time due = step_ == Step::kPausing ? pause_until_
                   : asked_at_             ? *asked_at_ + times_.answer_timeout
                                           : Time{};
  return std::min(due, until_);
}

void LogRestore::stream_ends(uint64_t last, Time /*now*/) {
  if (step_ != Step::kAsking || !asked_at_) return;
  if (last >= tail_.last()) return finish(LogRestored::What::kWhole);
  next_ = last + 1;
  check(last);
}

/// Compares the message at that sequence with what the log had there. Behind a foreign message that
/// says nothing, so the one before it is compared, too.
void LogRestore::check(uint64_t sequence) {
  if (sequence < tail_.base().sequence) {
    return finish(LogRestored::What::kGone,
                  fmt::format("the log ends at {}, and this node has its messages from {} on only",
                              next_ - 1, tail_.base().sequence + 1));
  }
  if (sequence == 0) return enter(Step::kSending);  // an empty stream
  checks_ = sequence;
  enter(Step::kReading);
}

void LogRestore::found(uint64_t sequence, NatsMessage message, Time /*now*/) {
  if (step_ != Step::kReading || !asked_at_ || sequence != checks_) return;
  const Result<LogMessage> read = read_log_message(key_, sequence, std::move(message));
  const bool is_base = !tail_.has(sequence);
  const LogMessage* const kept = is_base ? nullptr : tail_.at(sequence);
  if (is_base || kept != nullptr) {
    const LogChain& chain = is_base ? tail_.base().chain : kept->chain;
    if (read && read->chain == chain) return enter(Step::kSending);
    // At the base only the chain of the latest message of the log is known.
    if (is_base && (!read || read->part.number > 1)) return check(sequence - 1);
  } else {
    // A part that does not follow the part before it is passed over as a foreign message is.
    if (!read || read->part.number > 1) return check(sequence - 1);
  }
  finish(
      LogRestored::What::kForked,
      fmt::format("the log has lost message {} of this node, and has another one there", sequence));
}

void LogRestore::not_found(uint64_t sequence, Time now) {
  if (step_ != Step::kReading || sequence != checks_) return;
  // What the broker counted may vanish with its leader, or the message was trimmed.
  pause(times_.look_again, now);
}

void LogRestore::acknowledged(uint64_t token, uint64_t sequence, Time now) {
  if (step_ != Step::kSending || !asked_at_ || token != token_) return;
  if (sequence != next_) return pause(times_.look_again, now);
  ++count_;
  if (next_ == tail_.last()) return finish(LogRestored::What::kWhole);
  ++next_;
  enter(Step::kSending);
}

void LogRestore::wrong_sequence(uint64_t token, std::optional<uint64_t> /*last*/, Time now) {
  if (step_ == Step::kSending && token == token_) pause(times_.look_again, now);
}

void LogRestore::send_failed(uint64_t token, const Error& /*error*/, Time now) {
  if (step_ == Step::kSending && token == token_) pause(times_.error_pause, now);
}

void LogRestore::question_failed(const Error& /*error*/, Time now) {
  if (step_ == Step::kAsking || step_ == Step::kReading) pause(times_.error_pause, now);
}

void LogRestore::link_lost(Time now) {
  if (step_ != Step::kDone && asked_at_) pause(times_.look_again, now);
}

void LogRestore::enter(Step step) {
  step_ = step;
  asked_at_.reset();
}

void LogRestore::pause(Duration time, Time now) {
  enter(Step::kPausing);
  pause_until_ = now + time;
}

void LogRestore::finish(LogRestored::What what, std::string why) {
  outcome_ = LogRestored{what, count_, std::move(why)};
  enter(Step::kDone);
}

NatsMessage LogRestore::message_to_send() const {
  if (const LogMessage* const kept = tail_.at(next_)) return encode_log_message(*kept, subject_);
  return log_filler(next_ - 1, subject_);
}

}  // namespace millrace
