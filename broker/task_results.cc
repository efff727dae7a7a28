#include "broker/task_results.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/whole_number.h"
#include "broker/json_fields.h"
#include "broker/nats_status.h"
#include "broker/stored_message.h"
#include "broker/stream_owner.h"
#include "broker/task_message.h"
#include "os/thread.h"

namespace millrace {

namespace {

/// Most consumers end because of the broker or the network. If this many consumers in a row have
/// ended for no known reason and without an answer, the oldest answer is fetched without a
/// consumer.
constexpr int kMostAnswerBreaks = 5;

/// The epoch in the name of a consumer; nullopt: it is not that of an active of a cluster. The id
/// of a process has more digits than an epoch.
std::optional<uint64_t> epoch_in(std::string_view name) {
  name.remove_prefix(std::min(name.size(), kResultsConsumer.size() + 1));
  return whole_number(name);
}

uint64_t answer_bytes(const NatsMessage& answer) {
  uint64_t bytes = answer.data.size();
  for (const auto& [name, value] : answer.headers) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace

OtherConsumer judge_consumer(std::string_view name, std::optional<uint64_t> epoch) {
  const bool is_ours =
      name == kResultsConsumer || name.starts_with(fmt::format("{}-", kResultsConsumer));
  if (!is_ours) return OtherConsumer::kKept;
  const std::optional<uint64_t> other = epoch_in(name);
  return epoch && other && *other > *epoch ? OtherConsumer::kYieldedTo : OtherConsumer::kDeleted;
}

/// The bytes of the answers that are reported and not stored yet. Any thread. An answer may be
/// stored after the TaskResults is destroyed, so its callback shares this object.
class TaskResults::Unstored {
 public:
  /// Adds an answer. Waits while there are `most` bytes or more, unless close() was called.
  void add(uint64_t bytes, uint64_t most) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bytes_ < most || is_closed_; });
    bytes_ += bytes;
  }
  void remove(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ -= bytes;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t bytes_ = 0;
  bool is_closed_ = false;
};

TaskResults::TaskResults(Connection& connection, StreamKeeper& keeper, Settings settings,
                         Handlers handlers)
    : connection_(connection),
      keeper_(keeper),
      settings_(std::move(settings)),
      handlers_(std::move(handlers)),
      unstored_(std::make_shared<Unstored>()) {
  watch_ = connection_.watch([this](LinkChange change) {
    if (change != LinkChange::kLameDuck) interrupt();
  });
  thread_ = std::thread(&TaskResults::run, this);
}

TaskResults::~TaskResults() {
  connection_.unwatch(watch_);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  interrupt();
  unstored_->close();
  thread_.join();
}

Status TaskResults::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

/// Ends the present read, or the wait before the next attempt.
void TaskResults::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  if (consumer_) consumer_->interrupt();
  changed_.notify_all();
}

void TaskResults::run() {
  name_thread("results");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    interrupted_ = false;
    lock.unlock();
    const Status opened = open();
    set_health(opened);
    if (opened) read();
    lock.lock();
    const std::unique_ptr<PullConsumer> closing = std::move(consumer_);
    if (breaks_ >= kMostAnswerBreaks) {
      lock.unlock();
      pass_over();
      lock.lock();
    }
    // A stream that was just deleted is not created again at once; other failures need time as
    // well.
    changed_.wait_for(lock, StreamKeeper::kLeaveAlone, [this] { return interrupted_; });
  }
}

Status TaskResults::open() {
  TRY(keeper_.ensure(settings_.stream));
  const std::string name = consumer_name();
  TRY(delete_others(name));
  std::unique_ptr<PullConsumer> consumer = TRY(PullConsumer::open_queue(
      connection_, settings_.stream, name, settings_.most_unstored, settings_.pull));
  const std::lock_guard lock(mutex_);
  if (interrupted_)
    return fail("broker.unreachable",
                "the connection to NATS was lost while the consumer of answers was opened");
  consumer_ = std::move(consumer);
  return {};
}

std::string TaskResults::consumer_name() const {
  if (settings_.epoch) return fmt::format("{}-{}", kResultsConsumer, *settings_.epoch);
  if (settings_.process.empty()) return std::string(kResultsConsumer);
  return fmt::format("{}-{}", kResultsConsumer, settings_.process);
}

