// LocalWhyDesk: instances that do not listen for the event, and starts that would not run at once.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/event_target.h"
#include "orchestrator/service/past_waits.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class WaitsWhyTest : public LocalWhyDeskTest {
 protected:
  static std::string says_of(const Json& answer) {
    return answer["near"].at(0)["says"].get<std::string>();
  }

  static constexpr const char* kAsksForOrder = R"(
id: order
states:
- id: pay
  type: consumeEvent
  event: {type: paid, context: {orderid: jq(.order)}}
  transition: ship
- {id: ship, type: noop}
)";

  void send_six() {
    for (const char* const id : {"o-1", "O-1", "o-9", "o-1", "o-1", "o-9"}) {
      send(R"(,"orderid":")" + std::string(id) + "\"");
    }
    apply_event(6);
  }

  /// An instance in `ship` whose wait in `pay` took the events 3 and 4, of which the latter ended
  /// it. `data`: as the history has it.
  Instance in_ship(WorkflowNumber order, uint8_t number, std::optional<LazyJson> data) {
    Instance instance = waiting_instance(order, number);
    instance.state = 1;
    instance.listen_from.event = {stream(), 4};
    write_history(*tx, number,
                  {.ns = ns,
                   .instance = instance.id,
                   .records = {{.time = clock.time,
                                .kind = HistoryKind::kEntered,
                                .state = "pay",
                                .data = std::move(data),
                                .event = {stream(), 2}},
                               {.time = clock.time,
                                .kind = HistoryKind::kEntered,
                                .state = "ship",
                                .event = {stream(), 4}}}});
    instance.last_history = number;
    instance.history_count = 2;
    return instance;
  }
};

TEST_F(WaitsWhyTest, NameNoReplayForAWaitThatIsOver) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  send(R"(,"orderid":"o-1")");
  apply_event(2);
  // The second event ended the wait in `pay`.
  const auto instance_in_ship = [&](uint64_t number) {
    Instance instance = waiting_instance(order, number);
    instance.started_at = clock.time + seconds(2);
    instance.execution_from = instance.runs_from = instance.state_from = instance.started_at;
    instance.state = 1;
    instance.listen_from.event = {stream(), 2};
    write_history(*tx, number,
                  {.ns = ns,
                   .instance = instance.id,
                   .records = {{.time = clock.time + seconds(1),
                                .kind = HistoryKind::kEntered,
                                .state = "pay",
                                .event = {stream(), 1}},
                               {.time = clock.time + seconds(2),
                                .kind = HistoryKind::kEntered,
                                .state = "ship",
                                .event = {stream(), 2}}}});
    instance.last_history = number;
    instance.history_count = 2;
    return instance;
  };
  Instance instance = instance_in_ship(1);
  store(instance);
  const Json why = of_event(1, {.instance = numbered_id(1)});
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 before"));
  EXPECT_EQ(says_of(why),
            "the event came 2.0 s before the wait began, and before the instance started (the wait "
            "takes events after #1, and this one is #1); the instance does not wait for this type "
            "now; it is in `ship`");
  EXPECT_EQ(why["near"][0]["stateNow"], "ship");
  instance.paused = true;
  instance.status = InstanceStatus::kPaused;
  store(instance);
  EXPECT_THAT(says_of(of_event(1, {.instance = numbered_id(1)})),
              HasSubstr("; it is paused in `ship`"));
  store(ended(instance_in_ship(2), InstanceStatus::kCancelled));
  const std::string over = says_of(of_event(1, {.instance = numbered_id(2)}));
  EXPECT_THAT(over, HasSubstr("; the instance has ended, so it can take no event; `millrace -n "
                              "default instance rerun " +
                              to_string(numbered_id(2)) + " --from pay` starts it again"));
  EXPECT_THAT(over, Not(HasSubstr("event replay")));
}

TEST_F(WaitsWhyTest, SayWhetherTheEventFitsAWaitThatIsOver) {
  const WorkflowNumber order = apply(kAsksForOrder);
  send_six();
  const LazyJson data(Json{{"order", "o-1"}});
  store(ended(in_ship(order, 1, data), InstanceStatus::kComplete));
  store(in_ship(order, 2, data));
  store(ended(in_ship(order, 3, std::nullopt), InstanceStatus::kComplete));
  struct Row {
    uint8_t instance;
    uint64_t event;
    std::string verdict;
    Json would_fit;  ///< null: not known
    bool has_rerun;
    std::string says;
  };
  const std::string fits = "; the event fits what the state `pay` asked for";
  const std::string fails =
      "the event does not fit what the state `pay` asked for: `orderid` has another value";
  const Row rows[] = {
      {1, 1, "before", true, true, fits},
      {1, 2, "before", false, false, "so it can take no event; " + fails},
      {1, 3, "predicate", false, false, "when the event came, and " + fails},
      {1, 5, "after", true, false, fits},
      {1, 6, "after", false, false, "; " + fails},
      {2, 1, "before", true, false, "it is in `ship`" + fits},
      {2, 2, "before", false, false, "it is in `ship`; " + fails},
      {3, 2, "before", nullptr, true, "whether the event fits what it asked for is not known"},
      {3, 3, "predicate", nullptr, false, "which is no longer stored"},
  };
  for (const Row& row : rows) {
    const Json why = of_event(row.event, {.instance = numbered_id(row.instance)});
    const Json one = why["near"].at(0);
    EXPECT_EQ(one["verdict"], row.verdict) << one;
    EXPECT_EQ(one.value("wouldFit", Json()), row.would_fit) << one;
    EXPECT_EQ(says_of(why).find("instance rerun") != std::string::npos, row.has_rerun) << one;
    EXPECT_THAT(says_of(why), HasSubstr(row.says));
  }
  const Json early = of_event(2, {.instance = numbered_id(1)})["near"][0]["predicates"][0];
  EXPECT_EQ(early["asks"], "o-1");
  EXPECT_EQ(early["hint"], "case");
}

