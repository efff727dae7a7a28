#include "broker/publisher.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "broker/json_fields.h"
#include "broker/listening.h"
#include "broker/nats_status.h"
#include "broker/wire.h"
#include "os/crash_point.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// JetStream's code for a message above the stream's max_msg_size.
constexpr int64_t kMessageExceedsMaximum = 10054;

using SteadyTime = std::chrono::steady_clock::time_point;

/// How long a flush waits for the broker. After that the sender continues, and only the deadlines
/// limit how long messages wait for an acknowledgement.
constexpr Duration kMostFlush{1000};

Result<PublishAck> read_answer(natsMsg* message) {
  if (natsMsg_IsNoResponders(message)) {
    return fail(
        "broker.unreachable",
        "no stream accepts this subject; check that JetStream is enabled and the stream exists");
  }
  return read_publish_ack(
      {natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))});
}

}  // namespace

Result<PublishAck> read_publish_ack(std::string_view json) {
  const Result<Json> answer = parse_json(json);
  if (!answer || !answer->is_object()) {
    return fail("broker.protocol", "an acknowledgement is not a JSON object");
  }
  if (const Json& error = field(*answer, "error"); error.is_object()) {
    const int64_t code = integer_field(error, "err_code");
    return fail(code == kMessageExceedsMaximum ? std::string(kTooLarge) : "broker.refused",
                fmt::format("the broker refused a message: {} ({})",
                            text_field(error, "description"), code));
  }
  const PublishAck ack{.sequence = count_field(*answer, "seq"),
                       .duplicate = field(*answer, "duplicate") == true};
  if (ack.sequence == 0) return fail("broker.protocol", "an acknowledgement has no sequence");
  return ack;
}

class JetStreamPublisher::Impl {
 public:
  Impl(Connection& connection, Duration ack_timeout, std::function<void()> no_stream,
       std::string prefix)
      : connection_(connection),
        ack_timeout_(ack_timeout),
        no_stream_(std::move(no_stream)),
        prefix_(std::move(prefix)) {
    watch_ = connection_.watch([this](LinkChange change) {
      if (change != LinkChange::kDisconnected) return;
      const std::lock_guard lock(mutex_);
      lost_ = true;
      changed_.notify_all();
    });
    thread_ = std::thread(&Impl::run, this);
  }

  ~Impl() {
    connection_.unwatch(watch_);
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
    listening_.reset();
    fail_all("closing");
  }

  void publish(NatsMessage message, Done done) {
    if (Status checked = take_subject(message); !checked) {
      done(tl::unexpected(std::move(checked).error()));
      return;
    }
    const std::lock_guard lock(mutex_);
    const uint64_t number = first_ + waiting_.size();
    waiting_.push_back({std::move(done), std::chrono::steady_clock::now() + ack_timeout_});
    ++unanswered_;
    enqueue({number, std::move(message)});
  }

  std::vector<Status> publish_unacknowledged(std::vector<NatsMessage> messages) {
    std::vector<Status> checked;
    checked.reserve(messages.size());
    for (NatsMessage& message : messages) checked.push_back(take_subject(message));
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < messages.size(); ++i) {
      if (checked[i]) enqueue({kUnacknowledged, std::move(messages[i])});
    }
    return checked;
  }

  bool flush(Duration at_most) {
    std::unique_lock lock(mutex_);
    return answered_.wait_for(lock, at_most, [this] { return unanswered_ == 0; });
  }

  Status health() const {
    if (connection_.connected()) return {};
    return fail("broker.unreachable", "events are not sent: there is no connection to the broker");
  }

  size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return unanswered_;
  }

 private:
  struct Waiting {
    Done done;  ///< empty: the message is answered
    SteadyTime deadline;
  };
  struct Queued {
    uint64_t number;
    NatsMessage message;
  };
  /// The number of a message that gets no answer; first_ is larger.
  static constexpr uint64_t kUnacknowledged = 0;

  /// Gives the message the subject that it has at the broker, and checks it.
  Status take_subject(NatsMessage& message) const {
    if (prefix_ != kDefaultPrefix) message.subject = broker_subject(prefix_, message.subject);
    return check_message(message, connection_.max_payload());
  }
  /// Precondition: mutex_ is locked.
  void enqueue(Queued queued) {
    queue_.push_back(std::move(queued));
    // The sender checks the queue again before it sleeps, so only a sleeping sender needs to be
    // woken.
    if (queue_.size() == 1) changed_.notify_all();
  }

  void run();
  void send(const Queued& queued);
  void flush();
  Status listen();
  void on_answer(natsMsg* message);
  void answer(uint64_t number, Result<PublishAck> result);
  void fail_all(std::string_view why);
  void expire();

  Connection& connection_;
  const Duration ack_timeout_;
  const std::function<void()> no_stream_;
  const std::string prefix_;
  std::string inbox_;  ///< set by listen(); ends in a dot; reply subjects add a message's number
  uint64_t watch_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable answered_;
  bool stopping_ = false;
  bool lost_ = false;
  uint64_t first_ = 1;  ///< the number of waiting_.front()
  std::deque<Waiting> waiting_;
  size_t unanswered_ = 0;
  std::vector<Queued> queue_;

  std::vector<NatsMsgHandle> sent_;       ///< only for the sender thread: messages to free together
  std::unique_ptr<Listening> listening_;  ///< only for the sender thread, later the destructor
  std::thread thread_;
};

