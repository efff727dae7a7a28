#include "bench/bare_loop.h"

#include <array>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <lmdb.h>
#include <simdjson.h>
#include <unistd.h>

#include "base/check.h"
#include "broker/publisher.h"
#include "broker/pull_consumer.h"
#include "broker/streams.h"
#include "cloudevents/nats_binding.h"

namespace millrace {
namespace {

constexpr const char* kVerb = "--bare-loop";
constexpr size_t kMostInBatch = 1024;

/// Sizes of the engine's rows in bytes (docs/FORMATS.md), without the data of events: the head of
/// an instance, the history records of its start and of its end, and the outbox row of a message
/// without the data of its event.
constexpr size_t kHeadBytes = 80;
constexpr size_t kStartedBytes = 140;
constexpr size_t kEndedBytes = 220;
constexpr size_t kFrameBytes = 120;

/// The approximate size of an event's data, computed from the size of the event.
constexpr size_t data_bytes(size_t event) { return event * 3 / 4; }

void must(int failed) { CHECK(failed == 0, "{}", mdb_strerror(failed)); }

class Loop {
 public:
  Loop(const std::string& folder, const std::string& url) {
    must(mdb_env_create(&environment_));
    must(mdb_env_set_mapsize(environment_, size_t{64} << 30));
    must(mdb_env_set_maxdbs(environment_, 4));
    std::filesystem::create_directories(folder);
    must(mdb_env_open(environment_, folder.c_str(), MDB_NOTLS, 0600));
    begin();
    must(mdb_dbi_open(txn_, "live", MDB_CREATE, &live_));
    must(mdb_dbi_open(txn_, "ended", MDB_CREATE, &ended_));
    must(mdb_dbi_open(txn_, "history", MDB_CREATE, &history_));
    must(mdb_dbi_open(txn_, "outbox", MDB_CREATE, &outbox_));
    must(mdb_txn_commit(txn_));
    reading_ = open(url, true);
    publishing_ = open(url, false);
    publisher_.emplace(*publishing_);
  }

  [[noreturn]] void run() {
    const StreamSettings wanted = events_stream();
    const auto stream = ensure_stream(*reading_, wanted);
    CHECK(stream.has_value(), "{}", stream.error().message);
    const PullSettings settings;
    const auto consumer = PullConsumer::open(*reading_, wanted, *stream, {}, settings);
    CHECK(consumer.has_value(), "{}", consumer.error().message);
    CHECK(write(STDOUT_FILENO, "!", 1) == 1);
    std::vector<NatsMsgHandle> batch;
    while (true) {
      NatsMsgHandle message;
      DeliveryNumbers numbers;
      const auto got = (*consumer)->next(batch.empty(), message, numbers);
      if (got == PullConsumer::Got::kMessage) batch.push_back(std::move(message));
      if (got == PullConsumer::Got::kMessage && batch.size() < kMostInBatch) continue;
      if (batch.empty()) continue;
      apply(batch);
      batch.clear();
    }
  }

 private:
  struct Message {
    std::string row;
    uint64_t number = 0;
    std::string key;
  };

  static std::unique_ptr<Connection> open(const std::string& url, bool send_at_once) {
    auto made = Connection::open({.servers = {url}, .send_at_once = send_at_once});
    CHECK(made.has_value() && (*made)->wait_until_connected(Duration(5000)));
    return *std::move(made);
  }

  void begin() { must(mdb_txn_begin(environment_, nullptr, 0, &txn_)); }

  static std::array<char, 9> row_key(uint64_t number, uint8_t part) {
    std::array<char, 9> key{};
    for (size_t i = 0; i < 8; ++i) key[i] = static_cast<char>(number >> (56 - 8 * i));
    key[8] = static_cast<char>(part);
    return key;
  }
  void put(MDB_dbi table, uint64_t number, uint8_t part, std::string_view value) {
    auto key = row_key(number, part);
    MDB_val k{key.size(), key.data()};
    MDB_val v{value.size(), const_cast<char*>(value.data())};
    must(mdb_put(txn_, table, &k, &v, 0));
  }
  void erase(MDB_dbi table, uint64_t number, uint8_t part) {
    auto key = row_key(number, part);
    MDB_val k{key.size(), key.data()};
    must(mdb_del(txn_, table, &k, nullptr));
  }

