// LiveHub: which messages clients get, and when. The test calls advance(), so no time passes.
#include <gmock/gmock.h>

#include "tests/unit/service/live_hub_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(LiveHubTest, GreetsAClientAndWatchesTheRing) {
  EXPECT_FALSE(hub.is_watched());
  const auto sink = add({.instances = true});
  EXPECT_TRUE(hub.is_watched());
  EXPECT_TRUE(ring.is_watched());
  const auto messages = sink->take();
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].event, "hello");
  EXPECT_EQ(messages[0].data["boot"], "b1");
  EXPECT_EQ(messages[0].data["version"], "1.0");
}

TEST_F(LiveHubTest, ChecksWhatIsWatched) {
  const auto outcome_of = [&](const LiveRequest& request) {
    const Status known = hub.check(request);
    return known ? "known" : known.error().code;
  };
  change(1);
  EXPECT_EQ(outcome_of({.ns = "default"}), "known");
  EXPECT_EQ(outcome_of({.ns = "none"}), "namespace.not_found");
  EXPECT_EQ(outcome_of({.ns = "default", .workflow = "order"}), "known");
  EXPECT_EQ(outcome_of({.ns = "default", .workflow = "none"}), "workflow.not_found");
  EXPECT_EQ(outcome_of({.ns = "default", .history_of = numbered_id(1)}), "known");
  EXPECT_EQ(outcome_of({.ns = "default", .history_of = numbered_id(9)}), "instance.not_found");
}

TEST_F(LiveHubTest, ShowsChangedInstancesOnceInAStep) {
  const auto all = add({.instances = true});
  const auto failed = add({.instances = true, .statuses = {InstanceStatus::kFailed}});
  step();
  EXPECT_THAT(all->take("instances"), IsEmpty()) << "nothing has changed";
  step();
  all->take();
  failed->take();
  change(1);
  change(2);
  change(1, InstanceStatus::kFailed);
  step();
  const auto shown = all->take("instances");
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_THAT(ids(shown[0]), ElementsAre(id(1), id(2)));
  EXPECT_EQ(shown[0].data["items"][0]["status"], "failed");
  EXPECT_EQ(shown[0].data["more"], 0);
  EXPECT_EQ(shown[0].id, "b1-3");
  const auto of_failed = failed->take("instances");
  ASSERT_THAT(of_failed, SizeIs(1));
  EXPECT_THAT(ids(of_failed[0]), ElementsAre(id(1)));
  step();
  EXPECT_THAT(all->take("instances"), IsEmpty());
}

TEST_F(LiveHubTest, CountsTheInstancesThatAMessageDoesNotShow) {
  const auto sink = add({.instances = true});
  step();
  step();
  sink->take();
  for (uint8_t i = 1; i <= LiveHub::kMostItems + 3; ++i) change(i);
  step();
  const auto shown = sink->take("instances");
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown[0].data["items"].size(), LiveHub::kMostItems);
  EXPECT_EQ(shown[0].data["more"], 3);
  for (size_t i = 0; i < WatchRing::kPlaces + 5; ++i) {
    ring.put({.instance = numbered_id(1), .ns = ns, .workflow = order});
  }
  step();
  const auto overrun = sink->take("instances");
  ASSERT_THAT(overrun, SizeIs(1));
  EXPECT_EQ(overrun[0].data["more"], 5) << "the changes that the ring has lost";
}

TEST_F(LiveHubTest, EncodesAMessageOnceForAllClientsThatWantTheSame) {
  const auto one = add({.instances = true});
  const auto two = add({.instances = true});
  step();
  one->take();
  two->take();
  change(1);
  step();
  ASSERT_THAT(one->texts, SizeIs(1));
  ASSERT_THAT(two->texts, SizeIs(1));
  EXPECT_EQ(one->texts[0], two->texts[0]) << "they share the bytes";
}

