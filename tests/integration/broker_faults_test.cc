// Faults of the broker under load: it stops, is killed, hangs, loses data or loses the connection.
// millrace neither loses nor repeats an event that the broker still has, reports what the broker
// lost, and needs no restart. Environment variables: MILLRACE_FAULTS=50 sets the number of faults,
// MILLRACE_OUTAGE the longest outage in milliseconds, MILLRACE_FAULT=3 selects one kind of fault,
// MILLRACE_SEED=n repeats the random choices of a run.
#include <csignal>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "broker/pull_window.h"
#include "tests/integration/environment_number.h"
#include "tests/support/folder.h"
#include "tests/support/millrace_server.h"
#include "tests/support/tcp_proxy.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// Each event `job.start` starts an instance. The instance waits for the event `job.go` with the
/// key of `job.start`, and then generates the event `job.done`.
constexpr const char* kJob = R"(
id: job
start:
  type: event
  event:
    type: job.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: job.go
      context:
        key: jq(.["job.start"].key)
    timeout: P1D
    transition: tell
  - id: tell
    type: generateEvent
    event:
      type: job.done
      source: job
      data:
        key: jq(.["job.start"].key)
)";

/// The events that a NATS subscriber has read from the event stream.
class Seen {
 public:
  /// Reads the messages that have come since the last call.
  void read(const NatsServer& nats) {
    const std::unique_ptr<RawNatsClient> client = nats.client();
    const Json state = client->api("STREAM.INFO.MILLRACE_EVENTS").at("state");
    const uint64_t last = state.at("last_seq");
    if (state.at("messages") == 0 || last < next_) return;
    const std::string inbox = fmt::format("_VIEW.{}", ++reads_);  // an old consumer may still exist
    client->subscribe(inbox);
    client->api("CONSUMER.CREATE.MILLRACE_EVENTS", {{"stream_name", "MILLRACE_EVENTS"},
                                                    {"config",
                                                     {{"deliver_subject", inbox},
                                                      {"deliver_policy", "by_start_sequence"},
                                                      {"opt_start_seq", next_},
                                                      {"ack_policy", "none"}}}});
    while (next_ <= last) {
      const std::optional<RawNatsClient::Message> message = client->next();
      ASSERT_TRUE(message) << "message " << next_ << " of " << last << " in the stream";
      add(message->data);
      next_ = parse_ack_subject(message->reply).value().stream_sequence + 1;
    }
  }

  /// The stream was created again or purged: its events are lost.
  void on_stream_lost() {
    lost_.merge(present_);
    on_copy_restored();
  }
  /// An older copy of the stream was restored: events that it lacks must be published again.
  void on_copy_restored() {
    present_.clear();
    next_ = 1;
  }

  const std::set<std::string>& starts() const { return keys_.at("job.start"); }
  const std::set<std::string>& goes() const { return keys_.at("job.go"); }
  const std::map<std::string, std::set<std::string>>& done() const { return done_; }

  /// The number of keys with an event `job.done`, in this stream or in a lost one.
  size_t published() const {
    return lost_.size() + static_cast<size_t>(std::count_if(
                              present_.begin(), present_.end(),
                              [&](const std::string& key) { return !lost_.contains(key); }));
  }

  /// The number of started keys that also have an event `job.go`.
  size_t woken() const {
    return static_cast<size_t>(std::count_if(
        goes().begin(), goes().end(), [&](const auto& key) { return starts().contains(key); }));
  }

 private:
  void add(const std::string& data) {
    const Result<Json> event = parse_json(data);
    if (!event || !event->is_object()) return;
    const std::string type = event->at("type");
    const std::string key = event->at("data").at("key");
    if (type == "job.done") {
      done_[key].insert(event->at("id").get<std::string>());
      present_.insert(key);
    } else {
      keys_[type].insert(key);
    }
  }

  uint64_t next_ = 1;
  size_t reads_ = 0;
  std::map<std::string, std::set<std::string>> keys_ = {{"job.start", {}}, {"job.go", {}}};
  std::map<std::string, std::set<std::string>> done_;  ///< ids by key
  std::set<std::string> present_;  ///< keys with an event `job.done` in this stream
  std::set<std::string> lost_;     ///< keys with an event `job.done` in an earlier, lost stream
};

class BrokerFaults : public testing::Test {
 protected:
  struct Fault {
    const char* name;
    void (BrokerFaults::*strike)();
    const char* loss;  ///< the kind of loss in the metrics; empty: the broker loses nothing
  };
  static const std::vector<Fault>& faults() {
    static const std::vector<Fault> all = {
        {"the broker stops and starts", &BrokerFaults::stop, ""},
        {"the broker is killed and starts", &BrokerFaults::kill, ""},
        {"the broker hangs", &BrokerFaults::hang, ""},
        {"the connection is cut during a delivery", &BrokerFaults::cut, ""},
        {"the connection drops all bytes", &BrokerFaults::swallow, ""},
        {"the connection is dead but stays open", &BrokerFaults::forget, ""},
        {"the event stream is deleted while the broker runs", &BrokerFaults::delete_stream,
         "stream"},
        {"the event stream is deleted while the broker is stopped", &BrokerFaults::remove_stream,
         "stream"},
        {"an older copy of the streams is restored", &BrokerFaults::restore, "tail"},
        {"an older copy is restored while millrace is stopped", &BrokerFaults::restore_unseen,
         "tail"},
        {"the event stream is purged while millrace is down", &BrokerFaults::purge_unseen,
         "dropped"},
        {"the dead-letter queue is deleted", &BrokerFaults::delete_dead_letters, ""},
    };
    return all;
  }