void JetStreamPublisher::Impl::run() {
  name_thread("sender");
  run_promptly();
  std::vector<Queued> batch;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (lost_) {
      lost_ = false;
      lock.unlock();
      fail_all("the connection to NATS was lost");
      lock.lock();
      continue;
    }
    if (!queue_.empty()) {
      batch.swap(queue_);
      lock.unlock();
      for (const Queued& queued : batch) send(queued);
      flush();
      batch.clear();
      sent_.clear();
      lock.lock();
      continue;
    }
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const SteadyTime deadline = waiting_.front().deadline;  // a copy: the front may change
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) {
      lock.unlock();
      expire();
      lock.lock();
    }
  }
}

void JetStreamPublisher::Impl::send(const Queued& queued) {
  const NatsMessage& message = queued.message;
  const auto doing = [&] { return fmt::format("publishing to {}", message.subject); };
  if (!connection_.connected()) {
    answer(queued.number, fail("broker.unreachable", doing() + ": there is no connection to NATS"));
    return;
  }
  if (const Status listens = listen(); !listens) {
    answer(queued.number, fail_in(doing(), listens.error()));
    return;
  }
  NatsMsgHandle& made = sent_.emplace_back();
  const bool is_acknowledged = queued.number != kUnacknowledged;
  const std::string reply =
      is_acknowledged ? fmt::format("{}{}", inbox_, queued.number) : std::string();
  natsStatus status =
      make_message(message, message.subject, is_acknowledged ? reply.c_str() : nullptr, made);
  if (status == NATS_OK) {
    status = natsConnection_PublishMsg(listening_->handle().get(), made.get());
  }
  crash_point(CrashPoint::kSent);
  if (status != NATS_OK) answer(queued.number, tl::unexpected(nats_error(status, doing())));
}

/// Sends all buffered messages and waits until the broker has read them. Messages that are queued
/// meanwhile are sent together afterwards. A failed flush is ignored: missing acknowledgements show
/// it.
void JetStreamPublisher::Impl::flush() {
  if (listening_ == nullptr || listening_->status() != NATS_OK) return;
  std::ignore = natsConnection_FlushTimeout(listening_->handle().get(),
                                            std::min(ack_timeout_, kMostFlush).count());
}

/// Subscribes to the inbox. nats.c subscribes again at each reconnect; only a new connection needs
/// another subscription.
Status JetStreamPublisher::Impl::listen() {
  if (listening_ && listening_->status() == NATS_OK &&
      listening_->handle() == connection_.handle()) {
    return {};
  }
  listening_.reset();
  if (inbox_.empty()) inbox_ = connection_.make_inbox() + ".";
  listening_ = std::make_unique<Listening>(
      connection_, inbox_ + "*", [this](NatsMsgHandle& message) { on_answer(message.get()); });
  if (listening_->status() == NATS_OK) return {};
  return tl::unexpected(nats_error(listening_->status(), "subscribing to an inbox"));
}

void JetStreamPublisher::Impl::on_answer(natsMsg* message) {
  const std::string_view subject = natsMsg_GetSubject(message);
  uint64_t number = 0;
  if (subject.size() <= inbox_.size()) return;
  std::from_chars(subject.data() + inbox_.size(), subject.data() + subject.size(), number);
  crash_point(CrashPoint::kAcknowledged);
  if (natsMsg_IsNoResponders(message)) no_stream_();
  answer(number, read_answer(message));
  crash_point(CrashPoint::kAckQueued);
}

/// Calls the `done` of a message. Late and repeated answers are ignored.
void JetStreamPublisher::Impl::answer(uint64_t number, Result<PublishAck> result) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    if (number < first_ || number - first_ >= waiting_.size()) return;
    done = std::exchange(waiting_[number - first_].done, nullptr);
    if (!done) return;
    while (!waiting_.empty() && !waiting_.front().done) {
      waiting_.pop_front();
      ++first_;
    }
  }
  done(std::move(result));
  const std::lock_guard lock(mutex_);
  if (--unanswered_ == 0) answered_.notify_all();
}

void JetStreamPublisher::Impl::fail_all(std::string_view why) {
  uint64_t begin = 0;
  uint64_t end = 0;
  {
    const std::lock_guard lock(mutex_);
    begin = first_;
    end = first_ + waiting_.size();
    queue_.clear();
  }
  for (uint64_t number = begin; number < end; ++number) {
    answer(number, fail("broker.unreachable", fmt::format("no acknowledgement came: {}", why)));
  }
}

void JetStreamPublisher::Impl::expire() {
  const SteadyTime now = std::chrono::steady_clock::now();
  uint64_t begin = 0;
  uint64_t end = 0;
  {
    const std::lock_guard lock(mutex_);
    begin = end = first_;
    while (end - first_ < waiting_.size() && waiting_[end - first_].deadline <= now) ++end;
  }
  for (uint64_t number = begin; number < end; ++number) {
    answer(number, fail("broker.timeout", fmt::format("no acknowledgement came in time ({})",
                                                      connection_.last_complaint())));
  }
}

JetStreamPublisher::JetStreamPublisher(Connection& connection, Duration ack_timeout,
                                       std::function<void()> no_stream, std::string prefix)
    : impl_(std::make_unique<Impl>(connection, ack_timeout, std::move(no_stream),
                                   std::move(prefix))) {}

JetStreamPublisher::~JetStreamPublisher() = default;

void JetStreamPublisher::publish(NatsMessage message, Done done) {
  impl_->publish(std::move(message), std::move(done));
}

std::vector<Status> JetStreamPublisher::publish_unacknowledged(std::vector<NatsMessage> messages) {
  return impl_->publish_unacknowledged(std::move(messages));
}

bool JetStreamPublisher::flush(Duration at_most) { return impl_->flush(at_most); }

Status JetStreamPublisher::health() const { return impl_->health(); }

size_t JetStreamPublisher::waiting() const { return impl_->waiting(); }

}  // namespace millrace
