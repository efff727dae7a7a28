// Kills the server at random times while instances look back for events that came before them.
// Environment variables: MILLRACE_EARLY=200 sets the number of early events, MILLRACE_KILLS=20 the
// number of kills, MILLRACE_SEED=n repeats the random choices of a run.
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

/// Each event `early.start` starts an instance, which takes the event `early.paid` with its key
/// that came before, and then waits for a second one, which never comes.
constexpr const char* kSettle = R"(
id: settle
start:
  type: event
  event:
    type: early.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: early.paid
      context:
        key: jq(.["early.start"].key)
      lookback: PT1H
    transition: tell
  - id: tell
    type: generateEvent
    event:
      type: early.found
      source: settle
      data: 'jq({key: .["early.start"].key, paid: .["early.paid"].key})'
    transition: wait-again
  - id: wait-again
    type: consumeEvent
    event:
      type: early.paid
      context:
        key: jq(.["early.start"].key)
      lookback: PT1H
    timeout: PT0.3S
    transition: tell-again
    catch:
      - error: direktiv.stateTimeout
        transition: once
  - id: tell-again
    type: generateEvent
    event:
      type: early.twice
      source: settle
      data: 'jq({key: .["early.start"].key})'
  - id: once
    type: noop
)";

class EarlyEventKills : public MillraceTest {
 protected:
  void publish(std::string_view type, size_t number) {
    publisher_->publish(
        fmt::format("millrace.events.default.{}", type),
        fmt::format(R"({{"specversion":"1.0","id":"{1}-{0}","source":"/early","type":"{1}",)"
                    R"("key":"k{0}","data":{{"key":"k{0}"}}}})",
                    number, type));
  }

  std::unique_ptr<RawNatsClient> publisher_ = nats_.client();
};

TEST_F(EarlyEventKills, LoseAndRepeatNoEarlyEvent) {
  const size_t early = number_from("MILLRACE_EARLY", 20);
  const size_t kills = number_from("MILLRACE_KILLS", 3);
  const size_t seed = number_from("MILLRACE_SEED", std::random_device{}());
  fmt::print("MILLRACE_SEED={} MILLRACE_KILLS={} MILLRACE_EARLY={}\n", seed, kills, early);
  Campaign campaign("random kills while instances look back",
                    "each early event found once by its instance");
  std::mt19937_64 random(seed);

  millrace_.apply(kSettle);
  const std::unique_ptr<RawNatsClient> subscriber = nats_.client();
  subscriber->subscribe("millrace.events.default.early.>");
  for (size_t i = 0; i < early; ++i) publish("early.paid", i);
  publisher_->flush();

  size_t started = 0;
  for (size_t kill = 0; kill < kills; ++kill) {
    const size_t until = early * (kill + 1) / kills;
    for (; started < until; ++started) publish("early.start", started);
    publisher_->flush();
    millrace_.kill_after(Duration(random() % 100));
    millrace_.launch();
    campaign.count();
    if (random() % 2 == 0) millrace_.wait_until_it_listens();
  }
  for (; started < early; ++started) publish("early.start", started);
  publisher_->flush();
  millrace_.wait_until_it_listens();

  EXPECT_TRUE(millrace_.has_instances("workflow=settle&status=complete", early));
  std::map<std::string, std::set<std::string>> found;  // ids by key
  size_t twice = 0;
  EXPECT_TRUE(eventually([&] {
    while (const auto message = subscriber->next(Duration(2))) {
      const Json event = Json::parse(message->data);
      const std::string type = event.at("type");
      if (type == "early.twice") ++twice;
      if (type != "early.found") continue;
      EXPECT_EQ(event.at("data").at("key"), event.at("data").at("paid"));
      found[event.at("data").at("key")].insert(event.at("id"));
    }
    return found.size() >= early;
  }));
  EXPECT_EQ(found.size(), early);
  for (const auto& [key, ids] : found) EXPECT_EQ(ids.size(), 1U) << key;
  EXPECT_EQ(twice, 0U);
  EXPECT_EQ(millrace_.instances("workflow=settle").size(), early);
  EXPECT_TRUE(millrace_.items("dlq").empty());
}

}  // namespace
}  // namespace millrace