TEST_F(LiveHubTest, ShowsAllCountsFirstAndThenThoseThatHaveChanged) {
  change(1);
  const auto sink = add({.counts = true});
  step();
  auto counts = sink->take("counts");
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_EQ(counts[0].data, Json::parse(R"({"changed":[["order","waiting",1]]})"));
  change(2, InstanceStatus::kFailed);
  step();
  counts = sink->take("counts");
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_EQ(counts[0].data, Json::parse(R"({"changed":[["order","failed",1]]})"));
  change(1, InstanceStatus::kFailed);
  step();
  counts = sink->take("counts");
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_EQ(counts[0].data,
            Json::parse(R"({"changed":[["order","failed",2],["order","waiting",0]]})"));
  step();
  EXPECT_THAT(sink->take("counts"), IsEmpty());
}

TEST_F(LiveHubTest, ShowsAChangeToAllClientsWhenAFurtherOneComes) {
  change(1);
  const auto first = add({.counts = true});
  step();
  step();
  first->take();
  // The ring does not name this change. Without a further client, it would be noticed later.
  store(waiting_instance(order, 2));
  const auto second = add({.counts = true});
  for (int i = 0; i < 20; ++i) step();
  const std::string two = R"({"changed":[["order","waiting",2]]})";
  const auto of_first = first->take("counts");
  ASSERT_THAT(of_first, SizeIs(1));
  EXPECT_EQ(of_first[0].data, Json::parse(two));
  EXPECT_EQ(second->take("counts").back().data, Json::parse(two));
}

TEST_F(LiveHubTest, ReadsTheCountsOfALargeNamespaceLessOften) {
  // Two rows are read, of the workflow and of its waiting instances: two steps more must pass.
  LiveHub careful{{.environment = *environment,
                   .queries = queries,
                   .ring = ring,
                   .reads = reads,
                   .clock = clock,
                   .applied = [this] { return applied; },
                   .levels = [] { return Json(); },
                   .totals = [this] { return totals.sums(); },
                   .boot = "b1",
                   .version = "1.0",
                   .count_rows_per_step = 1}};
  const auto step_careful = [&] {
    for (uint64_t i = 0; i < LiveHub::kTenthsPerStep; ++i) careful.advance();
  };
  change(1);
  const auto sink = std::make_shared<RecordingClient>();
  careful.add({.ns = "default", .counts = true}, sink);
  step_careful();
  EXPECT_THAT(sink->take("counts"), SizeIs(1));
  change(2);
  step_careful();
  step_careful();
  EXPECT_THAT(sink->take("counts"), IsEmpty());
  const auto late = std::make_shared<RecordingClient>();
  careful.add({.ns = "default", .counts = true}, late);
  step_careful();
  for (const auto& client : {sink, late}) {
    const auto counts = client->take("counts");
    ASSERT_THAT(counts, SizeIs(1));
    EXPECT_EQ(counts[0].data, Json::parse(R"({"changed":[["order","waiting",2]]})"));
  }
}

TEST_F(LiveHubTest, CountsADeletedInstanceNoMoreAndDoesNotShowIt) {
  change(1, InstanceStatus::kFailed);
  change(2);
  const auto sink = add({.counts = true, .instances = true});
  const auto history = add({.history_of = numbered_id(1)});
  step();
  step();
  sink->take();
  const auto head = read_head_anywhere(*tx, ns, numbered_id(1));
  ASSERT_TRUE(head && *head);
  IndexChanges index;
  index.remove(*tx, indexed(**head));
  erase_instance(*tx, **head);
  ASSERT_TRUE(index.write(*tx, [](const Error& error) { ADD_FAILURE() << error.message; }));
  commit();
  ring.put({.instance = numbered_id(1),
            .ns = ns,
            .workflow = order,
            .status = InstanceStatus::kFailed,
            .is_deleted = true});
  step();
  const auto messages = sink->take();
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].event, "counts");
  EXPECT_EQ(messages[0].data, Json::parse(R"({"changed":[["order","failed",0]]})"));
  EXPECT_FALSE(history->open);
}

TEST_F(LiveHubTest, ShowsLevelsOnceASecond) {
  const auto sink = add({.levels = true});
  pass(LiveHub::kTenthsPerLevels - 1);
  EXPECT_THAT(sink->take("levels"), IsEmpty());
  pass(1);
  const auto levels = sink->take("levels");
  ASSERT_THAT(levels, SizeIs(1));
  EXPECT_EQ(levels[0].data["jqWorkers"], 2);
}

