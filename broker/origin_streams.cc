#include "broker/origin_streams.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "broker/json_fields.h"
#include "broker/kept_consumers.h"
#include "broker/nats_status.h"
#include "broker/pull_consumer.h"
#include "broker/refused_subject.h"
#include "broker/source_streams.h"
#include "broker/spent_messages.h"
#include "broker/stored_message.h"
#include "broker/streams.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// How many bytes of messages one read returns, besides those of its last message.
constexpr size_t kMostReadBytes = size_t{4} << 20;

/// How many bytes of the subject of a missing right an error shows. nats.c keeps no more of one.
constexpr size_t kMostShownRight = 256;

PullSettings origin_pull(size_t batch) { return {.requests = 2, .batch = batch}; }

tl::unexpected<Error> no_origin_stream(const std::string& stream) {
  return fail("source.no_stream",
              fmt::format("the broker has no stream \"{}\": create it, or correct the name in the "
                          "settings of the source",
                          stream));
}

Error no_right_to(const std::string& subject) {
  return {
      "source.not_permitted",
      fmt::format("the NATS server does not permit millrace to publish \"{}\", which the source "
                  "needs; give the user of millrace the rights for sources (docs/nats.md)",
                  excerpt(subject, kMostShownRight))};
}

OriginMessage origin_message(StoredMessage stored) {
  return {.sequence = stored.sequence,
          .stamped = broker_time(stored.stamped),
          .message = std::move(stored.message)};
}

/// Names the cause of an error, if a right is missing: the NATS server reports it, and does not
/// answer the request.
Error with_cause(const Connection& connection, Error error) {
  if (error.code != "broker.timeout") return error;
  const auto refused = refused_subject(connection.last_complaint());
  // The message has the report only if that is about the request.
  if (!refused || error.message.find(fmt::format("\"{}\"", *refused)) == std::string::npos) {
    return error;
  }
  return no_right_to(*refused);
}

/// The same, and renames the error of a stream that the broker does not have.
Error of_stream(const Connection& connection, const std::string& stream, Error error) {
  if (error.code == "broker.not_found") return no_origin_stream(stream).value();
  return with_cause(connection, std::move(error));
}

/// The subject of a message of a reader that the NATS server has refused, because millrace lacks
/// the right to publish it: a request for messages, or an acknowledgement. Neither gets an answer.
class RefusedSubject {
 public:
  /// `part`: what all subjects of the reader have.
  RefusedSubject(Connection& connection, std::string part)
      : connection_(connection),
        part_(std::move(part)),
        watch_(connection.watch_refusals([this](const std::string& subject) { note(subject); })) {}
  ~RefusedSubject() { connection_.unwatch(watch_); }
  RefusedSubject(const RefusedSubject&) = delete;
  RefusedSubject& operator=(const RefusedSubject&) = delete;

  /// Error `source.not_permitted`: a message was refused.
  Status check() const {
    const std::lock_guard lock(mutex_);
    if (subject_.empty()) return {};
    return tl::unexpected(no_right_to(subject_));
  }

 private:
  void note(const std::string& subject) {
    if (subject.find(part_) == std::string::npos) return;
    const std::lock_guard lock(mutex_);
    subject_ = subject;
  }

  Connection& connection_;
  const std::string part_;
  mutable std::mutex mutex_;
  std::string subject_;   ///< guarded by mutex_
  const uint64_t watch_;  ///< the last member: the watcher uses those above
};

class JetStreamOriginReader final : public OriginReader {
 public:
  JetStreamOriginReader(Connection& connection, OriginWish wish)
      : connection_(connection),
        wish_(std::move(wish)),
        refused_(connection, fmt::format(".{}.{}", wish_.stream, wish_.consumer)),
        pull_(origin_pull(wish_.batch)),
        position_(wish_.after) {}

