#include "broker/log/log_book.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace millrace {
namespace {

/// How many sendings of an append are remembered, so that a late acknowledgement counts.
constexpr size_t kMostTokens = 1'024;

std::string why_low(uint64_t last, uint64_t expected) {
  return fmt::format(
      "the leader of the log says that it ends at {}; expected {} or more: the leader is cut off, "
      "or the log has lost its newest messages",
      last, expected);
}

}  // namespace

void LogBook::append(LogUnit unit) {
  CHECK(step_ == Step::kIdle && !outcome_, "an append is under way, or was not certain");
  CHECK(!unit.parts.empty());
  unit_ = std::move(unit);
  next_ = 0;
  sends_singly_ = false;
  known_last_ = 0;
  last_part_sent_.reset();
  certain_.clear();
  step_ = Step::kSending;
}

std::vector<LogAction> LogBook::take_actions(Time now) {
  std::vector<LogAction> actions;
  elapse(now);
  if (step_ == Step::kSending) send_parts(now, actions);
  if ((step_ == Step::kReading || step_ == Step::kAsking) && !asked_at_) {
    asked_at_ = now;
    if (step_ == Step::kReading) {
      actions.emplace_back(LogRead{place_.sequence + 1});
    } else {
      actions.emplace_back(LogAskEnd{});
    }
  }
  return actions;
}

std::optional<LogBook::Time> LogBook::next_time() const {
  switch (step_) {
    case Step::kSending:
      if (sendings_.empty() || !sendings_.front().sent) return std::nullopt;
      return *sendings_.front().sent + settings_.times.answer_timeout;
    case Step::kReading:
    case Step::kAsking:
      if (!asked_at_) return std::nullopt;
      return *asked_at_ + settings_.times.answer_timeout;
    case Step::kPausing:
      return pause_until_;
    case Step::kIdle:
    case Step::kHeld:
    case Step::kStopped:
      break;
  }
  return std::nullopt;
}

/// Does what is due if no answer came.
void LogBook::elapse(Time now) {
  const std::optional<Time> due = next_time();
  if (!due || now < *due) return;
  if (step_ == Step::kPausing) {
    if (after_pause_ == Step::kSending) return send_again();
    return question(after_pause_);
  }
  nothing_heard(
      fmt::format("the broker has not answered for {} ms", settings_.times.answer_timeout.count()));
}

/// What was sent may have arrived or not.
void LogBook::nothing_heard(std::string why) {
  if (is_begin()) return finish(LogOutcome::What::kUnanswered, std::move(why));
  trouble_ = std::move(why);
  question(step_ == Step::kReading ? Step::kReading : Step::kAsking);
}

void LogBook::send_parts(Time now, std::vector<LogAction>& actions) {
  const size_t most = sends_singly_ ? 1 : settings_.most_in_flight;
  while (sendings_.size() < most && next_ + sendings_.size() < unit_->parts.size()) {
    sendings_.push_back(next_sending());
  }
  for (size_t i = 0; i < sendings_.size(); ++i) {
    Sending& sending = sendings_[i];
    if (sending.acknowledged || sending.sent) continue;
    sending.token = ++latest_token_;
    sending.sent = now;
    tokens_.emplace(sending.token, sending.message.chain);
    if (tokens_.size() > kMostTokens) tokens_.erase(tokens_.begin());
    LogSend send{sending.token, sending.message};
    send.message.payload = unit_->parts[next_ + i];
    actions.emplace_back(std::move(send));
    const bool is_last = next_ + i + 1 == unit_->parts.size();
    if (is_last && !last_part_sent_) last_part_sent_ = now;
  }
}

/// The part that follows those in flight.
LogBook::Sending LogBook::next_sending() {
  const size_t index = next_ + sendings_.size();
  Sending sending;
  LogMessage& message = sending.message;
  message.kind = unit_->kind;
  message.epoch = unit_->epoch;
  message.incarnation = unit_->incarnation;
  message.commit = unit_->commit;
  message.part = {index + 1, unit_->parts.size()};
  message.format = unit_->format;
  message.is_packed = unit_->is_packed;
  message.expected = place_.sequence + sendings_.size();
  message.previous = sendings_.empty() ? place_.chain : sendings_.back().message.chain;
  message.payload.swap(unit_->parts[index]);  // not copied
  message.chain = log_chain(key_, message);
  message.payload.swap(unit_->parts[index]);
  return sending;
}

