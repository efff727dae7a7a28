#include "broker/event_stream.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "base/check.h"
#include "broker/incoming.h"
#include "broker/nats_status.h"
#include "broker/pull_consumer.h"
#include "broker/spent_messages.h"
#include "broker/stored_message.h"
#include "os/crash_point.h"
#include "os/thread.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

constexpr Duration kFirstRetry{100};
constexpr Duration kLastRetry{2'000};
constexpr size_t kChunkBytes = size_t{8} << 20;

/// Most consumers end because of the broker or the network. If this many consumers in a row have
/// ended for no known reason and without a message, the reader fetches the message after position_
/// without a consumer.
constexpr int kMostReadBreaks = 5;

std::vector<StreamSettings> all_streams(const EventStreamSettings& settings) {
  std::vector<StreamSettings> all = settings.beside;
  all.push_back(settings.stream);
  return all;
}

}  // namespace

bool has_lost_messages(const std::optional<BrokerLoss>& loss) {
  return loss && loss->kind != BrokerLoss::Kind::kDropped;
}

/// The reader thread, and the state that it shares with other threads.
class JetStreamEvents::Reader {
 public:
  Reader(Connection& connection, const EventStreamSettings& settings, StreamKeeper& keeper,
         const Cursor& cursor, DeliverySink& sink)
      : connection_(connection),
        settings_(settings),
        keeper_(keeper),
        sink_(sink),
        prefix_(settings.stream.subjects.substr(0, settings.stream.subjects.find('>'))),
        position_(cursor),
        random_(std::random_device{}()) {
    watch_ = connection_.watch([this](LinkChange change) {
      if (change == LinkChange::kDisconnected) interrupt();
      if (change == LinkChange::kConnected) wake();
    });
    thread_ = std::thread(&Reader::run, this);
  }

  ~Reader() {
    connection_.unwatch(watch_);
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    interrupt();
    thread_.join();
  }

  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

  Status health() const {
    const std::lock_guard lock(mutex_);
    return health_;
  }

 private:
  enum class End {
    kAgain,   ///< make another consumer
    kClosed,  ///< the sink accepts no more deliveries
  };

  void run();
  Result<StreamInfo> find_or_make_stream();
  Status open();
  Result<std::unique_ptr<PullConsumer>> make_consumer();
  Status prepare(StreamOpening& opening);
  Status take(Result<std::unique_ptr<PullConsumer>> made);
  End read();
  void add_message(NatsMsgHandle message, const DeliveryNumbers& numbers);
  void note_pending(bool more);
  bool hand_over();
  bool close();
  bool pass_over();
  PullConsumer::Got fetch_destroyed();
  Result<StoredMessage> fetch_next();
  void add_stored(StoredMessage stored);
  void log_failure(const Error& error);
  void log_recovery();

  void interrupt();
  void wake();
  bool stopping() const;
  void wait_to_retry(Duration at_most);

  Connection& connection_;
  const EventStreamSettings& settings_;
  StreamKeeper& keeper_;
  DeliverySink& sink_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool interrupted_ = false;  ///< the connection was lost: the open consumer is unusable
  bool awake_ = false;        ///< the connection changed, or stop() was called: do not wait
  std::unique_ptr<PullConsumer> consumer_;  ///< changed by the reader thread only, under the lock
  Counts counts_;
  Status health_ = fail("broker.unreachable", "there is no connection to NATS yet");

  // Only for the reader thread.
  const std::string prefix_;  ///< the common start of the stream's subjects
  Cursor position_;           ///< the last message that was handed over or is in chunk_
  bool caught_up_ = false;
  std::string logged_;  ///< the newest logged reason why events are not read; empty: they are read
  bool preparing_failed_ = false;  ///< the last call of on_opening() failed
  int breaks_ = 0;  ///< consumers in a row that ended for no known reason and without a message
  std::optional<steady_clock::time_point> missing_since_;
  std::vector<Delivery> chunk_;
  size_t chunk_bytes_ = 0;
  SpentMessages spent_;
  std::minstd_rand random_;

  uint64_t watch_ = 0;
  std::thread thread_;
};

