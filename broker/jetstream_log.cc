#include "broker/jetstream_log.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/check.h"
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

tl::unexpected<Error> log_closed(std::string why) { return fail("log.closed", std::move(why)); }

/// The error of a commit, beat or end that is not in the log.
Error error_of(const LogOutcome& outcome) {
  switch (outcome.what) {
    case LogOutcome::What::kDeposed:
      return {"log.deposed", outcome.why};
    case LogOutcome::What::kLost:
      return {"log.lost", outcome.why};
    case LogOutcome::What::kCertain:
    case LogOutcome::What::kRefused:
    case LogOutcome::What::kUnanswered:
      break;
  }
  return {"log.begin",
          outcome.why + "; the reader of the log shows whether the log has the `begin`"};
}

}  // namespace

class JetStreamLog::Impl {
 public:
  Impl(Connection& connection, JetStreamLogSettings settings, const LogHistory& history)
      : connection_(connection),
        settings_(std::move(settings)),
        get_subject_(connection.api_subject("STREAM.MSG.GET." + settings_.stream.name)),
        info_subject_(connection.api_subject("STREAM.INFO." + settings_.stream.name)),
        inbox_(connection.make_inbox() + "."),
        history_(history),
        book_(settings_.book, settings_.key, history.place),
        leads_(history.epoch > 0 && history.incarnation == settings_.incarnation),
        sequence_(history.place.sequence) {
    watch_ = connection_.watch([this](LinkChange change) {
      if (change != LinkChange::kDisconnected) return;
      const std::lock_guard lock(mutex_);
      is_link_lost_ = true;
      changed_.notify_all();
    });
  }

  ~Impl() {
    connection_.unwatch(watch_);
    listening_.reset();
  }

  Status begin(LogBegin begin);
  Result<LogPosition> commit(std::string_view write_set);
  Status signal(LogKind kind, std::optional<Duration> at_most);
  void stop();

  std::optional<Time> confirmed() const {
    const std::lock_guard lock(mutex_);
    return confirmed_;
  }
  uint64_t sequence() const {
    const std::lock_guard lock(mutex_);
    return sequence_;
  }
  std::string trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

 private:
  /// An answer of the broker.
  struct Answer {
    std::string to;  ///< the last token of its subject
    bool is_no_responder = false;
    std::string data;
  };
  struct Waited {
    bool is_stopped = false;
    bool is_link_lost = false;
    std::vector<Answer> answers;
  };

  static Time now() { return std::chrono::steady_clock::now(); }

  LogUnit unit_of(LogKind kind) const;
  Status check_open() const;
  Status drive(LogUnit unit, std::optional<Time> deadline = std::nullopt);
  Result<LogOutcome> wait_for_outcome(std::optional<Time> deadline);
  Waited wait_until(std::optional<Time> time);
  void perform(std::vector<LogAction> actions);
  Status send(LogSend& send);
  Status ask(const std::string& subject, const std::string& body, std::optional<uint64_t> read);
  Status listen();
  void on_answer(natsMsg* message);
  void hear(const Answer& answer);
  void hear_ack(uint64_t token, const Answer& answer);
  void hear_question(const Answer& answer);
  void note_trouble();
  void keep_certain();

  Connection& connection_;
  const JetStreamLogSettings settings_;
  const std::string get_subject_;
  const std::string info_subject_;
  const std::string inbox_;  ///< ends in a dot; reply subjects add a token
  uint64_t watch_ = 0;

  std::mutex turn_;  ///< held by the thread that appends; guards what follows
  LogHistory history_;
  LogBook book_;
  LogPacker packer_;
  bool leads_;                 ///< the epoch of history_ is one of this incarnation
  std::optional<Error> over_;  ///< nothing is appended any more
  std::unique_ptr<Listening> listening_;
  uint64_t question_ = 0;               ///< the number of the latest question
  std::optional<uint64_t> asked_read_;  ///< its sequence; nullopt: it asks where the stream ends

  mutable std::mutex mutex_;  ///< guards what follows; taken behind turn_
  std::condition_variable changed_;
  bool is_stopping_ = false;
  bool is_link_lost_ = false;
  std::vector<Answer> answers_;
  std::optional<Time> confirmed_;
  uint64_t sequence_ = 0;
  std::string trouble_;
};

LogUnit JetStreamLog::Impl::unit_of(LogKind kind) const {
  return {.kind = kind,
          .epoch = history_.epoch,
          .incarnation = settings_.incarnation,
          .commit = history_.commit,
          .format = settings_.format};
}

Status JetStreamLog::Impl::check_open() const {
  if (over_) return tl::unexpected<Error>(*over_);
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return log_closed("the log is closed: this node stops");
  return {};
}

