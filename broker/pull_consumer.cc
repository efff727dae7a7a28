#include "broker/pull_consumer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "broker/json_fields.h"
#include "broker/kept_consumers.h"
#include "broker/nats_status.h"
#include "broker/pull_status.h"
#include "broker/stored_message.h"

namespace millrace {
namespace {

/// The size limit of one request, in bytes. All open requests together stay below the 64 MiB that a
/// NATS server buffers for a client before it disconnects the client. The limit is never less than
/// two of the largest messages, because otherwise such a message could never be delivered.
constexpr size_t kRequestBytes = size_t{8} << 20;

/// How many heartbeats and ends of requests may arrive in addition to the requested messages.
constexpr size_t kMostStatuses = 1'024;

/// JetStream's codes if a work queue has a consumer whose subjects overlap those of the new one.
constexpr int64_t kSeveralConsumersOfQueue = 10099;
constexpr int64_t kSubjectsOfQueueTaken = 10100;

/// The settings of the consumer of a work queue. nats-server accepts only one that begins with the
/// oldest message.
Json config_of_queue(std::string_view name, size_t unacknowledged) {
  return {{"durable_name", name},
          {"deliver_policy", "all"},
          {"ack_policy", "explicit"},
          // Long: no redelivery is needed while this consumer exists.
          {"ack_wait", nanoseconds(std::chrono::days(1))},
          {"max_ack_pending", unacknowledged},
          {"max_waiting", 64},
          {"replay_policy", "instant"}};
}

StreamState state_of(const StreamInfo& stream) {
  return {stream.created, stream.first_sequence, stream.last_sequence};
}

}  // namespace

Result<std::unique_ptr<PullConsumer>> PullConsumer::open(Connection& connection,
                                                         const StreamSettings& wanted,
                                                         const StreamInfo& stream,
                                                         const Cursor& cursor,
                                                         const PullSettings& settings) {
  std::unique_ptr<PullConsumer> consumer(new PullConsumer(connection, settings));
  consumer->inbox_ = connection.make_inbox();
  consumer->messages_ = TRY(poll_inbox(connection, consumer->inbox_));
  TRY(consumer->make(wanted, stream, cursor));
  return consumer;
}

Result<std::unique_ptr<PullConsumer>> PullConsumer::open_range(
    Connection& connection, const StreamSettings& wanted, const StreamInfo& stream,
    const ResumePoint& from, bool headers_only, const PullSettings& settings) {
  std::unique_ptr<PullConsumer> consumer(new PullConsumer(connection, settings));
  consumer->inbox_ = connection.make_inbox();
  consumer->messages_ = TRY(poll_inbox(connection, consumer->inbox_));
  TRY(consumer->create(wanted, stream, from, headers_only));
  return consumer;
}

Result<std::unique_ptr<PullConsumer>> PullConsumer::open_queue(Connection& connection,
                                                               const StreamSettings& queue,
                                                               std::string_view name,
                                                               size_t unacknowledged,
                                                               const PullSettings& settings) {
  std::unique_ptr<PullConsumer> consumer(new PullConsumer(connection, settings));
  consumer->inbox_ = connection.make_inbox();
  consumer->stream_name_ = queue.name;
  consumer->messages_ = TRY(listen_to_inbox(connection, consumer->inbox_,
                                            settings.requests * settings.batch + kMostStatuses));
  TRY(consumer->make_queue(name, unacknowledged));
  return consumer;
}

Result<std::unique_ptr<PullConsumer>> PullConsumer::open_source(Connection& connection,
                                                                const ForeignConsumer& wanted,
                                                                uint64_t first,
                                                                const PullSettings& settings) {
  std::unique_ptr<PullConsumer> consumer(new PullConsumer(connection, settings));
  consumer->inbox_ = connection.make_inbox();
  consumer->stream_name_ = wanted.stream;
  consumer->messages_ = TRY(poll_inbox(connection, consumer->inbox_));
  TRY(consumer->make_source(wanted, first));
  return consumer;
}

PullConsumer::PullConsumer(Connection& connection, const PullSettings& settings)
    : connection_(connection),
      settings_(settings),
      handle_(connection.handle()),
      window_(settings.requests, settings.batch),
      request_bytes_(std::max(kRequestBytes, 2 * connection.max_payload())) {}

PullConsumer::~PullConsumer() {
  messages_.reset();
  if (name_.empty() || stays_) return;
  // If this request is lost, the consumer is removed after its inactive threshold.
  std::ignore = natsConnection_Publish(
      handle_.get(),
      connection_.api_subject(fmt::format("CONSUMER.DELETE.{}.{}", stream_name_, name_)).c_str(),
      nullptr, 0);
}

void PullConsumer::note_name(std::string name) {
  name_ = std::move(name);
  next_subject_ =
      connection_.api_subject(fmt::format("CONSUMER.MSG.NEXT.{}.{}", stream_name_, name_));
}

/// The time at which the broker stored its present message with that sequence; nullopt: there is no
/// such message, because a client deleted it.
Result<std::optional<TimePoint>> PullConsumer::stamp_of(uint64_t sequence) {
  if (sequence == 0) return std::nullopt;
  const Result<StoredMessage> stored = fetch_stored(connection_, stream_name_, {{"seq", sequence}});
  if (stored) return broker_time(stored->stamped);
  if (stored.error().code == "broker.not_found") return std::nullopt;
  return tl::unexpected(stored.error());
}

/// Chooses the message to continue with.
Result<ResumePoint> PullConsumer::choose_start(const StreamInfo& stream, const Cursor& cursor) {
  const StreamState state = state_of(stream);
  std::optional<TimePoint> stamped;
  if (must_ask_for_stamp(cursor, state)) stamped = TRY(stamp_of(cursor.sequence));
  return resume_point(cursor, state, stamped);
}

/// The settings of a consumer that begins with the message of that sequence. No acknowledgements:
/// the position in the store replaces them, and they would cost the broker work.
Json PullConsumer::config_of(uint64_t first) const {
  return {{"ack_policy", "none"},
          {"max_ack_pending", -1},
          {"max_waiting", 64},
          {"replay_policy", "instant"},
          {"inactive_threshold", nanoseconds(settings_.inactive_threshold)},
          {"mem_storage", true},
          {"num_replicas", 1},
          {"deliver_policy", "by_start_sequence"},
          {"opt_start_seq", first}};
}

/// Creates the consumer at the broker, and sets the sequence of start_.
Status PullConsumer::create(const StreamSettings& wanted, const StreamInfo& stream,
                            const ResumePoint& from, bool headers_only) {
  stream_name_ = wanted.name;
  Json config = config_of(from.sequence);
  if (headers_only) config["headers_only"] = true;
  if (from.since) {
    config.erase("opt_start_seq");
    config["deliver_policy"] = "by_start_time";
    config["opt_start_time"] = format_rfc3339(*from.since);
  }
  // With a filter the broker checks each subject, so the filter is left out if the stream has no
  // other subjects.
  if (stream.subjects != std::vector<std::string>{wanted.subjects}) {
    config["filter_subject"] = wanted.subjects;
    filtered_ = true;
  }
  const Json made = TRY(connection_.api("CONSUMER.CREATE." + stream_name_,
                                        {{"stream_name", stream_name_}, {"config", config}}));
  note_name(text_field(made, "name"));
  if (name_.empty())
    return fail("broker.protocol", "the broker returned a consumer without a name");
  start_.sequence =
      from.since ? count_field(field(made, "delivered"), "stream_seq") : from.sequence - 1;
  started_at_the_end_ = count_field(made, "num_pending") == 0;
  return {};
}

Status PullConsumer::make(const StreamSettings& wanted, const StreamInfo& stream,
                          const Cursor& cursor) {
  stream_name_ = wanted.name;
  const ResumePoint point = TRY(choose_start(stream, cursor));
  TRY(create(wanted, stream, point, false));
  const uint64_t before = start_.sequence;
  start_ = position_at(point, cursor, state_of(stream));
  loss_ = point.loss;
  if (point.since) {
    start_.sequence = before;
    // With the time of the message that is now at this sequence, the position becomes an ordinary
    // cursor, and the loss is reported only once.
    const std::optional<TimePoint> stamped = TRY(stamp_of(start_.sequence));
    start_.stamped = stamped.value_or(*point.since);
  }
  if (loss_ && loss_->kind == BrokerLoss::Kind::kTail) loss_->first = start_.sequence + 1;

  // Between the two requests the stream may have been deleted and created again. Then the consumer
  // starts at some position of a different stream.
  stream_ = TRY(find_stream(connection_, wanted));
  if (stream_.created != stream.created) {
    return fail("broker.stream",
                fmt::format("stream {} was deleted and created again meanwhile", stream_name_));
  }
  return {};
}

Status PullConsumer::make_queue(std::string_view name, size_t unacknowledged) {
  TRY(delete_consumer(connection_, stream_name_, name));
  const Json made = TRY(connection_.api(
      fmt::format("CONSUMER.DURABLE.CREATE.{}.{}", stream_name_, name),
      {{"stream_name", stream_name_}, {"config", config_of_queue(name, unacknowledged)}}));
  note_name(text_field(made, "name"));
  if (name_.empty())
    return fail("broker.protocol", "the broker returned a consumer without a name");
  started_at_the_end_ = count_field(made, "num_pending") == 0;
  return {};
}

/// Asks for a consumer of a stream that is not millrace's.
Result<Json> PullConsumer::ask_for_source(const Json& config) {
  ApiAnswer answer = TRY(connection_.ask_api(
      fmt::format("CONSUMER.CREATE.{}.{}", stream_name_, text_field(config, "name")),
      {{"stream_name", stream_name_}, {"config", config}}));
  if (answer.reason == kSeveralConsumersOfQueue || answer.reason == kSubjectsOfQueueTaken) {
    return fail("source.other_consumer",
                fmt::format("the work queue {} gives each message to one consumer, and another "
                            "consumer takes messages of the source; delete that consumer, or name "
                            "subjects that it does not take",
                            stream_name_));
  }
  TRY(std::move(answer.accepted));
  return std::move(answer.body);
}

/// Creates the consumer of a stream that is not millrace's. `config`: without a name and filters.
Status PullConsumer::create_source(const std::vector<std::string>& subjects,
                                   const std::string& name, Json config) {
  config["name"] = name;
  if (subjects.size() == 1) config["filter_subject"] = subjects.front();
  if (subjects.size() > 1) config["filter_subjects"] = subjects;
  const Json made = TRY(ask_for_source(config));
  note_name(text_field(made, "name"));
  if (name_.empty())
    return fail("broker.protocol", "the broker returned a consumer without a name");
  // A NATS server before 2.10 ignores several filters, and would deliver all messages.
  const Json& found = field(made, "config");
  if (subjects.size() > 1 && field(found, "filter_subjects") != config["filter_subjects"]) {
    return fail("source.filters",
                fmt::format("the NATS server cannot read {} subjects of stream {} with one "
                            "consumer; use nats-server 2.10 or newer, or a source for each subject",
                            subjects.size(), stream_name_));
  }
  started_at_the_end_ = count_field(made, "num_pending") == 0;
  return {};
}

Status PullConsumer::make_source(const ForeignConsumer& wanted, uint64_t first) {
  start_.sequence = first - 1;
  if (wanted.stays) return make_kept(wanted, first);
  TRY(delete_consumer(connection_, stream_name_, wanted.name));
  Json config;
  if (wanted.unacknowledged > 0) {
    config = config_of_queue(wanted.name, wanted.unacknowledged);
    config["inactive_threshold"] = nanoseconds(settings_.inactive_threshold);
  } else {
    config = config_of(first);
  }
  return create_source(wanted.subjects, wanted.name, std::move(config));
}

/// Creates a consumer that stays at the broker, and deletes the one of before only then, so that
/// the stream has no moment without it.
Status PullConsumer::make_kept(const ForeignConsumer& wanted, uint64_t first) {
  const std::array names = kept_consumer_names(wanted.name);
  const FoundConsumers found = TRY(find_kept_consumers(connection_, stream_name_, names));
  const size_t mine = spare_consumer(found, wanted.subjects);
  if (found[mine]) TRY(delete_consumer(connection_, stream_name_, names[mine]));
  Json config = config_of_queue(names[mine], wanted.unacknowledged);
  config["deliver_policy"] = "by_start_sequence";
  config["opt_start_seq"] = first;
  TRY(create_source(wanted.subjects, names[mine], std::move(config)));
  stays_ = true;  // from here on the other one may be gone
  if (found[1 - mine]) TRY(delete_consumer(connection_, stream_name_, names[1 - mine]));
  return {};
}

PullConsumer::Got PullConsumer::next(bool wait, NatsMsgHandle& message, DeliveryNumbers& numbers) {
  if (!wait) return next_within(Duration(0), message, numbers);
  // Two and a half heartbeats, so that one late heartbeat does not count as a failure.
  const Duration patience = settings_.heartbeat * 5 / 2;
  const Got got = next_within(patience, message, numbers);
  if (got != Got::kNothing) return got;
  return broken(
      fmt::format("no message or heartbeat came from the broker for {} ms", patience.count()),
      false);
}

PullConsumer::Got PullConsumer::next_within(Duration at_most, NatsMsgHandle& message,
                                            DeliveryNumbers& numbers) {
  if (!send_requests()) return broken("the connection to NATS was lost", true);
  switch (messages_->take(at_most, message)) {
    case PullInbox::Took::kMessage:
      break;
    case PullInbox::Took::kNothing:
      return Got::kNothing;
    case PullInbox::Took::kDestroyed:
      return Got::kDestroyed;
    case PullInbox::Took::kTooMany:
      return broken("the broker sent more messages than requested", false);
    case PullInbox::Took::kInterrupted:
      return broken("the connection to NATS was lost", true);
  }

  if (natsMsg_GetSubject(message.get()) == inbox_) return note_status(message.get());
  const char* const reply = natsMsg_GetReply(message.get());
  const std::optional<DeliveryNumbers> read = parse_ack_subject(reply == nullptr ? "" : reply);
  if (!read || read->consumer_sequence != last_ + 1) {
    why_ = fmt::format("message {} of the consumer did not arrive", last_ + 1);
    return Got::kGap;
  }
  numbers = *read;
  last_ = numbers.consumer_sequence;
  window_.count();
  return Got::kMessage;
}

void PullConsumer::skip() {
  ++last_;
  window_.count();
}

PullConsumer::Got PullConsumer::end() { return broken("the broker sent status 503", true); }

/// Handles a message that the broker itself sent. A stored message never gets here, whatever status
/// header it has, because it comes under its own subject.
PullConsumer::Got PullConsumer::note_status(natsMsg* message) {
  const auto header = [&](const char* name) -> std::string_view {
    const char* value = nullptr;
    return natsMsgHeader_Get(message, name, &value) == NATS_OK ? value : "";
  };
  const std::string_view code = header("Status");
  const std::string_view description = header("Description");
  switch (classify_pull_status(code, description)) {
    case PullStatus::kAlive: {
      const std::string_view text = header("Nats-Last-Consumer");
      if (text.empty()) return Got::kBusy;
      uint64_t sent = last_;
      std::from_chars(text.data(), text.data() + text.size(), sent);
      if (sent == last_) return Got::kIdle;
      // The newest messages may get lost too, and no later message would show that gap.
      why_ =
          fmt::format("the broker sent {} messages of the consumer, but {} arrived", sent, last_);
      return Got::kGap;
    }
    case PullStatus::kRequestEnded:
      window_.ended(messages_left(description, header("Nats-Pending-Messages"), window_.batch()));
      return Got::kBusy;
    case PullStatus::kConsumerLost:
    case PullStatus::kRefused:
      break;
  }
  return broken(fmt::format("the broker sent status {} {}", code, description), true);
}

PullConsumer::Got PullConsumer::broken(std::string why, bool by_server) {
  why_ = std::move(why);
  ended_by_server_ = by_server;
  return Got::kBroken;
}

bool PullConsumer::send_requests() {
  while (window_.take_request()) {
    const std::string body = dump_json({{"batch", window_.batch()},
                                        {"max_bytes", request_bytes_},
                                        {"expires", nanoseconds(settings_.expires)},
                                        {"idle_heartbeat", nanoseconds(settings_.heartbeat)}});
    if (natsConnection_PublishRequest(handle_.get(), next_subject_.c_str(), inbox_.c_str(),
                                      body.data(), static_cast<int>(body.size())) != NATS_OK) {
      return false;
    }
  }
  return true;
}

void PullConsumer::interrupt() { messages_->interrupt(); }

}  // namespace millrace