void JetStreamEvents::Reader::run() {
  name_thread("reader");
  run_promptly();
  bool is_reported = false;
  Duration retry = kFirstRetry;
  while (!stopping()) {
    const Status opened = open();
    if (opened) {
      is_reported = true;
      const End end = read();
      const bool progress = close();
      if (end == End::kClosed) return;
      if (breaks_ >= kMostReadBreaks && !pass_over()) return;
      if (progress) retry = kFirstRetry;
      if (progress && connection_.connected()) continue;
    }
    if (is_reported && !(opened && connection_.connected())) {
      is_reported = false;
      if (!sink_.deliver({StreamLost{}})) return;
    }
    wait_to_retry(retry);
    retry = std::min(retry * 2, kLastRetry);
  }
}

/// A missing stream is not created again at once. Consumers of a stream notice its deletion while
/// the deletion is still under way, and the client that deletes the stream may create it again
/// itself.
Result<StreamInfo> JetStreamEvents::Reader::find_or_make_stream() {
  Result<StreamInfo> stream = keeper_.find(settings_.stream);
  if (stream || stream.error().code != "broker.not_found") {
    missing_since_.reset();
    return stream;
  }
  if (!missing_since_) missing_since_ = steady_clock::now();
  if (position_.stream_created != 0 &&
      steady_clock::now() - *missing_since_ < StreamKeeper::kLeaveAlone) {
    return stream;
  }
  return keeper_.ensure(settings_.stream);
}

/// Creates a consumer. The deliveries that report the opened stream are put into chunk_.
Status JetStreamEvents::Reader::open() {
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = false;
    awake_ = false;
  }
  sink_.opening();
  Result<std::unique_ptr<PullConsumer>> made = make_consumer();
  Status opened = take(std::move(made));
  if (!opened) {
    log_failure(opened.error());
    return opened;
  }

  const StreamInfo& stream = consumer_->stream();
  position_ = consumer_->start();
  if (consumer_->loss()) settings_.on_loss(*consumer_->loss());
  const bool lost_tail = consumer_->loss() && consumer_->loss()->kind == BrokerLoss::Kind::kTail;
  chunk_.push_back(
      StreamOpened{.position = position_,
                   .first_sequence = stream.first_sequence,
                   .last_sequence = stream.last_sequence,
                   .intact_to = lost_tail ? position_.sequence : stream.last_sequence});
  caught_up_ = false;
  if (consumer_->started_at_the_end()) {
    note_pending(false);
    log_recovery();
  }
  return {};
}

Result<std::unique_ptr<PullConsumer>> JetStreamEvents::Reader::make_consumer() {
  const StreamInfo stream = TRY(find_or_make_stream());
  StreamOpening opening;
  opening.streams.push_back({settings_.stream, stream});
  for (const StreamSettings& other : settings_.beside) {
    StreamInfo info = TRY(keeper_.ensure(other));
    opening.streams.push_back({other, std::move(info)});
  }
  auto consumer =
      TRY(PullConsumer::open(connection_, settings_.stream, stream, position_, settings_.pull));
  if (settings_.on_opening == nullptr) return consumer;
  opening.streams.front().info = consumer->stream();
  opening.loss = consumer->loss();
  // on_opening() may take longer than the broker keeps a consumer that is not used.
  consumer.reset();
  TRY(prepare(opening));
  consumer =
      TRY(PullConsumer::open(connection_, settings_.stream, stream, position_, settings_.pull));
  if (has_lost_messages(consumer->loss()) && !has_lost_messages(opening.loss)) {
    return fail("broker.stream", fmt::format("stream {} has lost messages while it was opened",
                                             settings_.stream.name));
  }
  return consumer;
}

/// Calls on_opening(). Until it has succeeded, health() has what the opening waits for, and after a
/// failure the error of the last attempt, also while the next attempt runs.
Status JetStreamEvents::Reader::prepare(StreamOpening& opening) {
  opening.stops = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_ || interrupted_;
  };
  if (!preparing_failed_) {
    const std::lock_guard lock(mutex_);
    health_ = fail("starting",
                   "the store was restored or copied: millrace reads which of its messages the "
                   "streams have already, so that it does not send them again");
  }
  Status prepared = settings_.on_opening(opening);
  preparing_failed_ = !prepared;
  return prepared;
}

