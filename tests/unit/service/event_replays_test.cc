// EventReplays: each event of a range is published once more and no other, in turns of the
// namespaces, at the rate of the replay, also after a lost process.
#include "orchestrator/service/event_replays.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/event_target.h"
#include "tests/unit/service/event_desk_fixture.h"

namespace millrace {
namespace {

class EventReplaysTest : public EventDeskTest {
 protected:
  /// Begins a replay; returns its id.
  std::string begin(const RangeReplay& range, const std::string& space = "default") {
    std::string id;
    replays.begin(space, range, [&](const Result<Json>& started) {
      EXPECT_TRUE(started) << started.error().message;
      if (started) id = started->at("id").get<std::string>();
    });
    return id;
  }
  std::string refusal(const RangeReplay& range, const std::string& space = "default") {
    std::string found;
    replays.begin(space, range, [&](const Result<Json>& started) { found = code(started); });
    return found;
  }
  /// Makes turns until no replay runs, and moves the clock as the turns ask for.
  void run(int most = 1'000) {
    for (; most > 0; --most) {
      const std::optional<Duration> wait = replays.turn();
      if (!wait) return;
      clock.time += *wait;
    }
    ADD_FAILURE() << "the replays do not end";
  }
  Json progress(const std::string& id, const std::string& space = "default") {
    const Result<Json> found = replays.get(space, id);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Json::object());
  }
  /// How often each original event was replayed, by its id.
  std::map<std::string, int> replayed() {
    std::map<std::string, int> counts;
    for (const MemoryBroker::Stored& stored : broker.events()) {
      const Result<Event> event = decode_nats(stored.message);
      if (!event) continue;
      const auto original = attribute(*event, "replayof");
      if (original) ++counts[*original];
    }
    return counts;
  }
  using Counts = std::map<std::string, int>;
};

TEST_F(EventReplaysTest, PublishEachEventOfTheRangeOnce) {
  store("paid", "1");
  store("packed", "2");
  store("paid", "3", "other");
  store("paid", "4");
  store("paid", "5");
  broker.inject({"millrace.events.default.paid", {}, "no event"});
  const std::string id = begin({.first = 1, .last = 4, .type = "pa*"});
  run();
  EXPECT_EQ(replayed(), (Counts{{"1", 1}, {"2", 1}, {"4", 1}}));
  const Json done = progress(id);
  EXPECT_EQ(done["state"], "done");
  EXPECT_EQ(done["matched"], 3);
  EXPECT_EQ(done["sent"], 3);
  EXPECT_EQ(done["first"], 1);
  EXPECT_EQ(done["last"], 4);
  EXPECT_EQ(done["position"], 5);
  EXPECT_FALSE(done.contains("error"));
  EXPECT_THAT(event_at(7).id, testing::StartsWith("replay-" + id + "-"));
  EXPECT_EQ(event_at(7).source, "/shop");
}

TEST_F(EventReplaysTest, EndWithTheNewestEventAtTheBegin) {
  store("paid", "1");
  store("paid", "2");
  begin({.first = 1});
  run();
  EXPECT_EQ(replayed(), (Counts{{"1", 1}, {"2", 1}})) << "the replayed events are not replayed";
}

TEST_F(EventReplaysTest, SelectByTimeTypeAndSource) {
  store("paid", "1");    // at + 1 s
  store("paid", "2");    // at + 2 s
  store("packed", "3");  // at + 3 s
  store("paid", "4");    // at + 4 s
  const auto at = [](int second) { return from_millis(1'700'000'000'000 + second * 1'000); };
  begin({.since = at(2), .until = at(4), .type = "paid"});
  run();
  EXPECT_EQ(replayed(), (Counts{{"2", 1}}));
  begin({.first = 1, .source = "/other"});
  run();
  EXPECT_EQ(replayed(), (Counts{{"2", 1}}));
}

TEST_F(EventReplaysTest, CountOnlyInADryRun) {
  store("paid", "1");
  store("paid", "2");
  const std::string id = begin({.first = 2, .is_dry = true});
  run();
  EXPECT_EQ(replayed(), Counts());
  EXPECT_EQ(progress(id)["matched"], 1);
  EXPECT_EQ(progress(id)["sent"], 0);
  EXPECT_EQ(progress(id)["dryRun"], true);
  EXPECT_EQ(progress(id)["state"], "done");
}

TEST_F(EventReplaysTest, SendForTheTargetOnly) {
  const WorkflowNumber pairs = apply("id: pairs\nstates: [{id: one, type: noop}]\n");
  store("paid", "1");
  const std::string id = begin({.first = 1, .target = {.workflow = "pairs"}});
  run();
  EXPECT_EQ(attribute(event_at(2), kTargetAttribute), workflow_target(pairs));
  EXPECT_EQ(progress(id)["to"], (Json{{"workflow", "pairs"}})) << "as the client named it";
  EXPECT_EQ(refusal({.first = 1, .target = {.workflow = "none"}}), "workflow.not_found");
}

TEST_F(EventReplaysTest, FailWhenTheirTargetCanTakeNoEvent) {
  const WorkflowNumber pairs = apply("id: pairs\nstates: [{id: one, type: noop}]\n");
  const InstanceId instance = store_instance(pairs, 1, InstanceStatus::kWaiting);
  for (int i = 1; i <= 4; ++i) store("paid", std::to_string(i));
  const std::string one = begin({.first = 1, .target = {.instance = instance}, .rate = 4});
  const std::string all = begin({.first = 1, .target = {.workflow = "pairs"}, .rate = 4});
  ASSERT_TRUE(replays.turn());
  ASSERT_TRUE(replays.turn());
  EXPECT_EQ(replayed(), (Counts{{"1", 2}}));
  ASSERT_TRUE(erase_parts(*tx, ns, instance));
  store_instance(pairs, 1, InstanceStatus::kComplete);
  erase_workflow(*tx, ns, "pairs");
  commit();
  run();
  EXPECT_EQ(replayed(), (Counts{{"1", 2}}));
  EXPECT_EQ(progress(one)["state"], "failed");
  EXPECT_EQ(progress(one)["error"]["code"], "instance.ended");
  EXPECT_EQ(progress(one)["sent"], 1);
  EXPECT_EQ(progress(all)["state"], "failed");
  EXPECT_EQ(progress(all)["error"]["code"], "workflow.not_found");
}

TEST_F(EventReplaysTest, SendThePageAgainIfItsProgressIsLost) {
  for (int i = 1; i <= 40; ++i) store("paid", std::to_string(i));
  const std::string id = begin({.first = 1, .rate = 40});  // pages of 10 events
  ASSERT_EQ(replays.turn(), Duration(0));
  clock.time += Duration(250);
  loses_progress = true;
  ASSERT_EQ(replays.turn(), Duration(0));
  EXPECT_EQ(broker.events().size(), 60U) << "the events of two pages are in the stream";
  EXPECT_EQ(progress(id)["sent"], 10);
  loses_progress = false;
  // Another process has only the rows.
  EventReplays next(replay_parts());
  for (std::optional<Duration> wait = next.turn(); wait; wait = next.turn()) clock.time += *wait;
  EXPECT_EQ(progress(id)["state"], "done");
  EXPECT_EQ(progress(id)["sent"], 40);
  const Counts counts = replayed();
  EXPECT_EQ(counts.size(), 40U);
  for (const auto& [original, count] : counts) EXPECT_EQ(count, 1) << original;
}

TEST_F(EventReplaysTest, KeepTheRate) {
  for (int i = 1; i <= 30; ++i) store("paid", std::to_string(i));
  const TimePoint began = clock.time;
  begin({.first = 1, .rate = 10});
  run();
  EXPECT_EQ(replayed().size(), 30U);
  EXPECT_GE(clock.time - began, std::chrono::milliseconds(2'700));
  EXPECT_LE(clock.time - began, std::chrono::milliseconds(3'000));
}

TEST_F(EventReplaysTest, TakeTurnsByNamespace) {
  create_namespace("shop");
  for (int i = 1; i <= 8; ++i) store("paid", std::to_string(i));
  for (int i = 1; i <= 2; ++i) store("paid", "s" + std::to_string(i), "shop");
  for (int i = 0; i < 3; ++i) begin({.first = 1, .rate = 4});  // one event in a page
  begin({.first = 1, .rate = 4}, "shop");
  ASSERT_TRUE(replays.turn());
  ASSERT_TRUE(replays.turn());
  EXPECT_TRUE(replayed().contains("s1")) << "the second turn is that of the other namespace";
  run();
  EXPECT_EQ(replayed()["8"], 3);
  EXPECT_EQ(replayed()["s2"], 1);
}

TEST_F(EventReplaysTest, WaitForTheQuotaAndTheBroker) {
  store("paid", "1");
  const std::string id = begin({.first = 1});
  over_quota = true;
  ASSERT_EQ(replays.turn(), Duration(0));
  EXPECT_EQ(replays.turn(), Duration(1'000)) << "it is tried again";
  EXPECT_EQ(replayed(), Counts());
  EXPECT_EQ(progress(id)["waits"]["code"], "millrace.quota.eventsPerSecond");
  EXPECT_EQ(replays.list("default").value()["items"][0]["waits"]["msg"], "too many");
  over_quota = false;
  broker.disconnect();
  clock.time += std::chrono::seconds(1);
  ASSERT_EQ(replays.turn(), Duration(0));
  EXPECT_EQ(progress(id)["state"], "running");
  EXPECT_EQ(progress(id)["waits"]["code"], "broker.unreachable");
  broker.reconnect();
  run();
  EXPECT_EQ(replayed(), (Counts{{"1", 1}}));
  EXPECT_EQ(progress(id)["state"], "done");
  EXPECT_FALSE(progress(id).contains("waits"));
}

TEST_F(EventReplaysTest, SendSmallerPagesUnderASmallQuota) {
  for (int i = 1; i <= 10; ++i) store("paid", std::to_string(i));
  most_admitted = 3;  // below the size of a page: 10, 5 and then 2 events are tried
  const std::string id = begin({.first = 1});
  ASSERT_EQ(replays.turn(), Duration(0));
  EXPECT_EQ(replayed(), (Counts{{"1", 1}, {"2", 1}}));
  EXPECT_EQ(replays.turn(), Duration(1'000)) << "the quota is left to other events for a while";
  run();
  EXPECT_EQ(replayed().size(), 10U);
  for (const auto& [original, count] : replayed()) EXPECT_EQ(count, 1) << original;
  EXPECT_EQ(progress(id)["matched"], 10);
  EXPECT_EQ(progress(id)["sent"], 10);
  EXPECT_EQ(progress(id)["state"], "done");
}

TEST_F(EventReplaysTest, PassOverAnEventThatIsTooLargeForTheBroker) {
  store("paid", "1");
  store("big", "2");
  store("paid", "3");
  broker.decide_fates([](const NatsMessage& message) {
    PublishFate fate;
    if (message.data.find("\"big\"") != std::string::npos) {
      fate.refused = Error{std::string(kTooLarge), "too large"};
    }
    return fate;
  });
  const std::string id = begin({.first = 1});
  run();
  EXPECT_EQ(replayed(), (Counts{{"1", 1}, {"3", 1}}));
  EXPECT_EQ(progress(id)["matched"], 3);
  EXPECT_EQ(progress(id)["sent"], 2);
  EXPECT_EQ(progress(id)["refused"], 1);
  EXPECT_EQ(progress(id)["state"], "done");
}

TEST_F(EventReplaysTest, PassQuicklyOverEventsThatDoNotMatch) {
  for (int i = 1; i <= 100; ++i) store("paid", std::to_string(i));
  store("packed", "101");
  const TimePoint began = clock.time;
  begin({.first = 1, .type = "packed", .rate = 4});
  run(3);  // pages of 64 and 37 messages; then no replay runs
  EXPECT_EQ(replayed(), (Counts{{"101", 1}}));
  EXPECT_EQ(clock.time, began);
}

TEST_F(EventReplaysTest, CountWhatTheStreamHasLost) {
  for (int i = 1; i <= 6; ++i) store("paid", std::to_string(i));
  const std::string id = begin({.first = 1, .last = 5});
  broker.drop_oldest(3);
  run();
  EXPECT_EQ(replayed(), (Counts{{"4", 1}, {"5", 1}}));
  EXPECT_EQ(progress(id)["lost"], 3);
  EXPECT_EQ(progress(id)["state"], "done");
}

TEST_F(EventReplaysTest, FailIfTheStreamIsAnotherOne) {
  store("paid", "1");
  const std::string id = begin({.first = 1});
  clock.time += std::chrono::seconds(1);
  broker.recreate_stream();
  broker.reconnect();
  store("paid", "2");
  run();
  EXPECT_EQ(replayed(), Counts());
  EXPECT_EQ(progress(id)["state"], "failed");
  EXPECT_EQ(progress(id)["error"]["code"], "replay.stream");
}

TEST_F(EventReplaysTest, EndWhenTheyAreStopped) {
  for (int i = 1; i <= 4; ++i) store("paid", std::to_string(i));
  const std::string id = begin({.first = 1, .rate = 4});
  ASSERT_TRUE(replays.turn());
  replays.stop("default", id, [](const Result<Json>& stopped) { EXPECT_TRUE(stopped); });
  EXPECT_EQ(replays.turn(), std::nullopt) << "no replay runs";
  EXPECT_EQ(replayed(), (Counts{{"1", 1}}));
  EXPECT_EQ(progress(id)["state"], "stopped");
}

TEST_F(EventReplaysTest, AreListedByNamespaceTheNewestFirst) {
  create_namespace("shop");
  store("paid", "1");
  const std::string first = begin({.first = 1});
  clock.time += std::chrono::seconds(1);
  const std::string second = begin({.since = from_millis(1'700'000'000'000)});
  begin({.first = 1}, "shop");
  const Json list = replays.list("default").value();
  ASSERT_EQ(list["items"].size(), 2U);
  EXPECT_EQ(list["items"][0]["id"], second);
  EXPECT_EQ(list["items"][1]["id"], first);
  EXPECT_EQ(code(replays.list("none")), "namespace.not_found");
  EXPECT_EQ(code(replays.get("shop", first)), "replay.not_found");
  for (const std::string& wrong : {std::string("r1"), std::string(32, 'x'), first + "0"}) {
    EXPECT_EQ(code(replays.get("default", wrong)), "replay.not_found") << wrong;
    replays.stop("default", wrong, [&](const Result<Json>& stopped) {
      EXPECT_EQ(code(stopped), "replay.not_found") << wrong;
    });
  }
}

TEST_F(EventReplaysTest, RefuseAWrongRange) {
  EXPECT_EQ(refusal({.first = 1, .rate = 0}), "replay.rate");
  EXPECT_EQ(refusal({.first = 1, .rate = kMostReplayRate + 1}), "replay.rate");
  EXPECT_EQ(refusal({.first = 1}, "none"), "namespace.not_found");
  broker.disconnect();
  EXPECT_EQ(refusal({.first = 1}), "broker.unreachable");
}

}  // namespace
}  // namespace millrace
