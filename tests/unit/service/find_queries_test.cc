// The query that finds what a text may name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/batch/group_id.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/replay_rows.h"
#include "orchestrator/store/rows/source_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FindQueriesTest : public QueryTest {
 protected:
  FindQueriesTest() : waits(apply(kWaits)) {}

  static Ask find(std::string text, std::string name = "default") {
    return [=](Queries& queries, const View& view) { return queries.find(view, name, text); };
  }
  /// The items, as "kind id: label".
  std::vector<std::string> found(const std::string& text) {
    std::vector<std::string> items;
    const Json answered = answer(find(text));
    for (const Json& item : answered["items"]) {
      items.push_back(fmt::format("{} {}: {}", item["kind"].get<std::string>(),
                                  item["id"].get<std::string>(), item["label"].get<std::string>()));
    }
    return items;
  }
  static std::string id(uint8_t number) { return to_string(numbered_id(number)); }

  const WorkflowNumber waits;
};

TEST_F(FindQueriesTest, FindInstancesByTheBeginningOfTheirIdsNewestFirst) {
  store(waiting_instance(waits, 1));
  store(ended(waiting_instance(waits, 2), InstanceStatus::kFailed));
  store(waiting_instance(waits, 3));
  EXPECT_THAT(found("00000000-0000-"), ElementsAre("instance " + id(3) + ": waits, waiting",
                                                   "instance " + id(2) + ": waits, failed",
                                                   "instance " + id(1) + ": waits, waiting"));
  EXPECT_THAT(found(id(2)), ElementsAre("instance " + id(2) + ": waits, failed"));
  EXPECT_THAT(found(id(9)), IsEmpty());
  damage(Table::kLive, head_key(waiting_instance(waits, 1)));
  EXPECT_THAT(found(id(1)), ElementsAre("instance " + id(1) + ": damaged"));
}

TEST_F(FindQueriesTest, SayThatTheTextNamesMoreThanAreFound) {
  constexpr uint8_t kMostInstances = 7;
  for (uint8_t number = 1; number <= kMostInstances; ++number) {
    store(waiting_instance(waits, number));
  }
  EXPECT_EQ(answer(find("00000000-0000-"))["complete"], true);
  store(ended(waiting_instance(waits, kMostInstances + 1), InstanceStatus::kFailed));
  EXPECT_EQ(answer(find("00000000-0000-"))["complete"], false);
  EXPECT_EQ(found("00000000-0000-").size(), kMostInstances);
  constexpr int kMostWorkflows = 5;
  for (int number = 1; number <= kMostWorkflows + 1; ++number) {
    EXPECT_EQ(answer(find("many"))["complete"], true) << number;
    apply(fmt::format("id: many-{}\nstates:\n- {{id: end, type: noop}}\n", number));
  }
  EXPECT_EQ(answer(find("many"))["complete"], false);
  EXPECT_EQ(found("many").size(), size_t{kMostWorkflows});
}

TEST_F(FindQueriesTest, FindWorkflowsByTheBeginningOfTheirIds) {
  for (const char* const name : {"wait", "waiter", "wasp"}) {
    apply(fmt::format("id: {}\nstates:\n- {{id: end, type: noop}}\n", name));
  }
  EXPECT_THAT(found("wait"), ElementsAre("workflow wait: revision 1", "workflow waiter: revision 1",
                                         "workflow waits: revision 1"));
  EXPECT_THAT(found("waiter"), ElementsAre("workflow waiter: revision 1"));
  EXPECT_THAT(found("wa").size(), 4U);
  EXPECT_THAT(found("x"), IsEmpty());
}