  Status open() {
    consumer_ =
        TRY(PullConsumer::open_source(connection_,
                                      {.stream = wish_.stream,
                                       .subjects = wish_.subjects,
                                       .name = wish_.consumer,
                                       .unacknowledged = wish_.consumes ? kMostUnacknowledged : 0,
                                       .stays = wish_.stays},
                                      wish_.after + 1, pull_));
    heard_ = steady_clock::now();
    return {};
  }

  Result<std::vector<OriginMessage>> read(size_t most, Duration at_most) override;
  void acknowledge(const std::vector<std::string>& replies) override;
  std::optional<uint64_t> pending() override;

 private:
  Result<bool> next_read(Duration at_most, OriginMessage& message);
  Result<bool> next(Duration at_most, OriginMessage& message);
  Result<bool> take(NatsMsgHandle handle, const DeliveryNumbers& numbers, OriginMessage& message);
  Result<std::optional<StoredMessage>> fetch_next();
  tl::unexpected<Error> ended() const {
    return fail("source.interrupted", fmt::format("reading stream {} was interrupted: {}",
                                                  wish_.stream, consumer_->why()));
  }

  Connection& connection_;
  const OriginWish wish_;
  const RefusedSubject refused_;
  const PullSettings pull_;
  std::unique_ptr<PullConsumer> consumer_;
  uint64_t position_;                ///< the sequence that came last
  std::deque<OriginMessage> early_;  ///< came, and were not read yet; wish_.batch at most
  std::optional<uint64_t> behind_;   ///< how many messages followed the one that came last
  steady_clock::time_point heard_;   ///< when the broker last sent something
  SpentMessages spent_;
};

Result<std::vector<OriginMessage>> JetStreamOriginReader::read(size_t most, Duration at_most) {
  TRY(refused_.check());
  std::vector<OriginMessage> messages;
  size_t bytes = 0;
  const auto until = steady_clock::now() + at_most;
  while (messages.size() < most && bytes < kMostReadBytes) {
    const auto left = std::chrono::ceil<Duration>(until - steady_clock::now());
    const Duration wait = messages.empty() ? std::max(left, Duration(0)) : Duration(0);
    OriginMessage message;
    const Result<bool> got = next_read(wait, message);
    // What came before the end of the consumer is still good; the next call has the error again.
    if (!got && messages.empty()) return tl::unexpected(got.error());
    if (!got) break;
    if (*got) {
      bytes += message.message.data.size();
      messages.push_back(std::move(message));
    } else if (!messages.empty() || steady_clock::now() >= until) {
      break;
    }
  }
  if (messages.empty()) TRY(refused_.check());
  if (messages.empty() && at_most > Duration(0)) behind_ = 0;
  return messages;
}

/// The next message that came early, or that of next().
Result<bool> JetStreamOriginReader::next_read(Duration at_most, OriginMessage& message) {
  if (early_.empty()) return next(at_most, message);
  message = std::move(early_.front());
  early_.pop_front();
  return true;
}

std::optional<uint64_t> JetStreamOriginReader::pending() {
  // Each message has the number of those that followed when it came, so the newest one is best.
  while (early_.size() < wish_.batch) {
    OriginMessage message;
    const Result<bool> got = next(Duration(0), message);
    if (!got || !*got) break;  // read() returns the error again
    early_.push_back(std::move(message));
  }
  if (!behind_) return std::nullopt;
  const size_t waiting = early_.size() < wish_.batch ? 0 : consumer_->waiting();
  return early_.size() + std::max<uint64_t>(*behind_, waiting);
}

void JetStreamOriginReader::acknowledge(const std::vector<std::string>& replies) {
  const auto handle = connection_.handle();
  for (const std::string& reply : replies) {
    // If it is lost, the message is delivered again, and the store knows that it is applied.
    std::ignore = natsConnection_PublishString(handle.get(), reply.c_str(), "+ACK");
  }
}

