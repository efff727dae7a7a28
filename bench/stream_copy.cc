#include "bench/stream_copy.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nats/nats.h>

#include "base/check.h"
#include "bench/harness.h"

namespace millrace {
namespace {

constexpr int64_t kPatience = 30'000;  // milliseconds
/// Bytes of a message of a restore; less than the broker's default max_payload.
constexpr size_t kChunk = size_t{256} << 10;

/// Sends a request and returns the data of its answer.
std::string request(PlainClient& client, const std::string& subject, std::string_view data) {
  natsMsg* answer = nullptr;
  const natsStatus status =
      natsConnection_Request(&answer, client.handle(), subject.c_str(), data.data(),
                             static_cast<int>(data.size()), kPatience);
  CHECK(status == NATS_OK, "request to {}: {}", subject, natsStatus_GetText(status));
  std::string text;
  if (const int size = natsMsg_GetDataLength(answer); size > 0) {
    text.assign(natsMsg_GetData(answer), static_cast<size_t>(size));
  }
  natsMsg_Destroy(answer);
  return text;
}

/// The answer of the JetStream API, with its `error` if it has one. `subject` is the part after
/// `$JS.API.`.
Json api_answer(PlainClient& client, const std::string& subject, const Json& body) {
  const std::string text = request(client, "$JS.API." + subject, dump_json(body));
  Result<Json> answer = parse_json(text);
  CHECK(answer.has_value(), "the answer to {} is not JSON: {}", subject, text);
  return *std::move(answer);
}

Json api(PlainClient& client, const std::string& subject, const Json& body) {
  Json answer = api_answer(client, subject, body);
  CHECK(!answer.contains("error"), "{}: {}", subject, dump_json(answer));
  return answer;
}

/// A subscription on a subject of its own, which one thread reads.
class Inbox {
 public:
  explicit Inbox(PlainClient& client) : client_(client) {
    CHECK(natsInbox_Create(&subject_) == NATS_OK);
    CHECK(natsConnection_SubscribeSync(&subscription_, client.handle(), subject_) == NATS_OK);
    CHECK(natsSubscription_SetPendingLimits(subscription_, -1, -1) == NATS_OK);
    client.flush();
  }
  ~Inbox() {
    natsSubscription_Destroy(subscription_);
    natsInbox_Destroy(subject_);
  }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  std::string subject() const { return subject_; }

  /// Appends the data of the next message to `bytes` and returns its size. A message with a reply
  /// subject is acknowledged, because the broker sends only some MiB without acknowledgements.
  size_t next(std::string& bytes) {
    natsMsg* message = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&message, subscription_, kPatience);
    CHECK(status == NATS_OK, "waiting for a part of a snapshot: {}", natsStatus_GetText(status));
    const auto size = static_cast<size_t>(natsMsg_GetDataLength(message));
    if (size > 0) bytes.append(natsMsg_GetData(message), size);
    if (const char* const reply = natsMsg_GetReply(message); reply != nullptr && size > 0) {
      CHECK(natsConnection_PublishString(client_.handle(), reply, "") == NATS_OK);
    }
    natsMsg_Destroy(message);
    return size;
  }

 private:
  PlainClient& client_;
  natsInbox* subject_ = nullptr;
  natsSubscription* subscription_ = nullptr;
};

}  // namespace

StreamCopy copy_stream(const std::string& url, const std::string& stream) {
  PlainClient client(url);
  Inbox inbox(client);
  const Json answer = api(client, "STREAM.SNAPSHOT." + stream,
                          {{"deliver_subject", inbox.subject()}, {"no_consumers", true}});
  StreamCopy copy{.config = answer.at("config"), .state = answer.at("state"), .bytes = {}};
  while (inbox.next(copy.bytes) > 0) {  // an empty message follows the last part
  }
  CHECK(!copy.bytes.empty(), "the snapshot of {} has no bytes", stream);
  return copy;
}

void restore_stream(const std::string& url, const StreamCopy& copy) {
  PlainClient client(url);
  const auto stream = copy.config.at("name").get<std::string>();
  const Json answer =
      api(client, "STREAM.RESTORE." + stream, {{"config", copy.config}, {"state", copy.state}});
  const auto subject = answer.at("deliver_subject").get<std::string>();
  const std::string_view bytes = copy.bytes;
  for (size_t at = 0; at < bytes.size(); at += kChunk) {
    const std::string refused = request(client, subject, bytes.substr(at, kChunk));
    CHECK(refused.empty(), "the restore of {} failed: {}", stream, refused);
  }
  const std::string end = request(client, subject, "");
  const Result<Json> made = parse_json(end);
  CHECK(made.has_value() && !made->contains("error"), "the restore of {} failed: {}", stream, end);
}

void read_stream(const std::string& url, const std::string& stream, const std::string& subject,
                 uint64_t first, const std::function<void(std::string_view data)>& heard) {
  std::atomic<uint64_t> read = 0;
  PlainClient client(url);
  const std::string inbox = "_bench.read";
  client.subscribe(inbox, [&](std::string_view data) {
    heard(data);
    ++read;
  });
  const Json consumer = api(client, "CONSUMER.CREATE." + stream,
                            {{"stream_name", stream},
                             {"config",
                              {{"deliver_subject", inbox},
                               {"deliver_policy", "by_start_sequence"},
                               {"opt_start_seq", std::max<uint64_t>(first, 1)},
                               {"ack_policy", "none"},
                               {"replay_policy", "instant"},
                               {"filter_subject", subject}}}});
  // The broker may have delivered some of the messages when it writes its answer.
  const uint64_t count = consumer.at("num_pending").get<uint64_t>() +
                         consumer.at("delivered").at("consumer_seq").get<uint64_t>();
  const Stopwatch watch;
  while (read < count) {
    CHECK(watch.seconds() * 1000 < kPatience, "{} of {} messages of {} arrived", read.load(), count,
          stream);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  api(client, fmt::format("CONSUMER.DELETE.{}.{}", stream, consumer.at("name").get<std::string>()),
      Json::object());
}

uint64_t last_sequence(const std::string& url, const std::string& stream) {
  PlainClient client(url);
  const Json answer = api_answer(client, "STREAM.INFO." + stream, Json::object());
  return answer.contains("state") ? answer.at("state").at("last_seq").get<uint64_t>() : 0;
}

}  // namespace millrace