TEST_F(FindQueriesTest, FindTheInstancesOfAnIdempotencyKey) {
  Instance instance = waiting_instance(waits, 1);
  instance.idempotency_key = "key 1";
  write_idempotency(*tx, waits, "key 1", {.instance = instance.id});
  write_idempotency(*tx, waits, "key 2", {.instance = numbered_id(2)});
  store(instance);
  EXPECT_THAT(found("key 1"), ElementsAre("key " + id(1) + ": waits, waiting"));
  EXPECT_THAT(found("key"), IsEmpty()) << "it is not the whole key";
  EXPECT_THAT(found("key 2"), IsEmpty()) << "its instance does not exist";
  instance.sealed = true;
  store(instance);
  EXPECT_THAT(found("key 1"), IsEmpty()) << "the key is not shown in the instance";
}

TEST_F(FindQueriesTest, FindAGroupByItsId) {
  const Fingerprint group = {7};
  write_counts(*tx, waits, group, {2, 0, 1});
  commit();
  const std::string id = to_string(GroupId{"waits", group});
  EXPECT_THAT(found(id), ElementsAre("group " + id + ": waits, 3 waiting events"));
  EXPECT_THAT(found(to_string(GroupId{"waits", {8}})), IsEmpty());
  EXPECT_THAT(found(to_string(GroupId{"none", group})), IsEmpty());
}

TEST_F(FindQueriesTest, FindATaskThatHasNotEndedByItsId) {
  StartTask task{.ns = ns,
                 .task = numbered_id(50),
                 .by = numbered_id(1),
                 .workflow = waits,
                 .state = "pay",
                 .function = "charge",
                 .attempt = 2,
                 .runs = NamedService{.name = "cards"},
                 .input = Json{{"sum", 7}}};
  write_task(*tx, task);
  task.task = numbered_id(51);
  task.is_accepted = true;
  write_task(*tx, task);
  task.task = numbered_id(52);
  task.ns = create_namespace("shop");
  write_task(*tx, task);
  commit();
  EXPECT_THAT(found(id(50)), ElementsAre("task " + id(50) +
                                         ": function charge of state pay, attempt 2, "
                                         "scheduled"));
  EXPECT_EQ(answer(find(id(50)))["items"][0]["instance"], id(1));
  EXPECT_THAT(found(id(51)), ElementsAre("task " + id(51) +
                                         ": function charge of state pay, attempt 2, "
                                         "accepted"));
  EXPECT_THAT(found(id(52)), IsEmpty()) << "it is a task of another namespace";
  EXPECT_THAT(found(id(53)), IsEmpty());
  expect_each_read_to_count(find(id(50)));
  damage(Table::kTasks, rows::key_of(numbered_id(50)));
  EXPECT_THAT(found(id(50)), IsEmpty()) << "its namespace is not known";
}

TEST_F(FindQueriesTest, FindAPendingStartByTheWholeIdOfItsInstance) {
  const WorkflowNumber calm =
      apply("id: calm\ndebounce: {period: PT1M}\nstates:\n- {id: a, type: noop}\n");
  const TimePoint at = now + std::chrono::minutes(1);
  ASSERT_TRUE(write_pending_start(*tx, {.ns = ns, .workflow = calm, .key = {1}},
                                  {.first = now,
                                   .at = at,
                                   .listed = at,
                                   .id = numbered_id(5),
                                   .input = Json::object(),
                                   .how = Json{{"by", "call"}}},
                                  std::nullopt));
  commit();
  EXPECT_THAT(found(id(5)), ElementsAre("pendingStart " + id(5) + ": calm, put off by debounce " +
                                        "until " + format_rfc3339(at)));
  EXPECT_EQ(answer(find(id(5)))["items"][0]["workflow"], "calm");
  EXPECT_THAT(found("00000000-0000-"), IsEmpty()) << "only the whole id";
  EXPECT_THAT(found(id(6)), IsEmpty());
}