/// Returns whether there is a message. Errors: the consumer has ended.
Result<bool> JetStreamOriginReader::next(Duration at_most, OriginMessage& message) {
  using Got = PullConsumer::Got;
  NatsMsgHandle handle;
  DeliveryNumbers numbers;
  const Got got = consumer_->next_within(at_most, handle, numbers);
  if (got != Got::kNothing) heard_ = steady_clock::now();
  switch (got) {
    case Got::kMessage:
      return take(std::move(handle), numbers, message);
    case Got::kNothing:
      if (at_most > Duration(0) && steady_clock::now() - heard_ > pull_.heartbeat * 5 / 2) {
        return fail("source.interrupted",
                    fmt::format("reading stream {} was interrupted: no message or heartbeat came "
                                "from the broker",
                                wish_.stream));
      }
      return false;
    case Got::kIdle:
    case Got::kBusy:
      return false;
    case Got::kDestroyed: {
      // nats.c has freed the next message, or a status of the broker.
      std::optional<StoredMessage> stored = TRY(fetch_next());
      if (!stored) {
        consumer_->end();
        return ended();
      }
      consumer_->skip();
      position_ = stored->sequence;
      message = origin_message(*std::move(stored));
      return true;
    }
    case Got::kGap:
    case Got::kBroken:
      break;
  }
  return ended();
}

Result<bool> JetStreamOriginReader::take(NatsMsgHandle handle, const DeliveryNumbers& numbers,
                                         OriginMessage& message) {
  message = {
      .sequence = numbers.stream_sequence, .stamped = broker_time(numbers.stamped), .message = {}};
  behind_ = numbers.pending;
  const char* const reply = wish_.consumes ? natsMsg_GetReply(handle.get()) : nullptr;
  if (reply != nullptr) message.reply = reply;
  // nats.c loses bytes of some headers; then the message is fetched as the broker stored it.
  if (!read_message(handle.get(), message.message)) {
    Result<StoredMessage> stored =
        fetch_stored(connection_, wish_.stream, {{"seq", message.sequence}});
    if (!stored && stored.error().code != "broker.not_found") {
      return tl::unexpected(std::move(stored).error());  // what was read may be another message
    }
    if (stored) message.message = std::move(stored->message);
  }
  position_ = message.sequence;
  spent_.add(std::move(handle));
  return true;
}

/// The first message behind position_ that the filters select; nullopt: there is none.
Result<std::optional<StoredMessage>> JetStreamOriginReader::fetch_next() {
  std::optional<StoredMessage> found;
  const std::vector<std::string> filters =
      wish_.subjects.empty() ? std::vector<std::string>{">"} : wish_.subjects;
  for (const std::string& filter : filters) {
    Result<StoredMessage> stored =
        fetch_stored(connection_, wish_.stream, {{"seq", position_ + 1}, {"next_by_subj", filter}});
    if (!stored && stored.error().code != "broker.not_found") {
      return tl::unexpected(std::move(stored).error());
    }
    if (stored && (!found || stored->sequence < found->sequence)) found = *std::move(stored);
  }
  return found;
}

}  // namespace

Result<OriginState> read_origin_state(const Json& answer) {
  const Json& state = field(answer, "state");
  OriginState read;
  read.created = static_cast<uint64_t>(TRY(parse_nanoseconds(text_field(answer, "created"))));
  read.last = count_field(state, "last_seq");
  read.first =
      count_field(state, "messages") == 0 ? read.last + 1 : count_field(state, "first_seq");
  const std::string retention = text_field(field(answer, "config"), "retention");
  read.is_work_queue = retention == "workqueue";
  read.keeps_messages = retention != "workqueue" && retention != "interest";
  return read;
}

std::string own_stream_behind(std::string_view prefix, const Json& answer) {
  const Json& config = field(answer, "config");
  std::vector<Json> copied = {field(config, "mirror")};
  const Json& sources = field(config, "sources");
  if (sources.is_array()) copied.insert(copied.end(), sources.begin(), sources.end());
  for (const Json& one : copied) {
    // What is external is a stream of another account or domain.
    const std::string name = text_field(one, "name");
    if (is_own_stream(prefix, name) && !one.contains("external")) return name;
  }
  return "";
}

