// Kills the server at random times under load, and counts instances and generated events.
// Environment variables: MILLRACE_KILLS=30 sets the number of kills, MILLRACE_SEED=n repeats the
// random choices of a run.
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

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
    timeout: PT1H
    transition: tell
  - id: tell
    type: generateEvent
    event:
      type: job.done
      source: job
      data:
        key: jq(.["job.start"].key)
)";

/// Each event `late.start` starts an instance. The instance waits until its timeout, and then
/// generates the event `job.late`.
constexpr const char* kLate = R"(
id: late
start:
  type: event
  event:
    type: late.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: late.never
    timeout: PT0.3S
    catch:
      - error: direktiv.stateTimeout
        transition: tell
  - id: tell
    type: generateEvent
    event:
      type: job.late
      source: late
      data:
        key: jq(.["late.start"].key)
)";

constexpr Duration kTimeout{300};

/// Publishes events `job.start` and `late.start`, and for each `job.start` a later `job.go`; some
/// of them twice.
class Load {
 public:
  Load(RawNatsClient& client, std::mt19937_64& random) : client_(client), random_(random) {}

  void publish(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t choice = random_() % 10;
      if (choice == 0) {
        send("late.start", ++lates_);
      } else if (choice < 6 || waiting_.empty()) {
        send("job.start", ++jobs_);
        waiting_.push_back(jobs_);
      } else {
        go();
      }
    }
    client_.flush();
  }

  /// Publishes the missing events `job.go`.
  void finish() {
    while (!waiting_.empty()) go();
    client_.flush();
  }

  size_t jobs() const { return jobs_; }
  size_t lates() const { return lates_; }
  size_t sent() const { return sent_; }

 private:
  void go() {
    const size_t which = random_() % waiting_.size();
    std::swap(waiting_[which], waiting_.back());
    send("job.go", waiting_.back());
    waiting_.pop_back();
  }

  void send(std::string_view type, size_t number) {
    const std::string event = fmt::format(
        R"({{"specversion":"1.0","id":"{1}-{0}","source":"/load","type":"{1}","key":"k{0}",)"
        R"("data":{{"key":"k{0}"}}}})",
        number, type);
    const size_t times = random_() % 16 == 0 ? 2 : 1;
    for (size_t i = 0; i < times; ++i) {
      client_.publish(fmt::format("millrace.events.default.{}", type), event);
      ++sent_;
    }
  }

  RawNatsClient& client_;
  std::mt19937_64& random_;
  std::vector<size_t> waiting_;
  size_t jobs_ = 0;
  size_t lates_ = 0;
  size_t sent_ = 0;
};

/// The events that a NATS subscriber received: their ids by type and key.
class Received {
 public:
  explicit Received(std::unique_ptr<RawNatsClient> client) : client_(std::move(client)) {
    client_->subscribe("millrace.events.default.job.>");
  }

  /// Reads the messages that have come since the last call.
  void read() {
    while (const auto message = client_->next(Duration(2))) {
      const Json event = Json::parse(message->data);
      const std::string type = event.at("type");
      if (type != "job.done" && type != "job.late") continue;
      ids_[type][event.at("data").at("key")].insert(event.at("id"));
      ++messages_;
    }
  }

  size_t keys(const std::string& type) { return ids_[type].size(); }
  size_t messages() const { return messages_; }

  void expect_one_id_a_key() const {
    for (const auto& [type, keys] : ids_) {
      for (const auto& [key, ids] : keys) {
        EXPECT_EQ(ids.size(), 1U) << type << " with key " << key;
      }
    }
  }

 private:
  std::unique_ptr<RawNatsClient> client_;
  std::map<std::string, std::map<std::string, std::set<std::string>>> ids_;
  size_t messages_ = 0;
};

class RandomKills : public MillraceTest {
 protected:
  /// Expects that the timeout was raised once and not early.
  void expect_timely(const std::string& id) const {
    // The first state begins when the instance starts. If the turn is used up then, a later turn
    // makes the record of the entry, with its own time.
    std::optional<TimePoint> started;
    size_t raised = 0;
    for (const Json& record : millrace_.history(id)) {
      const TimePoint time = parse_rfc3339(record.at("time").get<std::string>()).value();
      if (record.at("kind") == "started") started = time;
      if (record.at("kind") == "raised") {
        ASSERT_TRUE(started) << id;
        EXPECT_GE(time - *started, kTimeout) << id;
        ++raised;
      }
    }
    EXPECT_EQ(raised, 1U) << id;
  }
};

TEST_F(RandomKills, LoseAndRepeatNothing) {
  const size_t kills = number_from("MILLRACE_KILLS", 5);
  const size_t seed = number_from("MILLRACE_SEED", std::random_device{}());
  fmt::print("MILLRACE_SEED={} MILLRACE_KILLS={}\n", seed, kills);
  Campaign campaign("random kills under load",
                    "each job once, one event id for each job, no early timeout");
  std::mt19937_64 random(seed);
  const auto up_to = [&](size_t most) { return random() % (most + 1); };

  millrace_.apply(kJob);
  millrace_.apply(kLate);
  const std::unique_ptr<RawNatsClient> publisher = nats_.client();
  Load load(*publisher, random);
  Received received(nats_.client());

  for (size_t kill = 0; kill < kills; ++kill) {
    load.publish(up_to(400));
    // At this random time the server is starting, catching up, or applying the newest events.
    millrace_.process().wait(Duration(up_to(300)));
    load.publish(up_to(400));
    millrace_.kill_after(Duration(up_to(20)));
    load.publish(up_to(200));
    received.read();
    millrace_.launch();
    campaign.count();
  }
  millrace_.wait_until_it_listens();
  load.publish(200);
  millrace_.stop();
  load.finish();
  millrace_.start_ready();

  EXPECT_TRUE(eventually([&] {
    received.read();
    return received.keys("job.done") >= load.jobs() && received.keys("job.late") >= load.lates();
  }));
  EXPECT_EQ(received.keys("job.done"), load.jobs());
  EXPECT_EQ(received.keys("job.late"), load.lates());
  received.expect_one_id_a_key();

  EXPECT_EQ(millrace_.instances("workflow=job").size(), load.jobs());
  EXPECT_EQ(millrace_.instances("workflow=job&status=complete").size(), load.jobs());
  const std::vector<Json> late = millrace_.instances("workflow=late");
  EXPECT_EQ(late.size(), load.lates());
  for (const Json& instance : late) expect_timely(instance.at("id"));
  EXPECT_TRUE(millrace_.items("dlq").empty());
  fmt::print("{} messages in, {} jobs, {} timeouts, {} messages out\n", load.sent(), load.jobs(),
             load.lates(), received.messages());
}

}  // namespace
}  // namespace millrace