TEST_F(LiveHubTest, ShowsRatesWithTheLevelsFromTheSecondMessageOn) {
  const auto rates_after = [&](RecordingClient& client, uint64_t events) {
    BatchCounts counts;
    counts.events = events;
    totals.add(counts);
    clock.advance(std::chrono::seconds(2));
    pass(LiveHub::kTenthsPerLevels);
    const auto messages = client.take("levels");
    EXPECT_EQ(messages.size(), 1U);
    return messages.empty() ? Json() : messages.front().data.value("rates", Json());
  };
  const auto first = add({.levels = true});
  EXPECT_EQ(rates_after(*first, 1'000), Json()) << "there was no look before";
  EXPECT_EQ(rates_after(*first, 15).at("events"), 7.5);
  EXPECT_EQ(rates_after(*first, 0).at("events"), 0);
  first->open = false;
  pass(LiveHub::kTenthsPerLevels);
  const auto second = add({.levels = true});
  EXPECT_EQ(rates_after(*second, 20), Json()) << "the time without a client is not counted";
  EXPECT_EQ(rates_after(*second, 20).at("events"), 10);
}

TEST_F(LiveHubTest, ShowsTheRecordsOfAnInstanceWithoutAGap) {
  Instance instance = waiting_instance(order, 1);
  const auto write = [&](size_t records) {
    write_records(instance, records);
    ring.put({.instance = instance.id, .ns = ns, .workflow = order});
  };
  write(3);
  const auto sink = add({.history_of = instance.id, .after = 1});
  const auto numbers = [&] {
    std::vector<uint64_t> found;
    for (const SentMessage& message : sink->take("history")) {
      EXPECT_EQ(message.data["instance"], id(1));
      for (const Json& item : message.data["items"]) found.push_back(item["number"]);
    }
    return found;
  };
  pass(1);
  EXPECT_THAT(numbers(), ElementsAre(2, 3));
  pass(1);
  EXPECT_THAT(numbers(), IsEmpty());
  write(2);
  pass(1);
  EXPECT_THAT(numbers(), ElementsAre(4, 5));
  sink->waiting = size_t{1} << 20;
  write(1);
  pass(1);
  EXPECT_THAT(numbers(), IsEmpty()) << "the client has much to read";
  sink->waiting = 0;
  pass(1);
  EXPECT_THAT(numbers(), ElementsAre(6));
}

TEST_F(LiveHubTest, ReadsAgainWhatABatchMayHaveChangedThatDidNotSeeTheFirstClient) {
  Instance instance = waiting_instance(order, 1);
  write_records(instance, 1);
  const auto list = add({.counts = true, .instances = true});
  const auto history = add({.history_of = instance.id});
  step();
  EXPECT_THAT(list->take("instances"), IsEmpty());
  EXPECT_THAT(history->take("history"), SizeIs(1));
  write_records(instance, 1);
  store(waiting_instance(order, 2));
  step();
  pass(1);
  const auto messages = list->take();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0].event, "instances");
  EXPECT_EQ(messages[0].data, Json::parse(R"({"items":[],"more":1})"));
  EXPECT_EQ(messages[1].data, Json::parse(R"({"changed":[["order","waiting",2]]})"));
  const auto records = history->take("history");
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].data["items"][0]["number"], 2);
  step();
  EXPECT_THAT(list->take(), IsEmpty());
}

TEST_F(LiveHubTest, ContinuesForAClientThatComesAgain) {
  const auto first = add({.instances = true});
  change(1);
  step();
  const std::string last = first->take("instances").at(0).id;
  first->open = false;
  change(2);
  step();
  change(3);
  step();
  const auto again = add({.instances = true, .last_id = last});
  step();
  const auto messages = again->take();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0].event, "hello");
  EXPECT_THAT(ids(messages[1]), ElementsAre(id(2), id(3)));
}