TEST_F(WaitsWhyTest, NameInstancesWhoseWaitIsOverAndWhichTheEventFits) {
  const WorkflowNumber order = apply(kAsksForOrder);
  send_six();
  store(ended(in_ship(order, 1, LazyJson(Json{{"order", "o-1"}})), InstanceStatus::kComplete));
  store(in_ship(order, 2, LazyJson(Json{{"order", "o-9"}})));
  store(in_ship(order, 3, std::nullopt));
  const Json over = of_event(5);
  EXPECT_THAT(verdicts(over), ElementsAre("instance 1 after"));
  EXPECT_EQ(over["near"][0]["ended"], true);
  EXPECT_EQ(over["looked"], 0) << "it is no listener";
  EXPECT_THAT(says_of(over), HasSubstr("the wait for this type in the state `pay` ended before the "
                                       "event came, at " +
                                       format_rfc3339(clock.time)));
  EXPECT_THAT(verdicts(of_event(6)), ElementsAre("instance 2 after"));
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 before"));
  EXPECT_THAT(verdicts(of_event(2)), ElementsAre()) << "no wait asked for this value";
  for (uint8_t i = 4; i < 10; ++i) {
    store(in_ship(order, i, LazyJson(Json{{"order", "o-1"}})));
  }
  EXPECT_EQ(of_event(5)["near"].size(), 5U);
  apply_event(5, {{.kind = EventEffect::Kind::kWoken, .instance = numbered_id(3)}});
  EXPECT_EQ(of_event(5)["near"].size(), 1U) << "the event has an effect";
}

TEST_F(WaitsWhyTest, KnowWhatAWaitAskedForIfTheFastLaneCanEvaluateIt) {
  struct Row {
    std::string context;
    std::string asked;  ///< empty: not known
  };
  const Row rows[] = {
      {"{orderid: jq(.order)}", "orderid=o-1"},
      {"{orderid: '^o-'}", "orderid~^o-"},
      {"{orderid: '^jq(.order)$'}", "orderid~^(?:o\\-1)$"},
      {"{number: 7}", "number=7"},
      {"{orderid: jq(.gone)}", ""},
      {"{orderid: jq(.order | ascii_upcase)}", ""},
  };
  for (const Row& row : rows) {
    const auto workflow = load_stored(
        "id: w\nstates:\n- {id: pay, type: consumeEvent, event: {type: paid, context: " +
        row.context + "}}\n");
    ASSERT_TRUE(workflow) << row.context;
    const PastWait wait{.state = "pay", .data = LazyJson(Json{{"order", "o-1"}})};
    const auto asked = asked_in(wait, **workflow, "paid");
    ASSERT_EQ(asked.has_value(), !row.asked.empty()) << row.context;
    if (!asked) continue;
    const Predicate& one = asked->at(0).predicates.at(0);
    const bool is_equality = one.kind == Predicate::Kind::kEquals;
    EXPECT_EQ(one.attribute + (is_equality ? "=" : "~") + one.text, row.asked);
    EXPECT_FALSE(asked_in({.state = "pay"}, **workflow, "paid")) << "no data is recorded";
  }
}

TEST_F(WaitsWhyTest, SayThatAnInstanceOfAPausedWorkflowStartsPaused) {
  const WorkflowNumber shop = apply(kStart);
  WorkflowRecord record = read_workflow(*tx, ns, "shop").value().value();
  record.paused = true;
  write_workflow(*tx, ns, "shop", record);
  commit();
  const Json tried = of_test("");
  EXPECT_THAT(verdicts(tried), ElementsAre("start shop paused"));
  EXPECT_EQ(
      says_of(tried),
      "the event would start an instance, which starts paused, since the workflow is paused; "
      "it continues when the workflow is resumed: `millrace -n default workflow resume shop`");

  send();
  Instance instance = waiting_instance(shop, 1);
  instance.paused = true;
  instance.status = InstanceStatus::kPaused;
  store(instance);
  apply_event(1, {{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(1)}});
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("start shop paused"));
  EXPECT_EQ(why["near"][0]["instance"], to_string(numbered_id(1)));
  EXPECT_THAT(says_of(why), HasSubstr("the event started the instance, which is paused, since"));
  EXPECT_EQ(of_instance(1, 1)["events"][0]["says"], says_of(why));
  record.paused = false;
  write_workflow(*tx, ns, "shop", record);
  commit();
  EXPECT_THAT(says_of(of_event(1)), HasSubstr("`millrace -n default instance resume 0"));
  instance.paused = false;
  instance.status = InstanceStatus::kWaiting;
  store(instance);
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("start shop started"));
}