  void apply(const std::vector<NatsMsgHandle>& batch) {
    begin();
    std::vector<uint64_t> acknowledged;
    {
      const std::lock_guard guard(lock_);
      acknowledged.swap(acknowledged_);
    }
    for (const uint64_t number : acknowledged) erase(outbox_, number, 0);
    std::vector<Message> messages;
    for (const NatsMsgHandle& one : batch) take(one.get(), messages);
    must(mdb_txn_commit(txn_));
    for (Message& message : messages) publish(std::move(message));
  }

  void take(natsMsg* message, std::vector<Message>& messages) {
    const auto size = static_cast<size_t>(natsMsg_GetDataLength(message));
    text_.resize(size + simdjson::SIMDJSON_PADDING);
    std::copy_n(natsMsg_GetData(message), size, text_.begin());
    auto document = parser_.iterate(text_.data(), size, text_.size());
    std::string_view type;
    std::string_view key;
    for (auto field : document.get_object()) {
      const std::string_view name = field.unescaped_key();
      if (name == "type") type = field.value();
      if (name == "key") key = field.value();
      if (!type.empty() && !key.empty()) break;
    }
    const std::string_view data(text_.data(), size);
    if (type == "life.start") {
      const uint64_t number = ++last_;
      waiting_.emplace(key, number);
      put(live_, number, 0, std::string(kHeadBytes, 'h'));
      put(live_, number, 1, data.substr(0, data_bytes(size)));
      put(history_, ++histories_, 0, std::string(kStartedBytes, 'd'));
    } else if (type == "life.go") {
      const auto found = waiting_.find(std::string(key));
      if (found == waiting_.end()) return;
      const uint64_t number = found->second;
      waiting_.erase(found);
      erase(live_, number, 0);
      erase(live_, number, 1);
      put(ended_, number, 0, std::string(kHeadBytes, 'h'));
      put(ended_, number, 1, std::string(data_bytes(size), 'i'));
      put(history_, ++histories_, 0, std::string(kEndedBytes + 2 * data_bytes(size), 'd'));
      Message done{.row = fmt::format(R"({{"specversion":"1.0","id":"{}","source":"bench",)"
                                      R"("type":"life.done","data":"{}"}})",
                                      number, key),
                   .number = number};
      put(outbox_, number, 0, std::string(kFrameBytes, 'f') + done.row);
      messages.push_back(std::move(done));
    }
  }

  void publish(Message message) {
    NatsMessage sent{.subject = "millrace.events.default.life.done",
                     .headers = {{"content-type", "application/cloudevents+json"},
                                 {"Nats-Msg-Id", fmt::format("bare-{}", message.number)}},
                     .data = std::move(message.row)};
    publisher_->publish(std::move(sent), [this, number = message.number](const auto& ack) {
      CHECK(ack.has_value(), "{}", ack.error().message);
      const std::lock_guard guard(lock_);
      acknowledged_.push_back(number);
    });
  }

  MDB_env* environment_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_dbi live_ = 0;
  MDB_dbi ended_ = 0;
  MDB_dbi history_ = 0;
  MDB_dbi outbox_ = 0;
  std::unique_ptr<Connection> reading_;
  std::unique_ptr<Connection> publishing_;
  std::optional<JetStreamPublisher> publisher_;
  simdjson::ondemand::parser parser_;
  std::string text_;
  std::unordered_map<std::string, uint64_t> waiting_;
  uint64_t last_ = 0;
  uint64_t histories_ = 0;
  std::mutex lock_;  // guards acknowledged_
  std::vector<uint64_t> acknowledged_;
};

}  // namespace

BareLoop::BareLoop(const std::filesystem::path& folder, const std::string& nats_url) {
  std::array<int, 2> ready;
  CHECK(pipe(ready.data()) == 0);
  Result<LaunchedProcess> process =
      launch({.command = {"/proc/self/exe", kVerb, folder, nats_url}, .output = ready[1]});
  CHECK(process.has_value(), "{}", process.error().message);
  process_ = *std::move(process);
  close(ready[1]);
  char byte = 0;
  CHECK(read(ready[0], &byte, 1) == 1, "the bare loop did not start");
  close(ready[0]);
}

BareLoop::~BareLoop() { kill_process(process_); }

void run_if_bare_loop(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == kVerb) Loop(argv[2], argv[3]).run();
}

}  // namespace millrace
