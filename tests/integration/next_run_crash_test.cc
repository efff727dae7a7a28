// Lives without end: kills the server while an instance goes from run to run by `continueAsNew`,
// and measures what very many runs leave behind. Environment variables: MILLRACE_KILLS=50 sets the
// number of kills, MILLRACE_SEED=n repeats the random choices of a run, MILLRACE_ROUNDS=1000000
// sets the number of runs that are measured.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"
#include "tests/support/raw_nats_client.h"

namespace millrace {
namespace {

using testing::Lt;
using testing::SizeIs;

/// Each run waits for a few milliseconds, publishes its number, and begins the next run. The event
/// `rounds.stop` ends the instance.
constexpr const char* kPublishingRounds = R"(
id: rounds
states:
- id: wait
  type: consumeEvent
  event: {type: rounds.stop}
  timeout: PT0.005S
  catch: [{error: direktiv.stateTimeout, transition: publish}]
  transform: jq({round})
- id: publish
  type: generateEvent
  event: {type: round.ended, source: /rounds, data: {round: jq(.round)}}
  continueAsNew: {round: jq(.round + 1)}
)";

/// The runs follow one another without a wait.
constexpr const char* kCountedRounds = R"(
id: rounds
states:
- id: count
  type: switch
  conditions:
  - {condition: jq(.round >= .last), transition: done}
  defaultContinueAsNew: {round: jq(.round + 1), last: jq(.last)}
- {id: done, type: noop}
)";

/// The events `round.ended` that a NATS subscriber received: their ids by the number of the run.
class PublishedRounds {
 public:
  explicit PublishedRounds(std::unique_ptr<RawNatsClient> client) : client_(std::move(client)) {
    client_->subscribe("millrace.events.default.round.ended");
  }

  /// Reads the messages that have come since the last call.
  void read() {
    while (const auto message = client_->next(Duration(2))) {
      const Json event = Json::parse(message->data);
      ids_[event.at("data").at("round").get<uint64_t>()].insert(event.at("id"));
    }
  }

  size_t count() const { return ids_.size(); }

  /// Expects one id of each run from 1 to `last`, and no other run.
  void expect_each_once(uint64_t last) const {
    EXPECT_EQ(ids_.size(), last);
    for (uint64_t round = 1; round <= last; ++round) EXPECT_TRUE(ids_.contains(round)) << round;
    for (const auto& [round, ids] : ids_) EXPECT_THAT(ids, SizeIs(1)) << round;
  }

 private:
  std::unique_ptr<RawNatsClient> client_;
  std::map<uint64_t, std::set<std::string>> ids_;
};

using NextRunKills = MillraceTest;

TEST_F(NextRunKills, LoseAndRepeatNoRun) {
  const size_t kills = number_from("MILLRACE_KILLS", 5);
  const size_t seed = number_from("MILLRACE_SEED", std::random_device{}());
  fmt::print("MILLRACE_SEED={} MILLRACE_KILLS={}\n", seed, kills);
  Campaign campaign("random kills between runs", "each run once, and the history of one run");
  std::mt19937_64 random(seed);
  PublishedRounds published(nats_.client());
  millrace_.apply(kPublishingRounds);
  const std::string id = millrace_.start_instance("rounds", {{"round", 1}});

  for (size_t kill = 0; kill < kills; ++kill) {
    // Every second kill comes while the server starts.
    if (kill % 2 == 1) millrace_.wait_until_it_listens();
    millrace_.kill_after(Duration(random() % 300));
    published.read();
    millrace_.launch();
    campaign.count();
  }
  millrace_.wait_until_it_listens();
  EXPECT_TRUE(eventually([&] {
    published.read();
    return published.count() > kills;
  }));
  const std::unique_ptr<RawNatsClient> publisher = nats_.client();
  Json instance;
  size_t stops = 0;
  EXPECT_TRUE(eventually([&] {
    publisher->publish("millrace.events.default.rounds.stop",
                       fmt::format(R"({{"specversion":"1.0","id":"stop-{}","source":"/test",)"
                                   R"("type":"rounds.stop"}})",
                                   ++stops));
    publisher->flush();
    instance = millrace_.instance(id);
    return instance["status"] == "complete";
  }));
  // The last run has ended by the event, and has published nothing.
  const auto last = instance["run"].get<uint64_t>();
  EXPECT_EQ(instance["output"], (Json{{"round", last}}));
  EXPECT_TRUE(eventually([&] {
    published.read();
    return published.count() + 1 >= last;
  }));
  published.expect_each_once(last - 1);
  EXPECT_THAT(millrace_.instances("workflow=rounds"), SizeIs(1));
  const std::vector<Json> history = millrace_.history(id);
  ASSERT_FALSE(history.empty());
  EXPECT_EQ(history.front()["kind"], "continued");
  EXPECT_EQ(history.front()["detail"]["run"], last - 1);
  EXPECT_EQ(std::count_if(history.begin(), history.end(),
                          [](const Json& record) { return record["kind"] == "continued"; }),
            1);
}