/// A work queue allows one consumer, so the consumers of former processes are deleted. Between the
/// nodes of a cluster, the consumer of a higher epoch stays. A node that has listed the consumers
/// before a later active created its own cannot create one beside it, and sees it at its next try.
Status TaskResults::delete_others(const std::string& name) {
  const std::string& stream = settings_.stream.name;
  const Json found = TRY(connection_.api("CONSUMER.NAMES." + stream, Json::object()));
  for (const Json& other : field(found, "consumers")) {
    const std::string consumer = other.is_string() ? other.get<std::string>() : "";
    if (consumer == name) continue;
    switch (judge_consumer(consumer, settings_.epoch)) {
      case OtherConsumer::kKept:
        continue;
      case OtherConsumer::kYieldedTo:
        return fail(
            std::string(kDeposedError),
            fmt::format("the consumer {} of stream {} is of a later epoch than {}, that of this "
                        "node: another node of the cluster is the active; if the cluster was "
                        "founded again, delete that consumer",
                        consumer, stream, *settings_.epoch));
      case OtherConsumer::kDeleted:
        break;
    }
    const Result<Json> deleted =
        connection_.api(fmt::format("CONSUMER.DELETE.{}.{}", stream, consumer), Json::object());
    if (!deleted && deleted.error().code != "broker.not_found") {
      return tl::unexpected(deleted.error());
    }
  }
  return {};
}

void TaskResults::read() {
  using Got = PullConsumer::Got;
  if (consumer_->started_at_the_end()) note_caught_up();
  while (true) {
    NatsMsgHandle message;
    DeliveryNumbers numbers;
    const Got got = consumer_->next(true, message, numbers);
    if (got == Got::kGap || got == Got::kBroken) break;
    if (got == Got::kMessage) hand_out(message.get(), numbers);
    if (got == Got::kMessage || got == Got::kIdle) breaks_ = 0;
    // The broker may have counted a message as pending that was deleted afterwards.
    if (got == Got::kIdle || (got == Got::kMessage && numbers.pending == 0)) note_caught_up();
  }
  if (!consumer_->ended_by_server()) ++breaks_;
  set_health(fail("broker.unreachable",
                  fmt::format("reading answers was interrupted: {}", consumer_->why())));
}

/// Fetches the oldest answer without a consumer and hands it out, because every consumer ended when
/// it came to that answer.
void TaskResults::pass_over() {
  breaks_ = 0;
  const StreamSettings& stream = settings_.stream;
  Result<StoredMessage> stored =
      fetch_stored(connection_, stream.name, {{"seq", 1}, {"next_by_subj", stream.subjects}});
  if (!stored) return;  // the message does not exist, or the connection is lost
  spdlog::error(
      "message {} of stream {} on {} could not be delivered in {} attempts; it is read with "
      "STREAM.MSG.GET instead",
      stored->sequence, stream.name, stored->message.subject, kMostAnswerBreaks);
  handlers_.answer(std::move(stored->message),
                   [handle = connection_.handle(),
                    subject = connection_.api_subject("STREAM.MSG.DELETE." + stream.name),
                    body = delete_request(stored->sequence)] {
                     // If this fails, the answer is handed out again and then ignored.
                     std::ignore =
                         natsConnection_PublishString(handle.get(), subject.c_str(), body.c_str());
                   });
}

void TaskResults::hand_out(natsMsg* message, const DeliveryNumbers& numbers) {
  NatsMessage answer;
  if (!read_message(message, answer)) {
    Result<StoredMessage> stored =
        fetch_stored(connection_, settings_.stream.name, {{"seq", numbers.stream_sequence}});
    if (stored) {
      answer = std::move(stored->message);
    } else {
      answer.headers = apart(std::move(answer.headers));
    }
  }
  const uint64_t bytes = answer_bytes(answer);
  unstored_->add(bytes, settings_.most_unstored_bytes);
  // The callback holds the handle, not this object, because the answer may be stored after this
  // object is destroyed.
  handlers_.answer(std::move(answer),
                   [handle = connection_.handle(), ack = std::string(natsMsg_GetReply(message)),
                    unstored = unstored_, bytes] {
                     unstored->remove(bytes);
                     // Without the acknowledgement the answer comes again and is ignored.
                     std::ignore = natsConnection_PublishString(handle.get(), ack.c_str(), "+ACK");
                   });
}

void TaskResults::note_caught_up() {
  if (std::exchange(caught_up_, true)) return;
  handlers_.caught_up();
}

void TaskResults::set_health(Status health) {
  const std::lock_guard lock(mutex_);
  const std::string before = health_ ? "" : health_.error().code;
  const std::string code = health ? "" : health.error().code;
  health_ = std::move(health);
  if (before == code || stopping_) return;
  if (health_) {
    spdlog::info("answers to tasks are read");
  } else {
    spdlog::warn("answers to tasks are not read: {}", health_.error().message);
  }
}

}  // namespace millrace
