#include "broker/jetstream_log.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/check.h"
#include "broker/log/log_restore.h"
#include "broker/log_channel.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// The tokens of restored messages begin here: those of a LogBook are smaller.
constexpr uint64_t kRestoreTokens = uint64_t{1} << 63;

/// How long a node restores before it asks the others again whether it may.
constexpr Duration kRestoreTime{5'000};

tl::unexpected<Error> log_closed(std::string why) { return fail("log.closed", std::move(why)); }

tl::unexpected<Error> log_late() {
  return log_closed("the log has not confirmed in time what this node had sent");
}

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
        channel_(connection, settings_.stream),
        history_(history),
        book_(settings_.book, settings_.key, history.place),
        leads_(history.epoch > 0 && history.incarnation == settings_.incarnation),
        sequence_(history.place.sequence) {}

  Status begin(LogBegin begin);
  Result<LogPosition> commit(std::string_view write_set);
  Status signal(LogKind kind, std::optional<Duration> at_most);
  void stop() { channel_.stop(); }

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
  static Time now() { return std::chrono::steady_clock::now(); }

  LogUnit unit_of(LogKind kind) const;
  Status check_open() const;
  Status drive(LogUnit unit, std::optional<Time> deadline = std::nullopt);
  Result<LogOutcome> wait_for_outcome(std::optional<Time> deadline);
  std::optional<LogOutcome> ask_others();
  Result<std::optional<LogOutcome>> mend(std::optional<Time> deadline);
  std::optional<Time> restore_until();
  Result<LogRestored> restore(Time until, std::optional<Time> deadline);
  void note_trouble();
  void keep_certain();

  Connection& connection_;
  const JetStreamLogSettings settings_;

  std::mutex turn_;     ///< held by the thread that appends; guards what follows
  LogChannel channel_;  ///< stop() is for any thread
  LogHistory history_;
  LogBook book_;
  LogPacker packer_;
  bool leads_;                 ///< the epoch of history_ is one of this incarnation
  std::optional<Error> over_;  ///< nothing is appended any more
  uint64_t restore_token_ = kRestoreTokens;
  std::optional<Time> asked_others_;   ///< when ask_others() has asked
  std::optional<Time> asked_restore_;  ///< when may_restore was called
  std::string not_restored_;           ///< why the log was not restored, as it was logged last

  mutable std::mutex mutex_;  ///< guards what follows; taken behind turn_
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
  if (channel_.is_stopped()) return log_closed("the log is closed: this node stops");
  return {};
}

Status JetStreamLog::Impl::begin(LogBegin begin) {
  const std::lock_guard turn(turn_);
  CHECK(!leads_, "the epoch has a begin of this incarnation already");
  TRY(check_open());
  begin.node = settings_.node;
  begin.behind_epoch = history_.epoch;
  begin.behind_incarnation = history_.incarnation;
  const bool begin_has_base = begin.base.has_value();
  std::string body = encode_log_begin(begin);
  if (body.size() > kMostLogBeginBytes) {
    return fail("log.too_large", fmt::format("a begin has {} bytes; expected at most {}",
                                             body.size(), kMostLogBeginBytes));
  }
  LogUnit unit = unit_of(LogKind::kBegin);
  const uint64_t epoch = epoch_behind(history_.epoch, begin_has_base, settings_.first_epoch);
  unit.epoch = epoch;
  unit.commit = 0;
  unit.parts = {std::move(body)};
  TRY(drive(std::move(unit)));
  history_.epoch = epoch;
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

/// Appends the unit. After an error nothing is appended any more.
Status JetStreamLog::Impl::drive(LogUnit unit, std::optional<Time> deadline) {
  const LogKind kind = unit.kind;
  channel_.drop_answers();  // those of the append before
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
  const uint64_t before = book_.place().sequence;
  while (true) {
    if (std::optional<LogOutcome> deposed = ask_others()) return *std::move(deposed);
    channel_.perform(book_);
    note_trouble();
    if (std::optional<LogOutcome> outcome = book_.take_outcome()) return *std::move(outcome);
    if (book_.low_end()) {
      if (std::optional<LogOutcome> lost = TRY(mend(deadline))) return *std::move(lost);
    }
    TRY(channel_.wait(book_, deadline));
    if (std::optional<LogOutcome> outcome = book_.take_outcome()) return *std::move(outcome);
    if (book_.place().sequence > before) crash_point(CrashPoint::kLogPartAppended);
    if (deadline && now() >= *deadline) return log_late();
  }
}

/// Whether this node is deposed, as the other nodes say. They are asked if the log has confirmed
/// nothing for some time, and once in each such time.
std::optional<LogOutcome> JetStreamLog::Impl::ask_others() {
  if (!leads_ || !settings_.deposed_by) return std::nullopt;
  const Time latest = std::max(confirmed().value_or(Time()), asked_others_.value_or(Time()));
  if (now() - latest < settings_.takeover_after) return std::nullopt;
  Result<std::optional<std::string>> why = settings_.deposed_by();
  if (!why) return std::nullopt;  // they are asked again
  asked_others_ = now();
  if (!*why) return std::nullopt;
  return LogOutcome{LogOutcome::What::kDeposed, **std::move(why)};
}

/// The log seems to end before what this node has appended: appends the rest again, if this node
/// may. Returns the outcome of the append, if it has ended with that.
Result<std::optional<LogOutcome>> JetStreamLog::Impl::mend(std::optional<Time> deadline) {
  keep_certain();
  const bool is_short = *book_.low_end() < book_.place().sequence;
  const std::optional<Time> until = is_short ? restore_until() : std::nullopt;
  if (until) {
    const LogRestored restored = TRY(restore(*until, deadline));
    if (restored.what == LogRestored::What::kForked) {
      return std::optional(LogOutcome{LogOutcome::What::kLost, restored.why});
    }
  }
  book_.go_on(now());
  return std::optional<LogOutcome>();
}

/// Until when this node may restore a log that ends before what it has appended; nullopt: it may
/// not now.
std::optional<JetStreamLog::Time> JetStreamLog::Impl::restore_until() {
  if (!settings_.kept) return std::nullopt;
  const std::optional<Time> sent = confirmed();
  if (sent && now() < *sent + settings_.takeover_after) return *sent + settings_.takeover_after;
  const bool is_asked = asked_restore_ && now() < *asked_restore_ + settings_.takeover_after;
  if (!settings_.may_restore || is_asked) return std::nullopt;
  asked_restore_ = now();
  if (!settings_.may_restore(*book_.low_end())) return std::nullopt;
  return now() + kRestoreTime;
}

Result<LogRestored> JetStreamLog::Impl::restore(Time until, std::optional<Time> deadline) {
  LogRestore restore(settings_.book.times, settings_.key, settings_.stream.subjects,
                     settings_.kept->tail(), until, restore_token_);
  while (true) {
    channel_.perform(restore);
    restore_token_ = restore.latest_token();
    if (restore.outcome()) break;
    TRY(channel_.wait(restore, deadline));
    if (restore.outcome()) break;
    if (deadline && now() >= *deadline) return log_late();
  }
  const LogRestored& done = *restore.outcome();
  if (done.count > 0) {
    settings_.kept->note_restored(done.count);
    spdlog::warn(
        "the log of the cluster had lost its newest messages: this node has appended {} "
        "of them again",
        done.count);
  }
  const bool is_logged = std::exchange(not_restored_, done.why) == done.why;
  if (!is_logged && !done.why.empty()) {
    spdlog::warn("the log of the cluster is not restored: {}", done.why);
  }
  return done;
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

/// Keeps what the log has taken, for the case that it loses it.
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