TEST_F(WaitsWhyTest, SayThatAQuotaWouldRefuseTheStart) {
  struct Row {
    std::string quotas;
    std::string verdict;
    std::string says;
  };
  const WorkflowNumber order = apply(kOrder);
  apply(kStart);
  Instance instance = waiting_instance(order, 1);
  instance.history_bytes = 100;
  store(instance);
  const std::string refused =
      "the start would be refused, and the event would become a dead letter: ";
  const Row rows[] = {
      {R"({"instances": 2})", "start shop started", "the event would start an instance"},
      {R"({"instances": 1})", "start shop dead",
       refused +
           "millrace.quota.instances: the namespace has 1 live instances, which is its quota"},
      {R"({"storeBytes": 1})", "start shop dead", refused + "millrace.quota.storeBytes: "},
  };
  for (const Row& row : rows) {
    set_settings({{"quotas", Json::parse(row.quotas)}});
    const Json tried = of_test("");
    EXPECT_THAT(verdicts(tried), ElementsAre(row.verdict)) << row.quotas;
    EXPECT_THAT(says_of(tried), HasSubstr(row.says));
  }
  send();
  apply_event(1);
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("start shop unread")) << "the effects decide";
}

TEST_F(WaitsWhyTest, CountTheInstanceThatTheEventWoke) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  store(ended(waiting_instance(order, 1), InstanceStatus::kComplete));
  apply_event(1, {{.kind = EventEffect::Kind::kWoken, .instance = numbered_id(1)}});
  const Json only = of_event(1);
  EXPECT_EQ(only["looked"], 1);
  EXPECT_EQ(only["of"], 1);
  EXPECT_FALSE(only.contains("elsewhere"));
  add(waiting(order, 2, "o-2", 1));
  const Json why = of_event(1);
  EXPECT_EQ(why["near"].size(), 2U);
  EXPECT_EQ(why["looked"], 2);
  EXPECT_EQ(why["of"], 2);
  EXPECT_EQ(why["complete"], true);
}

TEST_F(WaitsWhyTest, ShowWhatElseCameOfTheEventsForAnInstance) {
  const WorkflowNumber order = apply(kOrder);
  const WorkflowNumber shop = apply(kStart);
  send(R"(,"orderid":"O-1")");
  store(waiting_instance(shop, 2));
  apply_event(1, {{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(2)},
                  {.kind = EventEffect::Kind::kGrouped, .workflow = shop}});
  add(waiting(order, 1, "o-1"));
  const Json one = of_instance(1)["events"][0];
  EXPECT_EQ(one["verdict"], "predicate");
  EXPECT_EQ(one["applied"], true);
  EXPECT_EQ(one["effectCount"], 2);
  EXPECT_EQ(one["effects"][0],
            (Json{{"what", "started"}, {"instance", to_string(numbered_id(2))}}));
  EXPECT_EQ(one["effects"][1], (Json{{"what", "grouped"}, {"workflow", "shop"}}));
}

TEST_F(WaitsWhyTest, SayThatAnInstanceHasAStepToMakeWithTheEvaluationsOfItsNamespace) {
  const WorkflowNumber order = apply(kOrder);
  Instance instance = waiting_instance(order, 1);
  instance.status = InstanceStatus::kRunning;
  instance.phase = Phase::kEntering;
  store(instance);
  store(waiting_instance(order, 2));
  commit();
  evaluations[ns] = {.fast_waiting = 3, .fast_running = 2};
  evaluations[NamespaceNumber(99)] = {.slow_running = 9};
  EXPECT_EQ(of_instance(1)["instance"]["step"],
            (Json{{"evaluations",
                   {{"fast", {{"waiting", 3}, {"running", 2}}},
                    {"slow", {{"waiting", 0}, {"running", 0}}}}}}));
  EXPECT_FALSE(of_instance(2)["instance"].contains("step")) << "it does not run";
}

TEST_F(WaitsWhyTest, JudgeTheInstanceToWhichTheEventIsAddressed) {
  const WorkflowNumber order = apply(kOrder);
  store(ended(waiting_instance(order, 1), InstanceStatus::kComplete));
  const std::string to = R"(,"millraceonly":")" + instance_target(numbered_id(1)) + "\"";
  send(to);
  apply_event(1);
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 before"));
  EXPECT_THAT(verdicts(of_test(to)), ElementsAre("instance 1 before"));
  EXPECT_THAT(verdicts(of_event(1, {.instance = numbered_id(1)})),
              ElementsAre("instance 1 before"));
  send(R"(,"millraceonly":")" + instance_target(numbered_id(9)) + "\"");
  apply_event(2);
  EXPECT_THAT(verdicts(of_event(2)), ElementsAre()) << "no instance has this id";
}

}  // namespace
}  // namespace millrace
