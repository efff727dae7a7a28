#include "broker/log_channel.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "broker/listening.h"
#include "broker/log_answers.h"
#include "broker/nats_status.h"
#include "broker/stored_message.h"

namespace millrace {
namespace {

/// How many answers may wait for the thread that appends. There are far fewer: it sends few
/// messages at a time, and waits for the answers.
constexpr size_t kMostAnswers = 4'096;

// The first letters of the last token of a reply subject; a number follows.
constexpr char kAckLetter = 'p';
constexpr char kQuestionLetter = 'q';

std::chrono::steady_clock::time_point steady_now() { return std::chrono::steady_clock::now(); }

}  // namespace

LogChannel::LogChannel(Connection& connection, const StreamSettings& stream)
    : connection_(connection),
      stream_(stream.name),
      subject_(stream.subjects),
      get_subject_(connection.api_subject("STREAM.MSG.GET." + stream.name)),
      info_subject_(connection.api_subject("STREAM.INFO." + stream.name)),
      inbox_(connection.make_inbox() + ".") {
  watch_ = connection_.watch([this](LinkChange change) {
    if (change != LinkChange::kDisconnected) return;
    const std::lock_guard lock(mutex_);
    is_link_lost_ = true;
    changed_.notify_all();
  });
}

LogChannel::~LogChannel() {
  connection_.unwatch(watch_);
  listening_.reset();
}

void LogChannel::drop_answers() {
  const std::lock_guard lock(mutex_);
  is_link_lost_ = false;
  answers_.clear();
}

void LogChannel::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

bool LogChannel::is_stopped() const {
  const std::lock_guard lock(mutex_);
  return is_stopped_;
}

void LogChannel::perform(LogExchange& exchange) {
  for (LogAction& action : exchange.take_actions(steady_now())) {
    const auto* const sent = std::get_if<LogSend>(&action);
    const auto* const sent_again = std::get_if<LogResend>(&action);
    const uint64_t token = sent != nullptr         ? sent->token
                           : sent_again != nullptr ? sent_again->token
                                                   : 0;
    const Status done = do_action(std::move(action));
    if (done) continue;
    if (done.error().code == "broker.unreachable") {
      // The actions that follow would fail as well.
      exchange.link_lost(steady_now());
      return;
    }
    if (token > 0) {
      exchange.send_failed(token, done.error(), steady_now());
    } else {
      exchange.question_failed(done.error(), steady_now());
    }
  }
}

Status LogChannel::do_action(LogAction action) {
  TRY(listen());
  if (auto* const sent = std::get_if<LogSend>(&action)) {
    return send(encode_log_message(std::move(sent->message), subject_), sent->token);
  }
  if (const auto* const again = std::get_if<LogResend>(&action)) {
    return send(again->message, again->token);
  }
  if (const auto* const read = std::get_if<LogRead>(&action)) {
    return ask(get_subject_, get_request(read->sequence), read->sequence);
  }
  return ask(info_subject_, "", std::nullopt);
}

Status LogChannel::wait(LogExchange& exchange, std::optional<Time> deadline) {
  std::optional<Time> until = exchange.next_time();
  if (deadline && (!until || *deadline < *until)) until = deadline;
  std::vector<Answer> answers;
  bool is_link_lost = false;
  {
    std::unique_lock lock(mutex_);
    const auto has_something = [this] { return is_stopped_ || is_link_lost_ || !answers_.empty(); };
    if (until) {
      changed_.wait_until(lock, *until, has_something);
    } else {
      changed_.wait(lock, has_something);
    }
    if (is_stopped_) {
      return fail("log.closed", "this node stopped before the log confirmed what it had sent");
    }
    is_link_lost = std::exchange(is_link_lost_, false);
    answers.swap(answers_);
  }
  for (const Answer& answer : answers) hear(exchange, answer);
  if (is_link_lost) exchange.link_lost(steady_now());
  return {};
}

Status LogChannel::send(const NatsMessage& message, uint64_t token) {
  const std::string reply = fmt::format("{}{}{}", inbox_, kAckLetter, token);
  NatsMsgHandle made;
  natsStatus status = make_message(message, message.subject, reply.c_str(), made);
  if (status == NATS_OK) {
    status = natsConnection_PublishMsg(listening_->handle().get(), made.get());
  }
  if (status == NATS_OK) return {};
  return tl::unexpected(nats_error(status, "publishing to " + message.subject));
}

Status LogChannel::ask(const std::string& subject, const std::string& body,
                       std::optional<uint64_t> read) {
  asked_read_ = read;
  const std::string reply = fmt::format("{}{}{}", inbox_, kQuestionLetter, ++question_);
  const natsStatus status =
      natsConnection_PublishRequest(listening_->handle().get(), subject.c_str(), reply.c_str(),
                                    body.data(), static_cast<int>(body.size()));
  if (status == NATS_OK) return {};
  return tl::unexpected(nats_error(status, "request to " + subject));
}

/// Subscribes to the inbox. nats.c subscribes again at each reconnect; only a new connection needs
/// another subscription.
Status LogChannel::listen() {
  if (!connection_.connected()) {
    return fail("broker.unreachable", "there is no connection to the broker");
  }
  if (listening_ && listening_->status() == NATS_OK &&
      listening_->handle() == connection_.handle()) {
    return {};
  }
  listening_.reset();
  listening_ = std::make_unique<Listening>(
      connection_, inbox_ + "*", [this](NatsMsgHandle& message) { on_answer(message.get()); });
  if (listening_->status() == NATS_OK) return {};
  return tl::unexpected(nats_error(listening_->status(), "subscribing to an inbox"));
}

/// On a thread of nats.c.
void LogChannel::on_answer(natsMsg* message) {
  const std::string_view subject = natsMsg_GetSubject(message);
  if (subject.size() <= inbox_.size()) return;
  Answer answer{.to = std::string(subject.substr(inbox_.size())),
                .is_no_responder = natsMsg_IsNoResponders(message)};
  if (const int size = natsMsg_GetDataLength(message); size > 0) {
    answer.data.assign(natsMsg_GetData(message), static_cast<size_t>(size));
  }
  const std::lock_guard lock(mutex_);
  if (answers_.size() >= kMostAnswers) return;  // as if the answer were lost
  answers_.push_back(std::move(answer));
  changed_.notify_all();
}

void LogChannel::hear(LogExchange& exchange, const Answer& answer) {
  const std::optional<uint64_t> number = whole_number(std::string_view(answer.to).substr(1));
  if (!number) return;
  // An answer to a question that was asked again may come from a leader of before.
  const bool is_question = answer.to.front() == kQuestionLetter;
  if (is_question && *number != question_) return;
  if (answer.is_no_responder) return exchange.link_lost(steady_now());
  if (is_question) return hear_question(exchange, answer);
  hear_ack(exchange, *number, answer);
}

void LogChannel::hear_ack(LogExchange& exchange, uint64_t token, const Answer& answer) const {
  const LogAck ack = read_log_ack(stream_, answer.data);
  if (const auto* const stored = std::get_if<LogStored>(&ack)) {
    exchange.acknowledged(token, stored->sequence, steady_now());
  } else if (const auto* const refused = std::get_if<LogOutOfOrder>(&ack)) {
    exchange.wrong_sequence(token, refused->last, steady_now());
  } else {
    exchange.send_failed(token, std::get<Error>(ack), steady_now());
  }
}

void LogChannel::hear_question(LogExchange& exchange, const Answer& answer) const {
  if (!asked_read_) {
    const Result<uint64_t> last = read_log_end(info_subject_, answer.data);
    if (!last) return exchange.question_failed(last.error(), steady_now());
    return exchange.stream_ends(*last, steady_now());
  }
  Result<std::optional<NatsMessage>> entry =
      read_log_entry(get_subject_, *asked_read_, answer.data);
  if (!entry) return exchange.question_failed(entry.error(), steady_now());
  if (!*entry) return exchange.not_found(*asked_read_, steady_now());
  exchange.found(*asked_read_, **std::move(entry), steady_now());
}

}  // namespace millrace
