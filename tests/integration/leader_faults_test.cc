// Kills and stops the NATS server that leads the event stream, in a cluster of three, under load,
// and counts instances and generated events. Environment variables: MILLRACE_LEADER_FAULTS=20 sets
// the number of faults, MILLRACE_NATS_SERVER names the nats-server.
#include <array>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "broker/publisher.h"
#include "tests/integration/environment_number.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"
#include "tests/support/nats_cluster.h"

namespace millrace {
namespace {

/// Each event `trip.start` starts an instance. The instance waits for the event `trip.go` with the
/// key of `trip.start`, and then generates the event `trip.done`.
constexpr const char* kTrip = R"(
id: trip
start:
  type: event
  event:
    type: trip.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: trip.go
      context:
        key: jq(.["trip.start"].key)
    timeout: P1D
    transition: tell
  - id: tell
    type: generateEvent
    event:
      type: trip.done
      source: trip
      data:
        key: jq(.["trip.start"].key)
)";

/// Publishes the events of lifecycles on threads of its own: `trip.start`, and `trip.go` with the
/// same key. An event that the stream has not acknowledged is published again under its id.
class TripLoad {
 public:
  explicit TripLoad(const NatsCluster& cluster) : connection_(cluster.connect()) {
    for (size_t i = 0; i < publishers_.size(); ++i) {
      publishers_[i] = std::thread([this, i] { run(i); });
    }
  }
  ~TripLoad() { stop(); }
  TripLoad(const TripLoad&) = delete;
  TripLoad& operator=(const TripLoad&) = delete;

  /// Lets the load publish up to kMost more lifecycles, and waits until kSome of them are in the
  /// stream. False if that took longer than kPatience.
  bool proceeds() {
    const size_t before = published_;
    allowed_ = before + kMost;
    return eventually([&] { return published_ >= before + kSome; });
  }

  /// Returns when the lifecycles that were started are in the stream.
  void stop() {
    stopping_ = true;
    for (std::thread& publisher : publishers_) {
      if (publisher.joinable()) publisher.join();
    }
  }

  /// The number of lifecycles whose events are in the stream.
  size_t published() const { return published_; }

 private:
  void run(size_t publisher) {
    for (size_t i = 0; !stopping_; ++i) {
      if (!eventually([&] { return stopping_ || published_ < allowed_; }) || stopping_) return;
      const std::string key = fmt::format("{}-{}", publisher, i);
      if (!store("trip.start", key) || !store("trip.go", key)) return;
      ++published_;
    }
  }

  /// False if the stream has not acknowledged the event for kPatience; the counts then differ.
  bool store(std::string_view type, std::string_view key) {
    const std::string id = fmt::format("{}-{}", type, key);
    const NatsMessage event{
        .subject = fmt::format("millrace.events.default.{}", type),
        .headers = {{"Nats-Msg-Id", id}},
        .data = fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/load","type":"{}",)"
                            R"("key":"{}","data":{{"key":"{}"}}}})",
                            id, type, key, key)};
    return eventually([&] {
      const Result<NatsMessage> answer = connection_->request(event, kAnswerTime);
      return answer && read_publish_ack(answer->data);
    });
  }

  static constexpr size_t kMost = 1'000;
  static constexpr size_t kSome = 50;
  static constexpr Duration kAnswerTime = std::chrono::seconds(2);

  std::unique_ptr<Connection> connection_;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> allowed_ = 0;
  std::atomic<size_t> published_ = 0;
  std::array<std::thread, 4> publishers_;
};

class LeaderFaults : public testing::Test {
 protected:
  static constexpr const char* kDone = "millrace.events.default.trip.done";

  static size_t stored(const Connection& connection) {
    const Result<Json> info =
        NatsCluster::stream_info(connection, "MILLRACE_EVENTS", {{"subjects_filter", kDone}});
    if (!info) return 0;
    return (*info)["state"].value("subjects", Json::object()).value(kDone, size_t{0});
  }

  /// Reads the events `trip.done` of the stream, until there is one for each of `trips` keys and no
  /// further event; their ids by key.
  static std::map<std::string, std::set<std::string>> done_in_stream(NatsCluster& cluster,
                                                                     const Connection& connection,
                                                                     size_t trips) {
    const std::unique_ptr<RawNatsClient> client = cluster.server(0).client();
    client->subscribe("_VIEW.done");
    client->api("CONSUMER.CREATE.MILLRACE_EVENTS", {{"stream_name", "MILLRACE_EVENTS"},
                                                    {"config",
                                                     {{"deliver_subject", "_VIEW.done"},
                                                      {"deliver_policy", "all"},
                                                      {"ack_policy", "none"},
                                                      {"filter_subject", kDone}}}});
    std::map<std::string, std::set<std::string>> done;
    size_t read = 0;
    while (done.size() < trips || read < stored(connection)) {
      const std::optional<RawNatsClient::Message> message = client->next();
      if (!message) break;
      const Json event = Json::parse(message->data);
      done[event.at("data").at("key").get<std::string>()].insert(event.at("id").get<std::string>());
      ++read;
    }
    fmt::print("{} lifecycles, {} events trip.done\n", trips, read);
    return done;
  }
};

TEST_F(LeaderFaults, LoseAndRepeatNothing) {
  const std::optional<std::string> program = NatsCluster::newest_program();
  if (!program) GTEST_SKIP() << kNeedsNewerServer;
  const size_t faults = number_from("MILLRACE_LEADER_FAULTS", 3);
  fmt::print("MILLRACE_LEADER_FAULTS={} {}\n", faults, *program);
  Campaign campaign("faults of the stream's leader",
                    "each lifecycle once, one event id for each, no lost message");

  NatsCluster cluster(*program);
  const std::unique_ptr<Connection> connection = cluster.connect();
  ASSERT_TRUE(NatsCluster::has_leader(*connection));
  MillraceServer millrace(cluster.urls(), {{"MILLRACE_STREAM_REPLICAS", "3"}});
  millrace.start_ready();
  millrace.apply(kTrip);
  ASSERT_TRUE(eventually([&] { return NatsCluster::is_whole(*connection); }));

  TripLoad load(cluster);
  const auto is_whole = [](const Connection& others) { return NatsCluster::is_whole(others); };
  for (size_t i = 0; i < faults; ++i) {
    const auto& [fault, name] = kLeaderFaults[i % kLeaderFaults.size()];
    campaign.run(fmt::format("fault {}: {}", i, name), [&, of = fault] {
      strike_leader(cluster, "MILLRACE_EVENTS", load, of, is_whole);
    });
    if (HasFatalFailure()) return;
  }
  load.stop();

  const size_t trips = load.published();
  EXPECT_TRUE(millrace.has_usage(0, trips));
  EXPECT_EQ(millrace.instances("workflow=trip&status=complete").size(), trips);
  // An event whose acknowledgement was lost is sent again, and the broker may store it twice. Both
  // then have one id.
  const std::map<std::string, std::set<std::string>> done =
      done_in_stream(cluster, *connection, trips);
  EXPECT_EQ(done.size(), trips);
  for (const auto& [key, ids] : done) EXPECT_EQ(ids.size(), 1U) << "trip.done with key " << key;
  EXPECT_TRUE(millrace.items("dlq").empty());
  EXPECT_EQ(millrace.get("/v1/info")["broker"]["losses"].size(), 0U);
  EXPECT_TRUE(eventually([&] { return millrace.ask("GET", "/readyz").status == 200; }));
}

}  // namespace
}  // namespace millrace