TEST_F(LiveHubTest, SaysThatAClientMustReadEverythingAgain) {
  const auto first = add({.instances = true});
  step();
  for (const char* const last : {"b0-1", "b1-99", "b1", "b1-x", "nonsense"}) {
    const auto again = add({.instances = true, .last_id = last});
    step();
    const auto resets = again->take("reset");
    ASSERT_THAT(resets, SizeIs(1)) << last;
    EXPECT_EQ(resets[0].data["why"], "restart");
    EXPECT_TRUE(again->open);
  }
}

TEST_F(LiveHubTest, StopsWatchingSomeTimeAfterTheLastClientHasLeft) {
  const auto sink = add({.instances = true});
  step();
  sink->open = false;
  pass(LiveHub::kLingerTenths - 1);
  EXPECT_TRUE(hub.is_watched());
  pass(1);
  EXPECT_FALSE(hub.is_watched());
  EXPECT_FALSE(ring.is_watched());
  const auto again = add({.instances = true, .last_id = "b1-1"});
  EXPECT_TRUE(ring.is_watched());
  step();
  EXPECT_THAT(again->take("reset"), SizeIs(1)) << "the changes in between are not known";
}

TEST_F(LiveHubTest, ContinuesBehindTheFirstMessageThatCameAfterAPause) {
  const auto before = add({.instances = true});
  step();
  before->open = false;
  pass(LiveHub::kLingerTenths);
  ASSERT_FALSE(hub.is_watched());
  Instance instance = waiting_instance(order, 1);
  write_records(instance, 2);
  const auto first = add({.instances = true, .history_of = instance.id});
  pass(1);
  const auto shown = first->take("history");
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown[0].id, "b1-62@2") << "61 steps, and the pause";
  first->open = false;
  write_records(instance, 1);
  const auto again = add({.instances = true, .history_of = instance.id, .last_id = shown[0].id});
  step();
  const auto missed = again->take();
  ASSERT_THAT(missed, SizeIs(2));
  EXPECT_EQ(missed[0].event, "hello");
  EXPECT_EQ(missed[1].event, "history");
  ASSERT_EQ(missed[1].data["items"].size(), 1U);
  EXPECT_EQ(missed[1].data["items"][0]["number"], 3);
}

TEST_F(LiveHubTest, ContinuesAHistoryBehindTheRecordOfTheId) {
  Instance instance = waiting_instance(order, 1);
  write_records(instance, 3);
  struct Case {
    std::string last;
    uint64_t after;
    uint64_t first;  ///< the number of the first record
    size_t resets;
  };
  const Case cases[] = {
      {"b1-1@2", 0, 3, 0}, {"b1-9999@1", 0, 2, 0},  // a step that is not known
      {"b1-1@1", 2, 3, 0}, {"b0-1@2", 0, 1, 1},     // of another process
      {"b1-1@x", 0, 1, 1}, {"b1-1@", 0, 1, 1},     {"b1-1@2.3", 0, 1, 1},
  };
  for (const Case& one : cases) {
    const auto sink = add({.history_of = instance.id, .after = one.after, .last_id = one.last});
    step();
    size_t resets = 0;
    uint64_t first = 0;
    for (const SentMessage& message : sink->take()) {
      if (message.event == "reset") ++resets;
      if (message.event == "history") first = message.data["items"][0]["number"];
    }
    EXPECT_EQ(resets, one.resets) << one.last;
    EXPECT_EQ(first, one.first) << one.last;
    sink->open = false;
  }
}

TEST_F(LiveHubTest, EndsTheStreamsOfWhatIsDeleted) {
  change(1);
  const auto space = add({.counts = true});
  const auto workflow = add({.instances = true, .workflow = "order"});
  const auto history = add({.history_of = numbered_id(1)});
  step();
  EXPECT_TRUE(space->open && workflow->open && history->open);
  erase_workflow(*tx, ns, "order");
  commit();
  step();
  EXPECT_TRUE(space->open);
  EXPECT_FALSE(workflow->open);
  EXPECT_EQ(workflow->take("reset").at(0).data["why"], "deleted");
  erase_namespace(*tx, "default");
  commit();
  step();
  EXPECT_FALSE(space->open);
  EXPECT_FALSE(history->open);
}

}  // namespace
}  // namespace millrace