  void SetUp() override {
    fmt::print("MILLRACE_SEED={}\n", seed_);
    millrace_.start_ready();
    millrace_.apply(kJob);
    client_ = nats_.client();
  }

  size_t up_to(size_t most) { return random_() % (most + 1); }

  // Load.

  /// Publishes events `job.start`, and events `job.go` for some keys that wait; some of them twice.
  /// All are in the stream when it returns.
  void publish(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (random_() % 2 == 0 || waiting_.empty()) {
        send("job.start", ++keys_);
        waiting_.push_back(keys_);
      } else {
        const size_t which = random_() % waiting_.size();
        std::swap(waiting_[which], waiting_.back());
        send("job.go", waiting_.back());
        waiting_.pop_back();
      }
    }
    const Json ack = client_->publish_acked("millrace.events.default.marker", "", marker());
    ASSERT_TRUE(ack.contains("seq")) << ack;
  }

  void send(std::string_view type, size_t key) {
    const std::string event = fmt::format(
        R"({{"specversion":"1.0","id":"{0}-{1}","source":"/load","type":"{0}","key":"k{1}",)"
        R"("data":{{"key":"k{1}"}}}})",
        type, key);
    const size_t times = random_() % 16 == 0 ? 2 : 1;
    for (size_t i = 0; i < times; ++i) {
      client_->publish(fmt::format("millrace.events.default.{}", type), event);
    }
  }

  std::string marker() {
    return fmt::format(
        R"({{"specversion":"1.0","id":"{}","source":"/load","type":"marker","data":{{"key":""}}}})",
        ++markers_);
  }

  // Expectations.

  bool ready() const { return millrace_.ask("GET", "/readyz").status == 200; }

  void expect_unready() const {
    EXPECT_TRUE(eventually([this] { return !ready(); })) << "/readyz still answers 200";
    const HttpReply reply = millrace_.ask("GET", "/readyz");
    EXPECT_TRUE(reply.status == 200 || reply.code().starts_with("broker.")) << reply.body;
  }

  void expect_ready() const {
    EXPECT_TRUE(eventually([this] { return ready(); })) << millrace_.ask("GET", "/readyz").body;
  }

  size_t count(const std::string& query) const {
    size_t count = 0;
    std::string cursor;
    do {
      const Json page =
          millrace_.get(fmt::format("instances?limit=1000&{}&cursor={}", query, cursor));
      count += page.at("items").size();
      cursor = page.at("next").is_null() ? "" : page.at("next").get<std::string>();
    } while (!cursor.empty());
    return count;
  }

  /// Each event that is or was in the stream has had its effect once, and the generated events are
  /// in the stream.
  void expect_all_applied() {
    expect_effects();
    const size_t woken = seen_.woken();
    EXPECT_TRUE(eventually([&] {
      seen_.read(nats_);
      return seen_.published() == woken;
    })) << seen_.published()
        << " events job.done instead of " << woken;
    for (const auto& [key, ids] : seen_.done()) EXPECT_EQ(ids.size(), 1U) << key;
  }

  void expect_effects() {
    seen_.read(nats_);
    const size_t started = seen_.starts().size();
    const size_t woken = seen_.woken();
    const auto as_wanted = [&] {
      return count("workflow=job&status=waiting") == started - woken &&
             count("workflow=job&status=running") == 0 && count("workflow=job") == started;
    };
    EXPECT_TRUE(eventually(as_wanted))
        << count("workflow=job&status=waiting") << " instances wait instead of " << started - woken
        << ", " << count("workflow=job") << " were started instead of " << started;
  }

  size_t losses(const std::string& kind) const {
    const std::string name = fmt::format("millrace_broker_losses_total{{kind=\"{}\"}} ", kind);
    const std::string text = millrace_.ask("GET", "/metrics").body;
    const size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + name.size()));
  }

  // Faults. After each of them the broker answers client_ again.

  void hold() { millrace_.process().wait(Duration(up_to(outage_))); }

  void come_back() {
    ASSERT_TRUE(nats_.process().start_again());
    client_ = nats_.client();
  }

  void stop() {
    publish(up_to(300));
    nats_.process().stop();
    expect_unready();
    hold();
    come_back();
  }

  void kill() {
    publish(up_to(300));
    nats_.process().kill();
    expect_unready();
    hold();
    come_back();
  }

  void hang() {
    publish(up_to(300));
    ::kill(nats_.process().pid(), SIGSTOP);
    expect_unready();
    hold();
    ::kill(nats_.process().pid(), SIGCONT);
    client_ = nats_.client();
    publish(up_to(300));
  }

  void cut() {
    const size_t cuts = proxy_.cuts();
    proxy_.cut_after(1 + up_to(20'000));
    EXPECT_TRUE(eventually([&] {
      publish(100);
      return proxy_.cuts() > cuts;
    }));
  }

  void swallow() {
    publish(up_to(300));
    proxy_.swallow();
    publish(up_to(300));
    expect_unready();
    hold();
    proxy_.pass();
  }

  void forget() {
    publish(up_to(300));
    proxy_.forget();
    publish(up_to(300));
    expect_unready();
  }

  void delete_stream() {
    expect_all_applied();
    client_->api("STREAM.DELETE.MILLRACE_EVENTS");
    seen_.on_stream_lost();
    EXPECT_TRUE(eventually([&] { return losses("stream") > losses_before_; }));
  }

  void remove_stream() {
    expect_all_applied();
    nats_.process().stop();
    fs::remove_all(nats_.store_of("MILLRACE_EVENTS"));
    come_back();
    seen_.on_stream_lost();
    EXPECT_TRUE(eventually([&] { return losses("stream") > losses_before_; }));
  }

  /// Copies the streams, then publishes events that the copy does not have. After the copy is
  /// restored, new events get the sequence numbers of events that were applied and lost. Generated
  /// events are then in the outbox, or were acknowledged by the broker and lost as well.
  void take_copy_and_go_on() {
    nats_.process().stop();
    replace_folder(copy_.path() / "store", nats_.store());
    come_back();
    publish(50 + up_to(200));
    expect_ready();
    expect_effects();
  }

  void put_copy_back() {
    nats_.process().stop();
    replace_folder(nats_.store(), copy_.path() / "store");
    come_back();
    seen_.on_copy_restored();
  }

  void restore() {
    take_copy_and_go_on();
    put_copy_back();
    publish(up_to(300));
  }

  void restore_unseen() {
    take_copy_and_go_on();
    millrace_.stop();
    put_copy_back();
    publish(up_to(600));
    millrace_.start_ready();
    losses_before_ = 0;
  }

  void purge_unseen() {
    expect_all_applied();
    const std::vector<size_t> waiting = waiting_;
    millrace_.kill();
    publish(1 + up_to(300));  // millrace never receives these events
    client_->api("STREAM.PURGE.MILLRACE_EVENTS");
    seen_.on_stream_lost();
    waiting_ = waiting;
    publish(1 + up_to(300));
    millrace_.start_ready();
    losses_before_ = 0;
  }

  void delete_dead_letters() {
    client_->api("STREAM.DELETE.MILLRACE_DLQ");
    publish(up_to(300));
    client_->publish("millrace.events.default.bad", "no event");
    client_->flush();
    EXPECT_TRUE(eventually([&] {
      const HttpReply reply = millrace_.ask("GET", "dlq");
      return reply.status == 200 && reply.json().at("items").size() == 1;
    })) << millrace_.ask("GET", "dlq").body;
  }

  const size_t seed_ = number_from("MILLRACE_SEED", std::random_device{}());
  const size_t outage_ = number_from("MILLRACE_OUTAGE", 300);
  std::mt19937_64 random_{seed_};

  NatsServer nats_;
  TcpProxy proxy_{nats_.process().port()};
  MillraceServer millrace_{proxy_.nats_url()};
  std::unique_ptr<RawNatsClient> client_;
  Folder copy_;

  std::vector<size_t> waiting_;  ///< keys with an event `job.start` and no `job.go` yet
  size_t keys_ = 0;
  size_t markers_ = 0;
  size_t losses_before_ = 0;
  Seen seen_;
};

TEST_F(BrokerFaults, LoseAndRepeatNoEventThatTheStreamHasAndAreReportedIfTheStreamLosesEvents) {
  const size_t all = number_from("MILLRACE_FAULTS", faults().size());
  for (size_t i = 0; i < all; ++i) {
    const Fault& fault = faults()[number_from("MILLRACE_FAULT", i) % faults().size()];
    SCOPED_TRACE(fmt::format("fault {}: {}", i, fault.name));
    publish(up_to(300));
    const std::string kind = fault.loss;
    losses_before_ = kind.empty() ? 0 : losses(kind);
    (this->*fault.strike)();
    expect_ready();
    publish(up_to(300));
    expect_all_applied();
    if (!kind.empty()) {
      EXPECT_TRUE(eventually([&] { return losses(kind) > losses_before_; })) << kind;
      EXPECT_EQ(millrace_.get("/v1/info").at("broker").at("losses").back().at("kind"), kind);
    }
    ASSERT_TRUE(millrace_.is_running()) << millrace_.process().errors();
    if (HasFailure()) {
      fmt::print("{}\n{}\n", millrace_.process().errors(), millrace_.ask("GET", "/metrics").body);
      return;
    }
    fmt::print("fault {}: {}: {} started, {} done\n", i, fault.name, seen_.starts().size(),
               seen_.done().size());
  }
}

}  // namespace
}  // namespace millrace