Status JetStreamLog::Impl::begin(LogBegin begin) {
  const std::lock_guard turn(turn_);
  CHECK(!leads_, "the epoch has a begin of this incarnation already");
  TRY(check_open());
  begin.node = settings_.node;
  begin.behind_epoch = history_.epoch;
  begin.behind_incarnation = history_.incarnation;
  std::string body = encode_log_begin(begin);
  if (body.size() > kMostLogBeginBytes) {
    return fail("log.too_large", fmt::format("a begin has {} bytes; expected at most {}",
                                             body.size(), kMostLogBeginBytes));
  }
  LogUnit unit = unit_of(LogKind::kBegin);
  unit.epoch = history_.epoch + 1;
  unit.commit = 0;
  unit.parts = {std::move(body)};
  TRY(drive(std::move(unit)));
  history_.epoch += 1;
  history_.incarnation = settings_.incarnation;
  history_.node = settings_.node;
  history_.commit = 0;
  leads_ = true;
  return {};
}

Result<LogPosition> JetStreamLog::Impl::commit(std::string_view write_set) {
  const std::lock_guard turn(turn_);
  CHECK(leads_, "a commit needs a begin");
  TRY(check_open());
  LogUnit unit = unit_of(LogKind::kCommit);
  unit.commit = history_.commit + 1;
  unit = TRY(packer_.pack(std::move(unit), write_set, log_part_bytes(connection_.max_payload())));
  TRY(drive(std::move(unit)));
  ++history_.commit;
  return LogPosition{.sequence = book_.place().sequence,
                     .name = {.epoch = history_.epoch,
                              .commit = history_.commit,
                              .incarnation = settings_.incarnation},
                     .node = settings_.node,
                     .chain = book_.place().chain};
}

/// Appends a beat or an end.
Status JetStreamLog::Impl::signal(LogKind kind, std::optional<Duration> at_most) {
  const std::optional<Time> deadline = at_most ? std::optional(now() + *at_most) : std::nullopt;
  const std::lock_guard turn(turn_);
  CHECK(leads_, "a beat or an end needs a begin");
  TRY(check_open());
  TRY(drive(unit_of(kind), deadline));
  if (kind == LogKind::kEnd) over_ = Error{"log.closed", "this node has ended its epoch"};
  return {};
}

void JetStreamLog::Impl::stop() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  changed_.notify_all();
}

/// Appends the unit. After an error nothing is appended any more.
Status JetStreamLog::Impl::drive(LogUnit unit, std::optional<Time> deadline) {
  const LogKind kind = unit.kind;
  {
    // What came since the last append is of no interest any more.
    const std::lock_guard lock(mutex_);
    is_link_lost_ = false;
    answers_.clear();
  }
  book_.append(std::move(unit));
  Result<LogOutcome> outcome = wait_for_outcome(deadline);
  keep_certain();
  const bool is_certain = outcome && outcome->what == LogOutcome::What::kCertain;
  std::string trouble;
  {
    const std::lock_guard lock(mutex_);
    trouble = std::exchange(trouble_, std::string());
    if (is_certain) {
      confirmed_ = outcome->sent;
      sequence_ = book_.place().sequence;
    }
  }
  if (!trouble.empty() && is_certain) {
    spdlog::info("the log of the cluster has taken a {} after the trouble", name_of(kind));
  }
  if (is_certain) return {};
  over_ = outcome ? error_of(*outcome) : std::move(outcome).error();
  return tl::unexpected<Error>(*over_);
}

/// Error `log.closed`: stop() was called, or the deadline has passed.
Result<LogOutcome> JetStreamLog::Impl::wait_for_outcome(std::optional<Time> deadline) {
  while (true) {
    perform(book_.take_actions(now()));
    note_trouble();
    if (std::optional<LogOutcome> outcome = book_.take_outcome()) return *std::move(outcome);
    std::optional<Time> until = book_.next_time();
    if (deadline && (!until || *deadline < *until)) until = deadline;
    const Waited waited = wait_until(until);
    if (waited.is_stopped) {
      return log_closed("this node stopped before the log confirmed what it had sent");
    }
    for (const Answer& answer : waited.answers) hear(answer);
    if (waited.is_link_lost) book_.link_lost(now());
    if (std::optional<LogOutcome> outcome = book_.take_outcome()) return *std::move(outcome);
    if (deadline && now() >= *deadline) {
      return log_closed("the log has not confirmed in time what this node had sent");
    }
  }
}

/// Waits for an answer, a lost connection, stop() or the time.
JetStreamLog::Impl::Waited JetStreamLog::Impl::wait_until(std::optional<Time> time) {
  std::unique_lock lock(mutex_);
  const auto has_something = [this] { return is_stopping_ || is_link_lost_ || !answers_.empty(); };
  if (time) {
    changed_.wait_until(lock, *time, has_something);
  } else {
    changed_.wait(lock, has_something);
  }
  return {.is_stopped = is_stopping_,
          .is_link_lost = std::exchange(is_link_lost_, false),
          .answers = std::exchange(answers_, {})};
}

