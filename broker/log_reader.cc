#include "broker/log_reader.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/bytes.h"
#include "base/has_code.h"
#include "broker/json_fields.h"
#include "broker/log_stream.h"
#include "broker/nats_status.h"
#include "broker/pull_consumer.h"
#include "broker/stored_message.h"
#include "os/thread.h"

namespace millrace {
namespace {

constexpr Duration kFirstLogRetry{100};
constexpr Duration kLastLogRetry{2'000};
constexpr size_t kLogChunkBytes = size_t{8} << 20;

/// If this many consumers in a row have ended for no known reason and without a message, the reader
/// fetches the next message without a consumer.
constexpr int kMostLogBreaks = 5;

/// If the leader of the stream has said this often in a row that it has more messages, while the
/// consumer had none, another consumer is created: a replica may hang after a restart.
constexpr int kMostLogLags = 6;

/// How long the leader of the stream may take to say where the log ends.
constexpr Duration kLogEndTimeout{1'000};

/// Whether this node must not follow the log any further.
bool ends_reading(const Error& error) {
  return has_code(error, {"log.diverged", "log.trimmed", "log.unreadable", "store.version"});
}

}  // namespace

LogHistory history_at(const LogPosition& position) {
  return {.place = {.sequence = position.sequence, .chain = position.chain},
          .epoch = position.name.epoch,
          .incarnation = position.name.incarnation,
          .node = position.node,
          .commit = position.name.commit};
}

class LogReader::Impl {
 public:
  Impl(Connection& connection, LogReaderSettings settings, const LogPosition& position,
       LogSink& sink)
      : connection_(connection),
        settings_(std::move(settings)),
        sink_(sink),
        judge_(settings_.key, settings_.newest_format, history_at(position)),
        last_commit_(position.name) {
    watch_ = connection_.watch([this](LinkChange change) {
      if (change == LinkChange::kDisconnected) interrupt();
      if (change == LinkChange::kConnected) wake();
    });
    thread_ = std::thread(&Impl::run, this);
  }

  ~Impl() {
    connection_.unwatch(watch_);
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    interrupt();
    thread_.join();
  }

  void interrupt();

  Status health() const {
    const std::lock_guard lock(mutex_);
    return health_;
  }
  uint64_t foreign() const {
    const std::lock_guard lock(mutex_);
    return foreign_;
  }

 private:
  using Got = PullConsumer::Got;

  const LogPlace& place() const { return judge_.history().place; }

  void run();
  Status open();
  Error ends_early(uint64_t last) const;
  Status check_ends(const StreamInfo& stream) const;
  Status check_not_newer(uint64_t last) const;
  Status check_latest();
  Status read();
  Result<Got> read_next(bool wait);
  Result<Got> fetch_destroyed();
  Status fetch_next();
  bool close();
  Status see(const DeliveryNumbers& numbers, NatsMessage message);
  void add(uint64_t sequence, TimePoint stamped, LogSeen seen);
  Status note_end();
  bool hand_over();
  void set_health(Status health);
  void wake();
  bool is_stopping() const;
  void wait_to_retry(Duration at_most);

  Connection& connection_;
  const LogReaderSettings settings_;
  LogSink& sink_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopping_ = false;
  bool is_interrupted_ = false;             ///< the open consumer must not be used any more
  bool is_awake_ = false;                   ///< the next attempt need not wait
  std::unique_ptr<PullConsumer> consumer_;  ///< changed by the reader thread only, under the lock
  uint64_t foreign_ = 0;
  Status health_ =
      tl::unexpected<Error>({"broker.unreachable", "there is no connection to NATS yet"});

  // Only for the reader thread.
  LogJudge judge_;
  CommitName last_commit_;
  bool has_ended_ = false;  ///< the latest message of the log is an `end`
  bool is_closed_ = false;  ///< the sink takes nothing any more
  LogNews news_;
  bool has_news_ = false;
  size_t news_messages_ = 0;  ///< that were read for news_, foreign ones too
  size_t news_bytes_ = 0;
  std::optional<std::string> checked_leader_;  ///< of the stream, at the latest check_latest()
  std::string logged_;  ///< the newest logged reason why the log is not read; empty: it is read
  int lags_ = 0;        ///< how often in a row the consumer had less than the stream
  int breaks_ = 0;      ///< consumers in a row that ended for no known reason and without a message

  uint64_t watch_ = 0;
  std::thread thread_;
};

void LogReader::Impl::run() {
  name_thread("log-reader");
  run_promptly();
  Duration retry = kFirstLogRetry;
  while (!is_stopping()) {
    Status done = open();
    if (done) {
      done = read();
      if (close()) retry = kFirstLogRetry;
    }
    if (is_closed_) return;
    if (done && breaks_ >= kMostLogBreaks) {
      breaks_ = 0;
      done = fetch_next();
    }
    if (!done) set_health(done);
    if (!done && ends_reading(done.error())) {
      // What was read before the error counts.
      if (hand_over()) sink_.fail(done.error());
      return;
    }
    wait_to_retry(retry);
    retry = std::min(retry * 2, kLastLogRetry);
  }
}

/// Creates a consumer.
Status LogReader::Impl::open() {
  {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = false;
    is_awake_ = false;
  }
  StreamInfo stream = TRY(find_log_behind(connection_, settings_.stream, place().sequence));
  TRY(check_ends(stream));
  TRY(check_latest());
  checked_leader_.reset();
  // Without a filter: messages of other subjects, which an operator may have added, are foreign,
  // but have sequences of the log.
  stream.subjects = {settings_.stream.subjects};
  std::unique_ptr<PullConsumer> consumer =
      TRY(PullConsumer::open_range(connection_, settings_.stream, stream,
                                   {.sequence = place().sequence + 1}, false, settings_.pull));
  {
    const std::lock_guard lock(mutex_);
    if (is_interrupted_) {
      return fail("broker.unreachable", "the connection to NATS was lost while the log was opened");
    }
    consumer_ = std::move(consumer);
    health_ = {};
  }
  if (!std::exchange(logged_, std::string()).empty()) {
    spdlog::info("the log of the cluster is read again");
  }
  news_.is_opened = true;
  has_news_ = true;
  return {};
}

/// The error of a stream that ends before the latest message that was read.
Error LogReader::Impl::ends_early(uint64_t last) const {
  return {"log.lost",
          fmt::format("stream {} ends at {}, and this node has read it up to {}: its leader is cut "
                      "off, or the log has lost its newest messages",
                      settings_.stream.name, last, place().sequence)};
}

/// Whether the stream has what follows the latest message that was read.
Status LogReader::Impl::check_ends(const StreamInfo& stream) const {
  if (stream.last_sequence < place().sequence) {
    TRY(check_not_newer(stream.last_sequence));
    return tl::unexpected(ends_early(stream.last_sequence));
  }
  if (stream.first_sequence > place().sequence + 1) {
    return fail(
        "log.trimmed",
        fmt::format("stream {} begins at {}; this node needs it from {} on: load a snapshot "
                    "or the folder of another node",
                    settings_.stream.name, stream.first_sequence, place().sequence + 1));
  }
  return {};
}

/// Whether a log that ends at `last`, before what this node has read, could be one that has lost
/// its newest messages: not if its newest message is of a later epoch than all that this node has
/// read. Then the cluster was founded again, or has continued without what this node has.
Status LogReader::Impl::check_not_newer(uint64_t last) const {
  Result<StoredMessage> stored = fetch_stored(connection_, settings_.stream.name, {{"seq", last}});
  if (!stored) return {};  // the caller says that the log ends early
  const Result<LogMessage> newest =
      read_log_message(settings_.key, last, std::move(stored->message));
  const uint64_t epoch = judge_.history().epoch;
  if (!newest || newest->epoch <= epoch) return {};
  return fail(
      "log.diverged",
      fmt::format("stream {} ends at {}, in epoch {}, and this node has read another log up "
                  "to {}, in epoch {}: the folder is of a cluster that was founded before, "
                  "or that has continued without this node; keep a copy of the folder, and "
                  "start the node with an empty one",
                  settings_.stream.name, last, newest->epoch, place().sequence, epoch));
}

/// Whether the stream has the latest message that was read. If that cannot be seen, the next
/// message shows it.
Status LogReader::Impl::check_latest() {
  if (place().sequence == 0) return {};
  Result<StoredMessage> stored =
      fetch_stored(connection_, settings_.stream.name, {{"seq", place().sequence}});
  if (!stored && stored.error().code == "broker.not_found") return {};  // it was trimmed
  if (!stored) return tl::unexpected(std::move(stored).error());
  const Result<LogMessage> latest =
      read_log_message(settings_.key, place().sequence, std::move(stored->message));
  // A foreign message has no chain.
  if (!latest || latest->chain == place().chain) return {};
  return fail("log.diverged",
              fmt::format("message {} of stream {} has the chain {}; expected {}, which this node "
                          "has read",
                          place().sequence, settings_.stream.name, to_hex(latest->chain),
                          to_hex(place().chain)));
}

/// Reads until the consumer ends, or the sink is closed. An error ends the reader, or this attempt.
Status LogReader::Impl::read() {
  while (true) {
    Got got = Got::kIdle;
    while (news_messages_ < settings_.chunk && news_bytes_ < kLogChunkBytes) {
      got = TRY(read_next(!has_news_));
      if (got == Got::kNothing || got == Got::kIdle || got == Got::kGap || got == Got::kBroken) {
        break;
      }
    }
    if (!hand_over()) {
      is_closed_ = true;
      return {};
    }
    if (got == Got::kGap || got == Got::kBroken || is_stopping()) return {};
  }
}

Result<LogReader::Impl::Got> LogReader::Impl::read_next(bool wait) {
  NatsMsgHandle message;
  DeliveryNumbers numbers;
  const Got got = consumer_->next(wait, message, numbers);
  if (got == Got::kDestroyed) return fetch_destroyed();
  if (got == Got::kIdle) {
    breaks_ = 0;
    TRY(note_end());
  }
  // A message that was fetched in place of one that nats.c destroyed may come again.
  if (got != Got::kMessage || numbers.stream_sequence <= place().sequence) return got;
  NatsMessage plain;
  if (!read_message(message.get(), plain)) {
    // nats.c loses bytes of some headers.
    const Json query = {{"seq", numbers.stream_sequence}};
    StoredMessage stored = TRY(fetch_stored(connection_, settings_.stream.name, query));
    plain = std::move(stored.message);
  }
  TRY(see(numbers, std::move(plain)));
  return got;
}

/// Handles Got::kDestroyed: nats.c destroyed either the next message, or a status 503 of the
/// broker. Fetching the next message shows which of the two it was.
Result<LogReader::Impl::Got> LogReader::Impl::fetch_destroyed() {
  const Status fetched = fetch_next();
  if (!fetched && ends_reading(fetched.error())) return tl::unexpected(fetched.error());
  if (!fetched) return consumer_->end();
  consumer_->skip();
  return Got::kBusy;
}

/// Reads the next message without a consumer.
Status LogReader::Impl::fetch_next() {
  const Json query = {{"seq", place().sequence + 1}};
  StoredMessage stored = TRY(fetch_stored(connection_, settings_.stream.name, query));
  return see({.stream_sequence = stored.sequence, .stamped = stored.stamped, .pending = 1},
             std::move(stored.message));
}

/// Drops the consumer. Returns whether it delivered a message.
bool LogReader::Impl::close() {
  std::unique_ptr<PullConsumer> consumer;
  {
    const std::lock_guard lock(mutex_);
    consumer.swap(consumer_);
  }
  if (!consumer->why().empty()) {
    set_health(tl::unexpected<Error>(
        {"broker.unreachable", "reading the log was interrupted: " + consumer->why()}));
    if (!consumer->ended_by_server()) ++breaks_;
  }
  return consumer->delivered() > 0;
}

Status LogReader::Impl::see(const DeliveryNumbers& numbers, NatsMessage message) {
  LogSeen seen = TRY(judge_.see(numbers.stream_sequence, std::move(message)));
  news_.pending = numbers.pending;
  if (settings_.kept) settings_.kept->add(numbers.stream_sequence, std::move(seen.message));
  add(numbers.stream_sequence, broker_time(numbers.stamped), std::move(seen));
  return {};
}

void LogReader::Impl::add(uint64_t sequence, TimePoint stamped, LogSeen seen) {
  breaks_ = 0;
  lags_ = 0;
  has_news_ = true;
  ++news_messages_;
  news_.is_at_end = false;
  if (seen.what == LogSeen::What::kForeign) {
    const uint64_t foreign = judge_.foreign();
    {
      const std::lock_guard lock(mutex_);
      foreign_ = foreign;
    }
    // The first, second, fourth, eighth …: a client that publishes many fills no log.
    if (std::has_single_bit(foreign)) {
      spdlog::warn("message {} of stream {} is not of the cluster, as {} messages before: {}",
                   sequence, settings_.stream.name, foreign - 1, seen.why);
    }
    return;
  }
  ++news_.messages;
  news_.stamped = stamped;
  has_ended_ = seen.what == LogSeen::What::kEnd;
  if (seen.begin) {
    news_.begin = std::move(seen.begin);
    news_.begin_sequence = sequence;
    news_.begin_stamped = stamped;
  }
  if (seen.what != LogSeen::What::kCommit) return;
  const LogHistory& history = judge_.history();
  ReadLogCommit commit{.position = {.sequence = sequence,
                                    .name = {.epoch = history.epoch,
                                             .commit = history.commit,
                                             .incarnation = history.incarnation},
                                    .node = history.node,
                                    .chain = history.place.chain},
                       .behind = last_commit_,
                       .write_set = std::move(seen.write_set)};
  last_commit_ = commit.position.name;
  news_bytes_ += commit.write_set.size();
  news_.commits.push_back(std::move(commit));
}

/// The broker has no more messages for the consumer: asks the leader of the stream, because the
/// consumer may be on a NATS server that lags behind it, or is cut off.
Status LogReader::Impl::note_end() {
  const Result<Json> info =
      connection_.api("STREAM.INFO." + settings_.stream.name, Json::object(), kLogEndTimeout);
  if (!info) return {};
  const uint64_t last = count_field(field(*info, "state"), "last_seq");
  if (last == place().sequence) {
    lags_ = 0;
    std::string leader = text_field(field(*info, "cluster"), "leader");
    // Another leader may have lost messages, and have got others in their place.
    if (checked_leader_ != leader) TRY(check_latest());
    checked_leader_ = leader;
    news_.is_at_end = true;
    news_.leader = std::move(leader);
    has_news_ = true;
  }
  // 0: also an answer without the state of the stream.
  if (last > 0 && last < place().sequence) return tl::unexpected(ends_early(last));
  if (last <= place().sequence || ++lags_ < kMostLogLags) return {};
  lags_ = 0;
  return fail("broker.timeout",
              fmt::format("stream {} ends at {}, but its consumer delivers nothing behind {}",
                          settings_.stream.name, last, place().sequence));
}

/// Hands news_ to the sink. Returns false if the sink is closed.
bool LogReader::Impl::hand_over() {
  news_messages_ = 0;
  news_bytes_ = 0;
  if (!std::exchange(has_news_, false)) return true;
  news_.history = judge_.history();
  news_.has_ended = has_ended_;
  return sink_.deliver(std::exchange(news_, {}));
}

void LogReader::Impl::set_health(Status health) {
  if (!is_stopping() && !health && logged_ != health.error().message) {
    logged_ = health.error().message;
    spdlog::warn("the log of the cluster is not read: {}: {}", health.error().code, logged_);
  }
  const std::lock_guard lock(mutex_);
  health_ = std::move(health);
}

void LogReader::Impl::interrupt() {
  const std::lock_guard lock(mutex_);
  is_interrupted_ = true;
  is_awake_ = true;
  if (consumer_) consumer_->interrupt();
  changed_.notify_all();
}

void LogReader::Impl::wake() {
  const std::lock_guard lock(mutex_);
  is_awake_ = true;
  changed_.notify_all();
}

bool LogReader::Impl::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

void LogReader::Impl::wait_to_retry(Duration at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, at_most, [this] { return is_stopping_ || is_awake_; });
}

LogReader::LogReader(Connection& connection, LogReaderSettings settings,
                     const LogPosition& position, LogSink& sink)
    : impl_(std::make_unique<Impl>(connection, std::move(settings), position, sink)) {}

LogReader::~LogReader() = default;

void LogReader::reopen() { impl_->interrupt(); }

Status LogReader::health() const { return impl_->health(); }

uint64_t LogReader::foreign() const { return impl_->foreign(); }

}  // namespace millrace