TEST_F(FindQueriesTest, FindAReplayOfARangeByItsId) {
  const ReplayPlace place{.ns = ns, .id = {7}};
  ReplayRecord replay{.state = ReplayRecord::State::kDone, .rate = 10, .matched = 9, .sent = 8};
  write_replay(*tx, place, replay);
  replay.is_dry = true;
  write_replay(*tx, {.ns = create_namespace("shop"), .id = {8}}, replay);
  commit();
  const std::string text = "07" + std::string(30, '0');
  EXPECT_THAT(found(text), ElementsAre("replay " + text + ": done, 8 of 9 events sent"));
  const std::string other = "08" + std::string(30, '0');
  EXPECT_THAT(found(other), IsEmpty()) << "it is a replay of another namespace";
  EXPECT_EQ(answer(find(other, "shop"))["items"][0]["label"], "done, 8 of 9 events sent, dry run");
  EXPECT_THAT(found("07"), IsEmpty()) << "it is not the whole id";
}

TEST_F(FindQueriesTest, FindSourcesWebhooksAndServicesByTheirNames) {
  SourceRecord source{.stream = "ORDERS", .begin = "{}", .settings = "{}"};
  write_source(*tx, {.ns = ns, .name = "orders"}, source);
  source.stream = "";
  source.is_paused = true;
  write_source(*tx, {.ns = ns, .name = "own"}, source);
  set_settings(Json::parse(R"({
    "services": {"ask": {"request": "svc.ask"}, "charge": {"startToCloseTimeout": "10m"},
                 "mail": {"url": "http://mail/x"}},
    "paused": ["mail", "stopped"]})"));
  EXPECT_THAT(found("orders"), ElementsAre("source orders: stream ORDERS"));
  EXPECT_THAT(found("own"), ElementsAre("source own: a stream of its own, paused"));
  EXPECT_THAT(found("order"), IsEmpty()) << "it is not the whole name";
  EXPECT_THAT(found("ask"), ElementsAre("service ask: request"));
  EXPECT_THAT(found("charge"), ElementsAre("service charge: workers"));
  EXPECT_THAT(found("mail"), ElementsAre("service mail: http, paused"));
  EXPECT_THAT(found("stopped"), ElementsAre("service stopped: workers, paused"));
  expect_each_read_to_count(find("orders"));
  damage_settings();
  EXPECT_THAT(found("mail"), IsEmpty());
  EXPECT_EQ(answer(find("orders"))["complete"], false) << "the settings cannot be read";
}

TEST_F(FindQueriesTest, FindAnInboundWebhook) {
  set_settings(Json::parse(R"({"hooks": {
    "github": {"verify": {"form": "github", "secrets": ["key"]}, "mapping": {"type": "push"}},
    "chat": {"verify": {"form": "slack", "secrets": ["key"]}, "mapping": {"type": "chat"},
             "paused": true}}})"));
  EXPECT_THAT(found("github"), ElementsAre("webhook github: inbound webhook"));
  EXPECT_THAT(found("chat"), ElementsAre("webhook chat: inbound webhook, paused"));
}

TEST_F(FindQueriesTest, FindAtMostTwentyItems) {
  for (uint8_t number = 1; number <= 20; ++number) {
    store(waiting_instance(waits, number));
    const WorkflowNumber workflow =
        apply(fmt::format("id: \"0{}\"\nstates:\n- {{id: end, type: noop}}\n", number));
    write_idempotency(*tx, workflow, "00000000", {.instance = numbered_id(number)});
  }
  commit();
  EXPECT_EQ(found("0").size(), 12U) << "instances and workflows";
  const Json of_key = answer(find("00000000"));
  EXPECT_EQ(of_key["items"].size(), 11U) << "instances, and those of the key";
  EXPECT_EQ(of_key["complete"], false);
}

TEST_F(FindQueriesTest, FailForANamespaceThatDoesNotExistAndWhenAReadFails) {
  store(waiting_instance(waits, 1));
  write_idempotency(*tx, waits, "0", {.instance = numbered_id(1)});
  commit();
  EXPECT_EQ(outcome(find("x", "none")), "namespace.not_found");
  expect_each_read_to_count(find("0"));
  expect_each_read_to_count(find("wai"));
}

}  // namespace
}  // namespace millrace