Status JetStreamEvents::Reader::take(Result<std::unique_ptr<PullConsumer>> made) {
  const std::lock_guard lock(mutex_);
  health_ = {};
  if (!made) {
    health_ = tl::unexpected(std::move(made).error());
  } else if (interrupted_) {
    health_ = fail("broker.unreachable",
                   "the connection to NATS was lost while the event stream was opened");
  } else {
    consumer_ = *std::move(made);
    ++counts_.opened;
  }
  return health_;
}

JetStreamEvents::Reader::End JetStreamEvents::Reader::read() {
  using Got = PullConsumer::Got;
  Got got = Got::kIdle;
  while (true) {
    if (!hand_over()) return End::kClosed;
    if (got == Got::kGap || got == Got::kBroken || stopping()) return End::kAgain;
    got = Got::kIdle;
    while (got != Got::kNothing && chunk_.size() < settings_.chunk && chunk_bytes_ < kChunkBytes) {
      NatsMsgHandle message;
      DeliveryNumbers numbers;
      got = consumer_->next(chunk_.empty(), message, numbers);
      if (got == Got::kDestroyed) got = fetch_destroyed();
      if (got == Got::kMessage) {
        if (!logged_.empty()) log_recovery();
        breaks_ = 0;
        // nats.c destroyed an earlier message that the stream does not have any more. This message
        // was fetched in its place, so it must not be delivered again.
        if (numbers.stream_sequence <= position_.sequence) continue;
        add_message(std::move(message), numbers);
      } else if (got == Got::kIdle) {
        // The broker may have counted a message as pending that was deleted afterwards.
        note_pending(false);
        log_recovery();
        breaks_ = 0;
      } else if (got == Got::kGap || got == Got::kBroken) {
        break;
      }
    }
    if (got == Got::kGap) {
      const std::lock_guard lock(mutex_);
      ++counts_.gaps;
    }
  }
}

void JetStreamEvents::Reader::add_message(NatsMsgHandle message, const DeliveryNumbers& numbers) {
  const DeliveredAs as{.sequence = numbers.stream_sequence,
                       .stamped = broker_time(numbers.stamped),
                       .more = numbers.pending > 0,
                       .prefix = prefix_};
  crash_point(CrashPoint::kPulled);
  NatsMessage plain;
  const bool sure = read_message(message.get(), plain);
  spent_.add(std::move(message));
  const bool has_headers = !sure || !plain.headers.empty();
  chunk_bytes_ += plain.data.size();
  Delivery delivery = read_delivery(std::move(plain), as);
  // nats.c loses the order of headers, and bytes of some headers. So a message that becomes a dead
  // letter, or that may have been misread, is fetched again as the broker stored it.
  if (!sure || (has_headers && std::holds_alternative<UnreadableInput>(delivery))) {
    Result<StoredMessage> stored =
        fetch_stored(connection_, settings_.stream.name, {{"seq", as.sequence}});
    if (stored) delivery = read_delivery(std::move(stored->message), as);
  }
  if (as.sequence > position_.sequence + 1 && !consumer_->is_filtered()) {
    settings_.on_loss({BrokerLoss::Kind::kDropped, position_.sequence + 1, as.sequence - 1});
  }
  crash_point(CrashPoint::kDecoded);
  chunk_.push_back(std::move(delivery));
  position_.sequence = as.sequence;
  position_.stamped = as.stamped;
  note_pending(as.more);
}

void JetStreamEvents::Reader::note_pending(bool more) {
  if (!more && !caught_up_) chunk_.push_back(CaughtUp{});
  caught_up_ = !more;
}

/// Hands chunk_ to the sink. Returns false if the sink is closed.
bool JetStreamEvents::Reader::hand_over() {
  chunk_bytes_ = 0;
  if (chunk_.empty()) return true;
  const bool taken = sink_.deliver(std::exchange(chunk_, {}));
  crash_point(CrashPoint::kDelivered);
  return taken;
}

/// Drops the consumer. Returns whether it delivered a message.
bool JetStreamEvents::Reader::close() {
  std::unique_ptr<PullConsumer> consumer;
  Error why{"broker.unreachable", ""};
  {
    const std::lock_guard lock(mutex_);
    consumer.swap(consumer_);
    why.message = fmt::format("reading the event stream was interrupted: {}",
                              consumer->why().empty() ? "the reader is stopping" : consumer->why());
    health_ = tl::unexpected(why);
  }
  if (!consumer->why().empty()) {
    log_failure(why);
    if (!consumer->ended_by_server()) ++breaks_;
  }
  return consumer->delivered() > 0;
}