LogBook::Sending* LogBook::sending_of(uint64_t token) {
  const auto at = std::find_if(sendings_.begin(), sendings_.end(), [&](const Sending& one) {
    return one.sent && one.token == token && !one.acknowledged;
  });
  return at == sendings_.end() ? nullptr : &*at;
}

void LogBook::acknowledged(uint64_t token, uint64_t sequence, Time /*now*/) {
  const auto sent = tokens_.find(token);
  if (sent == tokens_.end()) return;
  const auto at = std::find_if(sendings_.begin(), sendings_.end(), [&](const Sending& one) {
    return one.message.chain == sent->second;
  });
  if (at == sendings_.end()) return;
  const bool is_first = at == sendings_.begin();
  if (!is_first && token != at->token) return;  // see forget_acknowledgements()
  if (sequence != at->message.expected + 1) {
    return nothing_heard(fmt::format("the broker has stored a message at {}; expected {}", sequence,
                                     at->message.expected + 1));
  }
  at->acknowledged = true;
  settle();
}

/// Counts the parts that are acknowledged and follow one another. A part that is acknowledged
/// behind one that is not proves nothing: another message may stand between.
void LogBook::settle() {
  const size_t before = next_;
  while (!sendings_.empty() && sendings_.front().acknowledged) {
    LogMessage& message = sendings_.front().message;
    place_ = {message.expected + 1, message.chain};
    message.payload = std::move(unit_->parts[next_]);  // it is not sent again
    certain_.push_back({place_.sequence, std::move(message)});
    sendings_.pop_front();
    ++next_;
  }
  if (next_ == unit_->parts.size()) return finish(LogOutcome::What::kCertain);
  if (step_ == Step::kReading && next_ != before) return proceed();
  if (step_ == Step::kSending && !sendings_.empty() && sendings_.front().refused) {
    look_at_refusal(*sendings_.front().refused);
  }
}

void LogBook::wrong_sequence(uint64_t token, std::optional<uint64_t> named, Time /*now*/) {
  Sending* const sending = sending_of(token);
  if (sending == nullptr) return;
  // A broker that does not name its last sequence has some message behind: it is read.
  const uint64_t last = named.value_or(place_.sequence + 1);
  if (is_begin()) {
    return finish(
        LogOutcome::What::kRefused,
        last > place_.sequence
            ? fmt::format("the log has message {}; expected none behind {}", last, place_.sequence)
            : why_low(last, place_.sequence));
  }
  sending->refused = last;
  const bool waits = step_ == Step::kSending || step_ == Step::kAsking;
  if (waits && sending == &sendings_.front()) look_at_refusal(last);
}

/// The broker has refused the first part in flight.
void LogBook::look_at_refusal(uint64_t last) {
  known_last_ = std::max(known_last_, last);
  if (last > place_.sequence) return question(Step::kReading);
  hold(last);
}

void LogBook::send_failed(uint64_t token, const Error& error, Time now) {
  if (sending_of(token) == nullptr) return;
  if (is_begin()) return finish(LogOutcome::What::kUnanswered, error.message);
  trouble_ = fmt::format("{}: {}", error.code, error.message);
  if (step_ == Step::kSending || step_ == Step::kAsking) {
    pause(settings_.times.error_pause, Step::kSending, now);
  }
}

void LogBook::found(uint64_t sequence, NatsMessage message, Time /*now*/) {
  if (step_ != Step::kReading || sequence != place_.sequence + 1) return;
  const Result<LogMessage> read = read_log_message(key_, sequence, std::move(message));
  if (!read) return pass_over();
  if (!sendings_.empty() && read->chain == sendings_.front().message.chain) {
    forget_acknowledgements();
    sendings_.front().acknowledged = true;
    return settle();
  }
  const bool follows = read->previous == place_.chain;
  // A part is sent before the part before it is certain, so it may stand behind something else.
  if (!follows && read->part.number > 1) return pass_over();
  if (follows && read->incarnation != unit_->incarnation) {
    return finish(LogOutcome::What::kDeposed,
                  fmt::format("message {} of the log begins epoch {} of another node", sequence,
                              read->epoch));
  }
  finish(LogOutcome::What::kLost,
         fmt::format("message {} of the log is a {} of epoch {} behind the chain {}; expected one "
                     "behind the chain {}, which this node has appended",
                     sequence, name_of(read->kind), read->epoch, to_hex(read->previous),
                     to_hex(place_.chain)));
}