/// What an instance costs, in bytes.
struct Footprint {
  uint64_t rows = 0;     ///< of the namespace, with the history
  uint64_t data = 0;     ///< data.mdb
  uint64_t journal = 0;  ///< both journals
  uint64_t memory = 0;   ///< anonymous resident memory of the process
};

class ManyRuns : public MillraceTest {
 protected:
  void SetUp() override {
    // Checkpoints come often, so that the measurement begins after the first ones.
    millrace_.set_arguments({"--checkpoint-bytes", fmt::format("{}", kCheckpointBytes)});
    MillraceTest::SetUp();
  }

  static constexpr uint64_t kMiB = uint64_t{1} << 20;
  static constexpr uint64_t kCheckpointBytes = kMiB;

  uint64_t anonymous_memory() {
    constexpr std::string_view kField = "RssAnon:";
    std::ifstream status(fmt::format("/proc/{}/status", millrace_.process().pid()));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(kField)) return std::stoull(line.substr(kField.size())) * 1024;
    }
    ADD_FAILURE() << "the process has no " << kField;
    return 0;
  }

  Footprint footprint() {
    const Json store = millrace_.get("/v1/info").at("store");
    Footprint found = {.data = store.at("dataBytes").get<uint64_t>(),
                       .journal = store.at("journalBytes").get<uint64_t>(),
                       .memory = anonymous_memory()};
    for (const Json& one : store.at("namespaces")) {
      if (one.at("namespace") != "default") continue;
      found.rows = one.at("rowBytes").get<uint64_t>() + one.at("historyBytes").get<uint64_t>() +
                   one.at("otherBytes").get<uint64_t>();
    }
    return found;
  }
};

TEST_F(ManyRuns, LeaveRowsFilesAndMemoryFlat) {
  const size_t rounds = number_from("MILLRACE_ROUNDS", 8'000);
  fmt::print("MILLRACE_ROUNDS={}\n", rounds);
  Campaign campaign("runs by `continueAsNew`", "rows, history, files and memory are flat");
  millrace_.apply(kCountedRounds);
  const std::string id = millrace_.start_instance("rounds", {{"round", 1}, {"last", rounds}});
  const auto reaches = [&](size_t run) {
    return eventually([&] { return millrace_.instance(id)["run"].get<size_t>() >= run; });
  };
  ASSERT_TRUE(reaches(rounds / 4));
  const Footprint early = footprint();
  ASSERT_TRUE(reaches(rounds / 2));
  EXPECT_THAT(millrace_.history(id), SizeIs(Lt(5U)));
  ASSERT_TRUE(reaches(rounds - rounds / 10));
  const Footprint late = footprint();
  fmt::print("rows {} and {} B, data.mdb {} and {} B, journals {} and {} B, memory {} and {} B\n",
             early.rows, late.rows, early.data, late.data, early.journal, late.journal,
             early.memory, late.memory);
  constexpr uint64_t kOfOneRun = 4'096;  // a run under way has a record more or less
  EXPECT_LE(late.rows, early.rows + kOfOneRun);
  EXPECT_LE(late.data, early.data + 4 * kMiB);
  EXPECT_LE(late.journal, early.journal + 8 * kCheckpointBytes);
  EXPECT_LE(late.memory, early.memory + 32 * kMiB);
  const Json instance = millrace_.instance_once(id, "complete");
  EXPECT_EQ(instance["run"], rounds);
  EXPECT_EQ(instance["output"], (Json{{"round", rounds}, {"last", rounds}}));
  EXPECT_EQ(millrace_.history(id).front()["detail"]["run"], rounds - 1);
  for (size_t i = 0; i < rounds; ++i) campaign.count();
}

}  // namespace
}  // namespace millrace