void JetStreamLog::Impl::perform(std::vector<LogAction> actions) {
  for (LogAction& action : actions) {
    Status sent;
    uint64_t token = 0;
    if (auto* const message = std::get_if<LogSend>(&action)) {
      token = message->token;
      sent = send(*message);
    } else if (const auto* const read = std::get_if<LogRead>(&action)) {
      sent = ask(get_subject_, get_request(read->sequence), read->sequence);
    } else {
      sent = ask(info_subject_, "", std::nullopt);
    }
    if (sent) continue;
    if (sent.error().code == "broker.unreachable") {
      // The actions that follow would fail as well.
      book_.link_lost(now());
      return;
    }
    if (token > 0) {
      book_.send_failed(token, sent.error(), now());
    } else {
      book_.question_failed(sent.error(), now());
    }
  }
}

Status JetStreamLog::Impl::send(LogSend& send) {
  TRY(listen());
  const NatsMessage message =
      encode_log_message(std::move(send.message), settings_.stream.subjects);
  const std::string reply = fmt::format("{}{}{}", inbox_, kAckLetter, send.token);
  NatsMsgHandle made;
  natsStatus status = make_message(message, message.subject, reply.c_str(), made);
  if (status == NATS_OK) {
    status = natsConnection_PublishMsg(listening_->handle().get(), made.get());
  }
  if (status == NATS_OK) return {};
  return tl::unexpected(nats_error(status, "publishing to " + message.subject));
}

Status JetStreamLog::Impl::ask(const std::string& subject, const std::string& body,
                               std::optional<uint64_t> read) {
  TRY(listen());
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
Status JetStreamLog::Impl::listen() {
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
void JetStreamLog::Impl::on_answer(natsMsg* message) {
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

void JetStreamLog::Impl::hear(const Answer& answer) {
  const std::optional<uint64_t> number = whole_number(std::string_view(answer.to).substr(1));
  if (!number) return;
  // An answer to a question that was asked again may come from a leader of before.
  const bool is_question = answer.to.front() == kQuestionLetter;
  if (is_question && *number != question_) return;
  if (answer.is_no_responder) return book_.link_lost(now());
  if (is_question) return hear_question(answer);
  hear_ack(*number, answer);
}

void JetStreamLog::Impl::hear_ack(uint64_t token, const Answer& answer) {
  const LogAck ack = read_log_ack(settings_.stream.name, answer.data);
  if (const auto* const stored = std::get_if<LogStored>(&ack)) {
    book_.acknowledged(token, stored->sequence, now());
  } else if (const auto* const refused = std::get_if<LogOutOfOrder>(&ack)) {
    // A broker that does not name its last sequence has some message behind: the book reads it.
    book_.wrong_sequence(token, refused->last.value_or(book_.place().sequence + 1), now());
  } else {
    book_.send_failed(token, std::get<Error>(ack), now());
  }
}

void JetStreamLog::Impl::hear_question(const Answer& answer) {
  if (!asked_read_) {
    const Result<uint64_t> last = read_log_end(info_subject_, answer.data);
    if (!last) return book_.question_failed(last.error(), now());
    return book_.stream_ends(*last, now());
  }
  Result<std::optional<NatsMessage>> entry =
      read_log_entry(get_subject_, *asked_read_, answer.data);
  if (!entry) return book_.question_failed(entry.error(), now());
  if (!*entry) return book_.not_found(*asked_read_, now());
  book_.found(*asked_read_, **std::move(entry), now());
}

/// Logs the first trouble of an append only: the reasons may alternate many times in a second.
void JetStreamLog::Impl::note_trouble() {
  const std::lock_guard lock(mutex_);
  if (book_.trouble().empty() || trouble_ == book_.trouble()) return;
  if (trouble_.empty()) {
    spdlog::warn("the log of the cluster does not confirm what this node appends: {}",
                 book_.trouble());
  }
  trouble_ = book_.trouble();
}

void JetStreamLog::Impl::keep_certain() {
  for (LogKept& one : book_.take_certain()) {
    if (settings_.kept) settings_.kept->add(one.sequence, std::move(one.message));
  }
}

JetStreamLog::JetStreamLog(Connection& connection, JetStreamLogSettings settings,
                           const LogHistory& history)
    : impl_(std::make_unique<Impl>(connection, std::move(settings), history)) {}

JetStreamLog::~JetStreamLog() = default;

Status JetStreamLog::begin(LogBegin begin) { return impl_->begin(std::move(begin)); }

Result<LogPosition> JetStreamLog::append(std::string_view write_set) {
  return impl_->commit(write_set);
}

Status JetStreamLog::beat() { return impl_->signal(LogKind::kBeat, std::nullopt); }

Status JetStreamLog::end(Duration at_most) { return impl_->signal(LogKind::kEnd, at_most); }

void JetStreamLog::stop() { impl_->stop(); }

std::optional<JetStreamLog::Time> JetStreamLog::confirmed() const { return impl_->confirmed(); }

uint64_t JetStreamLog::sequence() const { return impl_->sequence(); }

std::string JetStreamLog::trouble() const { return impl_->trouble(); }

}  // namespace millrace