bool is_own_stream(std::string_view prefix, std::string_view stream) {
  return stream.starts_with(stream_name(prefix, ""));
}

Result<OriginState> JetStreamOrigins::find(const std::string& stream) {
  if (is_own_stream(options_.prefix, stream)) {
    return fail("source.own_stream",
                fmt::format("stream \"{}\" has a name of millrace's own streams; its events need "
                            "no source",
                            stream));
  }
  const Result<Json> answer = connection_.api("STREAM.INFO." + stream, Json::object());
  if (!answer) return tl::unexpected(of_stream(connection_, stream, answer.error()));
  if (const std::string own = own_stream_behind(options_.prefix, *answer); !own.empty()) {
    return fail("source.own_stream",
                fmt::format("stream \"{}\" copies millrace's own stream {}: a source would publish "
                            "each of its events again and again",
                            stream, own));
  }
  return read_origin_state(*answer);
}

Result<std::optional<OriginMessage>> JetStreamOrigins::message_at(const std::string& stream,
                                                                  uint64_t sequence) {
  Result<StoredMessage> stored = fetch_stored(connection_, stream, {{"seq", sequence}});
  if (stored) return std::optional(origin_message(*std::move(stored)));
  if (stored.error().code == "broker.not_found") return std::optional<OriginMessage>();
  return tl::unexpected(with_cause(connection_, stored.error()));
}

Result<uint64_t> JetStreamOrigins::sequence_before(const std::string& stream, TimePoint time) {
  const PullSettings pull = origin_pull(1);
  StreamInfo whole;
  whole.subjects = {">"};
  const auto consumer =
      PullConsumer::open_range(connection_, {.name = stream, .subjects = ">"}, whole,
                               {.sequence = 1, .since = time, .loss = {}}, true, pull);
  if (!consumer) return tl::unexpected(of_stream(connection_, stream, consumer.error()));
  return (*consumer)->start().sequence;
}

Result<std::unique_ptr<OriginReader>> JetStreamOrigins::open(const OriginWish& wish) {
  auto reader = std::make_unique<JetStreamOriginReader>(connection_, wish);
  const Status opened = reader->open();
  if (!opened) return tl::unexpected(of_stream(connection_, wish.stream, opened.error()));
  return std::unique_ptr<OriginReader>(std::move(reader));
}

Status JetStreamOrigins::release_consumer(const std::string& stream, const std::string& consumer) {
  for (const std::string& name : kept_consumer_names(consumer)) {
    TRY(delete_consumer(connection_, stream, name));
  }
  return {};
}

std::string JetStreamOrigins::source_stream_name(std::string_view ns,
                                                 std::string_view source) const {
  return millrace::source_stream_name(options_.prefix, ns, source);
}

Result<OriginState> JetStreamOrigins::find_source_stream(std::string_view ns,
                                                         std::string_view source) {
  const auto found = millrace::find_source_stream(connection_, options_.prefix, ns, source);
  if (!found && found.error().code == "broker.not_found") {
    return fail("source.no_stream",
                fmt::format("millrace has not made the stream {} yet; it does so when the source "
                            "is applied",
                            source_stream_name(ns, source)));
  }
  if (!found) return tl::unexpected(with_cause(connection_, found.error()));
  return read_origin_state(*found);
}

Result<OriginState> JetStreamOrigins::ensure_source_stream(const SourceStream& wanted) {
  TRY(check_source_stream(options_, inbox_prefix_, wanted));
  const auto made = millrace::ensure_source_stream(connection_, options_, wanted);
  if (!made) return tl::unexpected(with_cause(connection_, made.error()));
  return read_origin_state(*made);
}

Status JetStreamOrigins::remove_source_stream(std::string_view ns, std::string_view source) {
  const Status removed = millrace::remove_source_stream(connection_, options_.prefix, ns, source);
  if (!removed) return tl::unexpected(with_cause(connection_, removed.error()));
  return {};
}

}  // namespace millrace