/// Reads the message after position_ without a consumer, because every consumer ended when it came
/// to that message. Hands the message over as an event or as unreadable input. Returns false if the
/// sink is closed.
bool JetStreamEvents::Reader::pass_over() {
  breaks_ = 0;
  Result<StoredMessage> stored = fetch_next();
  if (!stored) return true;  // the message does not exist, or the connection is lost
  spdlog::error(
      "message {} of stream {} on {} could not be delivered in {} attempts; it is read with "
      "STREAM.MSG.GET instead",
      stored->sequence, settings_.stream.name, stored->message.subject, kMostReadBreaks);
  add_stored(*std::move(stored));
  {
    const std::lock_guard lock(mutex_);
    ++counts_.passed_over;
  }
  return hand_over();
}

/// Handles Got::kDestroyed: nats.c destroyed either the message after position_, or a status 503 of
/// the broker. Fetching the message after position_ shows which of the two it was.
PullConsumer::Got JetStreamEvents::Reader::fetch_destroyed() {
  Result<StoredMessage> stored = fetch_next();
  if (!stored) return consumer_->end();
  add_stored(*std::move(stored));
  consumer_->skip();
  return PullConsumer::Got::kBusy;
}

/// Fetches the message after position_ without a consumer.
Result<StoredMessage> JetStreamEvents::Reader::fetch_next() {
  return fetch_stored(
      connection_, settings_.stream.name,
      {{"seq", position_.sequence + 1}, {"next_by_subj", settings_.stream.subjects}});
}

void JetStreamEvents::Reader::add_stored(StoredMessage stored) {
  position_.sequence = stored.sequence;
  position_.stamped = broker_time(stored.stamped);
  chunk_.push_back(read_delivery(std::move(stored.message), {.sequence = position_.sequence,
                                                             .stamped = position_.stamped,
                                                             .more = true,
                                                             .prefix = prefix_}));
  note_pending(true);  // it is not known how many messages follow
}

void JetStreamEvents::Reader::log_failure(const Error& error) {
  if (stopping()) return;
  if (std::exchange(logged_, error.message) == error.message) return;
  spdlog::warn("events are not read: {}", error.message);
}

void JetStreamEvents::Reader::log_recovery() {
  if (logged_.empty()) return;
  logged_.clear();
  spdlog::info("events are read again");
}

void JetStreamEvents::Reader::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  awake_ = true;
  if (consumer_) consumer_->interrupt();
  changed_.notify_all();
}

void JetStreamEvents::Reader::wake() {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  changed_.notify_all();
}

bool JetStreamEvents::Reader::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void JetStreamEvents::Reader::wait_to_retry(Duration at_most) {
  const Duration wait(
      std::uniform_int_distribution<int64_t>(at_most.count() / 2, at_most.count())(random_));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return stopping_ || awake_; });
}

JetStreamEvents::JetStreamEvents(Connection& connection, EventStreamSettings settings)
    : connection_(connection),
      settings_(std::move(settings)),
      keeper_(connection, all_streams(settings_)) {}

JetStreamEvents::~JetStreamEvents() { stop(); }

void JetStreamEvents::start(const Cursor& cursor, DeliverySink& sink) {
  const std::lock_guard guard(lock_);
  CHECK(reader_ == nullptr, "started twice");
  reader_ = std::make_unique<Reader>(connection_, settings_, keeper_, cursor, sink);
}

void JetStreamEvents::stop() {
  std::unique_ptr<Reader> reader;  // destroyed without the lock, because ~Reader() joins its thread
  const std::lock_guard guard(lock_);
  reader = std::move(reader_);
}

JetStreamEvents::Counts JetStreamEvents::counts() const {
  const std::lock_guard guard(lock_);
  return reader_ == nullptr ? Counts() : reader_->counts();
}

Status JetStreamEvents::health() const {
  const std::lock_guard guard(lock_);
  if (reader_ == nullptr) return fail("broker.unreachable", "not started");
  return reader_->health();
}

}  // namespace millrace