void LogBook::not_found(uint64_t sequence, Time now) {
  if (step_ != Step::kReading || sequence != place_.sequence + 1) return;
  // What the broker counted may vanish with its leader.
  known_last_ = 0;
  pause(settings_.times.look_again, Step::kSending, now);
}

void LogBook::stream_ends(uint64_t last, Time /*now*/) {
  if (step_ != Step::kAsking) return;
  known_last_ = last;
  if (last > place_.sequence) return question(Step::kReading);
  if (last == place_.sequence) return send_again();
  hold(last);
}

void LogBook::go_on(Time now) {
  CHECK(low_end_.has_value(), "the log does not end too early");
  low_end_.reset();
  pause(settings_.times.look_again, Step::kSending, now);
}

void LogBook::question_failed(const Error& error, Time now) {
  if (step_ != Step::kReading && step_ != Step::kAsking) return;
  trouble_ = fmt::format("{}: {}", error.code, error.message);
  pause(settings_.times.error_pause, Step::kAsking, now);
}

void LogBook::link_lost(Time now) {
  const bool is_sent = step_ == Step::kSending && !sendings_.empty() && sendings_.front().sent;
  const bool is_asked = (step_ == Step::kReading || step_ == Step::kAsking) && asked_at_;
  if (!is_sent && !is_asked) return;
  nothing_heard(
      "no NATS server takes messages of the log: the broker cannot be reached, the stream has no "
      "leader at this time, or it was deleted");
  if (step_ != Step::kStopped) pause(settings_.times.look_again, Step::kAsking, now);
}

std::optional<LogOutcome> LogBook::take_outcome() { return std::exchange(outcome_, std::nullopt); }

std::vector<LogKept> LogBook::take_certain() { return std::exchange(certain_, {}); }

/// The message behind place_ is not of the log, so what is in flight has to expect another one.
void LogBook::pass_over() {
  ++passed_over_;
  ++place_.sequence;
  certain_.push_back({place_.sequence, std::nullopt});
  sends_singly_ = true;
  sendings_.clear();
  tokens_.clear();
  proceed();
}

/// The message behind the former place_ is known: reads the next one, or sends what is missing.
void LogBook::proceed() {
  if (known_last_ > place_.sequence) return question(Step::kReading);
  send_again();
}

void LogBook::send_again() {
  step_ = Step::kSending;
  forget_acknowledgements();
  for (Sending& sending : sendings_) {
    sending.sent.reset();
    sending.refused.reset();
  }
}

/// The first part is known only now, or has to be sent again. The log may have lost since what was
/// acknowledged behind it, so that is read or sent, too.
void LogBook::forget_acknowledgements() {
  for (Sending& sending : sendings_) sending.acknowledged = false;
}

void LogBook::question(Step step) {
  step_ = step;
  asked_at_.reset();
}

void LogBook::hold(uint64_t last) {
  trouble_ = why_low(last, place_.sequence);
  low_end_ = last;
  step_ = Step::kHeld;
}

void LogBook::pause(Duration time, Step then, Time now) {
  step_ = Step::kPausing;
  after_pause_ = then;
  pause_until_ = now + time;
}

void LogBook::finish(LogOutcome::What what, std::string why) {
  outcome_ = LogOutcome{what, std::move(why), last_part_sent_.value_or(Time{})};
  step_ = what == LogOutcome::What::kCertain ? Step::kIdle : Step::kStopped;
  if (what == LogOutcome::What::kCertain) trouble_.clear();
  low_end_.reset();
  unit_.reset();
  sendings_.clear();
  tokens_.clear();
}

}  // namespace millrace
