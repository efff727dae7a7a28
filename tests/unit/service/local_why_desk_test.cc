// LocalWhyDesk: the verdicts about one event and the listeners of its type.
#include "orchestrator/service/local_why_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matchers/correlation.h"
#include "model/event_target.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(LocalWhyDeskTest, ShowAPredicateThatDiffersInCaseWithBothValues) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"O-1")");
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  add(waiting(order, 2, "o-2"));
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 predicate", "instance 2 predicate"));
  EXPECT_EQ(why["near"][0]["predicates"], Json::parse(R"([
    {"attribute": "orderid", "kind": "equals", "asks": "o-1", "got": "O-1", "holds": false,
     "hint": "case", "says": "the two differ in upper and lower case only", "fits": "o-1"}])"));
  EXPECT_EQ(why["near"][0]["workflow"], "order");
  EXPECT_EQ(why["near"][0]["state"], "pay");
  EXPECT_EQ(why["near"][0]["says"],
            "the event does not fit what is asked for: `orderid` has another value");
  EXPECT_EQ(why["event"]["type"], "paid");
  EXPECT_EQ(why["effects"], Json::array());
  EXPECT_EQ(why["looked"], 2);
  EXPECT_EQ(why["of"], 2);
  EXPECT_EQ(why["complete"], true);
  EXPECT_EQ(why["asOf"]["cursor"], 1);
}

TEST_F(LocalWhyDeskTest, HintAtAMemberOfTheDataForAMissingAttribute) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"data":{"orderId":"o-1"})");
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  const Json predicate = of_event(1)["near"][0]["predicates"][0];
  EXPECT_EQ(predicate["hint"], "data");
  EXPECT_EQ(predicate["fits"], "o-1");
  EXPECT_EQ(predicate["got"], nullptr);
  EXPECT_THAT(predicate["says"].get<std::string>(),
              HasSubstr("the member `orderId` with the value \"o-1\""));
}

TEST_F(LocalWhyDeskTest, SayThatTheEventCameBeforeTheWait) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  send();
  apply_event(2);
  add(waiting(order, 1, "o-1", 2));
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 before"));
  EXPECT_EQ(
      why["near"][0]["says"],
      "the event came before the wait began (the wait takes events after #2, and this one is "
      "#1); with `lookback` in the definition, instances that come to the state later also take "
      "earlier events; send it to this instance only: `millrace -n default event replay 1 "
      "--to-instance " +
          to_string(numbered_id(1)) + "`")
      << "the times do not show that the event came earlier";
  EXPECT_FALSE(why["near"][0].contains("early"));
}

TEST_F(LocalWhyDeskTest, SayHowLongTheEventCameBeforeTheWait) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  apply_event(1);
  Instance instance = waiting(order, 1, "o-1", 1);
  instance.started_at = clock.time + std::chrono::milliseconds(2'100);
  instance.execution_from = instance.runs_from = instance.started_at;
  instance.state_from = clock.time + std::chrono::milliseconds(3'390);
  add(instance);
  const Json late = of_event(1)["near"][0];
  EXPECT_EQ(late["verdict"], "before");
  EXPECT_THAT(late["says"].get<std::string>(),
              HasSubstr("the event came 3.3 s before the wait began, and before the instance "
                        "started (the wait"));
  EXPECT_EQ(late["early"], Json::parse(R"({"seconds": 3.39, "startedAfterEvent": true})"));
  EXPECT_EQ(of_instance(1)["events"][0]["early"], late["early"]);

  instance.started_at = clock.time - seconds(60);
  instance.execution_from = instance.runs_from = instance.started_at;
  store(instance);
  const Json waits = of_event(1)["near"][0];
  EXPECT_THAT(waits["says"].get<std::string>(),
              HasSubstr(", and after the instance started (the wait"));
  EXPECT_EQ(waits["early"]["startedAfterEvent"], false);
}

TEST_F(LocalWhyDeskTest, SayThatTheDefinitionIsNewerThanTheEvent) {
  send();
  apply_event(1);
  now = clock.time + seconds(5);
  apply(kStart);
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("start shop before"));
  EXPECT_EQ(why["near"][0]["early"], Json::parse(R"({"seconds": 5.0})"));
  EXPECT_THAT(why["near"][0]["says"].get<std::string>(),
              HasSubstr("the event came 5.0 s before the definition with this start was applied; "
                        "send it to this workflow only: `millrace -n default event replay 1 "
                        "--to-workflow shop`"));
}

TEST_F(LocalWhyDeskTest, SayThatTheEventIsNotAppliedYetAndWhy) {
  const WorkflowNumber order = apply(kOrder);
  send();
  send();
  send(R"(,"orderid":"o-1")");
  apply_event(1);
  add(waiting(order, 1, "o-1", 1));
  reads = fail("broker.unreachable", "no connection to NATS");
  const Json why = of_event(3);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 unread"));
  EXPECT_EQ(why["applied"], false);
  EXPECT_THAT(why["near"][0]["says"].get<std::string>(),
              HasSubstr("at most 1 event is before it; reading is held up: no connection to NATS"));
}

TEST_F(LocalWhyDeskTest, ShowWhatAnEventHasDone) {
  const WorkflowNumber order = apply(kOrder);
  const WorkflowNumber shop = apply(kStart);
  send(R"(,"orderid":"o-1")");
  store(ended(waiting_instance(order, 1), InstanceStatus::kComplete));
  store(waiting_instance(shop, 2));
  apply_event(1, {{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(2)},
                  {.kind = EventEffect::Kind::kWoken, .instance = numbered_id(1)}});
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("start shop started", "instance 1 woke"));
  EXPECT_EQ(why["near"][0]["instance"], to_string(numbered_id(2)));
  EXPECT_EQ(why["near"][1]["says"], "the event woke the instance");
  EXPECT_EQ(why["effectCount"], 2);
}

TEST_F(LocalWhyDeskTest, KnowThatAnEventWithoutEffectIsApplied) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"x")");
  send(R"(,"orderid":"O-1")");
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  EXPECT_EQ(of_event(2)["applied"], false);
  // The engine makes no commit for it, so the cursor in the store stays behind.
  applied = read_cursor(*tx).value();
  applied.sequence = 2;
  const Json why = of_event(2);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 predicate"));
  EXPECT_EQ(why["applied"], true);
  EXPECT_EQ(why["asOf"]["cursor"], 2);
}

TEST_F(LocalWhyDeskTest, ShowADuplicate) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  apply_event(1, {{.kind = EventEffect::Kind::kDuplicate}});
  add(waiting(order, 1, "o-1"));
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 duplicate"));
}

TEST_F(LocalWhyDeskTest, KnowADuplicateThatNoCommitHasNoted) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 unread"));
  EXPECT_EQ(of_instance(1)["events"][0]["verdict"], "unread");
  dedupe.add(fingerprint_of("default", {.id = "e", .source = "bank.eu"}));
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 duplicate"));
  EXPECT_EQ(of_instance(1)["events"][0]["verdict"], "duplicate");
  // An event that is not applied may still have an effect of its own.
  send(R"(,"orderid":"o-1")");
  EXPECT_THAT(verdicts(of_event(2)), ElementsAre("instance 1 unread"));
}

TEST_F(LocalWhyDeskTest, SayThatAnEventWithAKnownIdWouldHaveNoEffect) {
  const WorkflowNumber order = apply(kOrder);
  const WorkflowNumber shop = apply(kStart);
  ASSERT_TRUE(index.set_start("default", shop, {{.filter = {.type = "paid"}}}));
  add(waiting(order, 1, "o-1"));
  EXPECT_THAT(verdicts(of_test(R"(,"orderid":"o-1")")),
              ElementsAre("start shop started", "instance 1 woke"));
  dedupe.add(fingerprint_of("default", {.id = "e", .source = "bank.eu"}));
  EXPECT_THAT(verdicts(of_test(R"(,"orderid":"o-1")")),
              ElementsAre("start shop duplicate", "instance 1 duplicate"));
  EXPECT_THAT(verdicts(of_test(R"(,"orderid":"o-2")")),
              ElementsAre("start shop duplicate", "instance 1 predicate"));
  EXPECT_EQ(of_test(R"(,"orderid":"o-2")")["duplicate"], true) << "it is dropped, whatever listens";
  EXPECT_THAT(of_test(R"(,"orderid":"o-1")")["near"][0]["says"].get<std::string>(),
              HasSubstr("would be dropped as a duplicate"));
  index_is_busy = true;
  EXPECT_THAT(verdicts(of_test(R"(,"orderid":"o-1")")),
              ElementsAre("start shop started", "instance 1 woke"));
  EXPECT_FALSE(of_test("").contains("duplicate")) << "that is not known";
}

TEST_F(LocalWhyDeskTest, ShowAnEventThatBecameADeadLetter) {
  apply(kStart);
  send();
  apply_event(1, {{.kind = EventEffect::Kind::kRefused}});
  letters.add("default", "{}", "event.missing_attribute", {{"Millrace-Sequence", "2"}});
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("start shop dead"));
  EXPECT_FALSE(of_event(1).contains("deadLetter")) << "that one is of another event";
  letters.add("default", "{}", "millrace.limits.hops", {{"Millrace-Sequence", "1"}});
  letters.add("default", "{}", "event.missing_attribute", {{"Millrace-Sequence", "3"}});
  EXPECT_EQ(of_event(1)["deadLetter"],
            (Json{{"id", "2"}, {"reason", "millrace.limits.hops"}, {"detail", "no source"}}));
  letters.failing = Error{"broker.unreachable", "no connection"};
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("start shop dead"));
}

TEST_F(LocalWhyDeskTest, DoNotTakeALetterOfAnEarlierStreamForThatOfTheEvent) {
  apply(kStart);
  send();
  apply_event(1, {{.kind = EventEffect::Kind::kRefused}});
  letters.stamped = clock.time - seconds(60);
  letters.add("default", "{}", "event.missing_attribute", {{"Millrace-Sequence", "1"}});
  EXPECT_FALSE(of_event(1).contains("deadLetter"));
}

TEST_F(LocalWhyDeskTest, ShowThatAReplayedEventIsForAnotherTarget) {
  const WorkflowNumber order = apply(kOrder);
  const WorkflowNumber shop = apply(kStart);
  add(waiting(order, 1, "o-1"));
  add(waiting(order, 2, "o-1"));
  const Json why =
      of_test(R"(,"orderid":"o-1","millraceonly":")" + instance_target(numbered_id(2)) + "\"");
  EXPECT_THAT(verdicts(why),
              ElementsAre("instance 2 woke", "start shop predicate", "instance 1 predicate"));
  EXPECT_EQ(why["near"][2]["predicates"].size(), 1U) << "the target is no predicate";
  EXPECT_EQ(why["near"][2]["says"],
            "the event is not addressed to this listener, but to the instance " +
                to_string(numbered_id(2)));
  const std::string to_shop = R"(,"orderid":"x","millraceonly":")" + workflow_target(shop) + "\"";
  const Json for_shop = of_test(to_shop, {.limit = 2});
  EXPECT_EQ(verdicts(for_shop).at(0), "start shop started");
  EXPECT_EQ(for_shop["near"][1]["says"],
            "the event is not addressed to this listener, but to the workflow `shop`");
  EXPECT_EQ(for_shop["others"][0]["what"], for_shop["near"][1]["says"]);
}

TEST_F(LocalWhyDeskTest, ShowHowAStartMissed) {
  struct Row {
    EventEffect::Kind kind;
    std::string verdict;
  };
  const WorkflowNumber pair = apply(kPair);
  uint64_t sequence = 0;
  for (const auto& [kind, verdict] :
       {Row{EventEffect::Kind::kSkipped, "skipped"},
        Row{EventEffect::Kind::kDebounced, "debounced"},
        Row{EventEffect::Kind::kBatched, "batched"},
        Row{EventEffect::Kind::kRateLimited, "rateLimit"},
        Row{EventEffect::Kind::kExpired, "lifespan"}, Row{EventEffect::Kind::kClosed, "lifespan"},
        Row{EventEffect::Kind::kGrouped, "grouped"}}) {
    send(R"(,"orderid":"o-1")");
    apply_event(++sequence, {{.kind = kind, .workflow = pair}});
    EXPECT_THAT(verdicts(of_event(sequence)), ElementsAre("start pair " + verdict));
  }
  send();
  apply_event(++sequence, {{.kind = EventEffect::Kind::kUncorrelated, .workflow = pair}});
  const Json why = of_event(sequence);
  EXPECT_THAT(verdicts(why), ElementsAre("start pair correlation"));
  EXPECT_THAT(why["near"][0]["says"].get<std::string>(), HasSubstr("`orderid`"));
}

TEST_F(LocalWhyDeskTest, SayWhenAnEventLeftItsGroup) {
  const WorkflowNumber pair = apply(R"(
id: pair
start: {type: eventsAnd, lifespan: PT1H, correlate: [orderid], events: [{type: paid}, {type: packed}]}
states:
- {id: end, type: noop}
)");
  send(R"(,"orderid":"o-1")");
  apply_event(1, {{.kind = EventEffect::Kind::kExpired, .workflow = pair}});
  EXPECT_EQ(of_event(1)["near"][0]["says"],
            "the event has left its group before the events of the other entries came: its "
            "lifespan ended about " +
                format_rfc3339(clock.time + std::chrono::hours(1)));
  send(R"(,"orderid":"o-1")");
  apply_event(2, {{.kind = EventEffect::Kind::kClosed, .workflow = pair}});
  EXPECT_THAT(of_event(2)["near"][0]["says"].get<std::string>(), HasSubstr("closed it"));
}

TEST_F(LocalWhyDeskTest, SayWhatAGroupStillWaitsFor) {
  const WorkflowNumber pair = apply(kPair);
  send(R"(,"orderid":"o-1")");
  apply_event(1, {{.kind = EventEffect::Kind::kGrouped, .workflow = pair}});
  const auto record = read_workflow(*tx, ns, "pair").value().value();
  Event event{.id = "e", .source = "bank.eu", .type = "paid"};
  event.extensions["orderid"] = std::string("o-1");
  const std::string key = correlation_key(Attributes(event), {"orderid"}).value();
  const Fingerprint group = record.groups_from == 0
                                ? fingerprint({key})
                                : fingerprint({key, std::to_string(record.groups_from)});
  write_counts(*tx, pair, group, {1, 0});
  commit();
  const Json why = of_event(1);
  EXPECT_EQ(why["near"][0]["waitsFor"], Json::array({"packed"}));
  EXPECT_EQ(
      why["near"][0]["says"],
      "the event waits in a group for `packed` with `orderid` \"o-1\"; `millrace -n default group "
      "list` lists the groups");
  EXPECT_THAT(verdicts(of_test(R"(,"orderid":"o-1")")), ElementsAre("start pair grouped"));
  write_counts(*tx, pair, group, {0, 1});
  commit();
  EXPECT_THAT(verdicts(of_test(R"(,"orderid":"o-1")")), ElementsAre("start pair started"));
  EXPECT_THAT(verdicts(of_test("")), ElementsAre("start pair correlation"));
}

TEST_F(LocalWhyDeskTest, SayWhatAnEventWouldDoAndSendNothing) {
  const WorkflowNumber order = apply(kOrder);
  apply(kStart);
  add(waiting(order, 1, "o-1"));
  Instance paused = waiting(order, 2, "o-1");
  paused.paused = true;
  paused.status = InstanceStatus::kPaused;
  add(paused);
  const Json why = of_test(R"(,"orderid":"o-1")");
  EXPECT_THAT(verdicts(why),
              ElementsAre("start shop started", "instance 1 woke", "instance 2 paused"));
  EXPECT_EQ(why["near"][1]["says"], "the event would wake the instance");
  EXPECT_FALSE(why.contains("effects"));
  EXPECT_FALSE(why["event"].contains("sequence"));
  EXPECT_EQ(events.span().value().last, 0U);
}

TEST_F(LocalWhyDeskTest, SayThatASingularStartWouldBeSkipped) {
  const WorkflowNumber one = apply(
      "id: one\nsingular: true\nstart: {type: event, event: {type: paid}}\n"
      "states:\n- {id: end, type: noop}\n");
  EXPECT_THAT(verdicts(of_test("")), ElementsAre("start one started"));
  store(waiting_instance(one, 1));
  const Json tried = of_test("");
  EXPECT_THAT(verdicts(tried), ElementsAre("start one skipped"));
  EXPECT_EQ(tried["near"][0]["instance"], to_string(numbered_id(1)));
  EXPECT_EQ(tried["near"][0]["says"], "the workflow is singular and has a live instance, " +
                                          to_string(numbered_id(1)) +
                                          ", so the start would be skipped");
}

TEST_F(LocalWhyDeskTest, NameTheInstanceBecauseOfWhichAStartWasSkipped) {
  const WorkflowNumber one = apply(
      "id: one\nsingular: true\nstart: {type: event, event: {type: paid}}\n"
      "states:\n- {id: end, type: noop}\n");
  send();
  apply_event(1, {{.kind = EventEffect::Kind::kSkipped, .workflow = one}});
  EXPECT_EQ(of_event(1)["near"][0]["says"],
            "the workflow is singular and has a live instance, so the start was skipped");
  store(waiting_instance(one, 1));
  EXPECT_EQ(of_event(1)["near"][0]["instance"], to_string(numbered_id(1)));
  Instance later = waiting_instance(one, 1);
  later.started_at = clock.time + seconds(1);
  store(later);
  EXPECT_FALSE(of_event(1)["near"][0].contains("instance")) << "it started after the event";
}

TEST_F(LocalWhyDeskTest, SayThatAnEventFillsOneEntryOfAnEventAndState) {
  const WorkflowNumber both = apply(kBoth);
  Instance instance = waiting(both, 1, "o-1");
  instance.listeners.push_back({.entry = 1, .filter = {.type = "packed"}});
  add(instance);
  const Json would = of_test(R"(,"orderid":"o-1")");
  EXPECT_THAT(verdicts(would), ElementsAre("instance 1 filled"));
  EXPECT_EQ(would["near"][0]["waitsFor"], Json::array({"packed"}));

  send(R"(,"orderid":"o-1")");
  instance.listeners.erase(instance.listeners.begin());
  instance.listen_from.event = {stream(), 1};
  write_history(*tx, 1,
                {.ns = ns,
                 .instance = instance.id,
                 .records = {{.time = now,
                              .kind = HistoryKind::kEntered,
                              .state = "collect",
                              .event = {stream(), 0}}}});
  instance.last_history = instance.history_count = 1;
  store(instance);
  apply_event(1, {{.kind = EventEffect::Kind::kWoken, .instance = instance.id}});
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 filled"));
  EXPECT_EQ(why["near"][0]["waitsFor"], Json::array({"packed"}));

  const Json half = of_instance(1);
  EXPECT_EQ(half["instance"]["arrived"], Json::array({"paid"}));
  EXPECT_EQ(half["instance"]["waits"][0]["type"], "packed");
}

TEST_F(LocalWhyDeskTest, SayThatAnEarlyEventHasFilledOneEntryOfAnEventAndState) {
  const WorkflowNumber both = apply(kBoth);
  send();
  Instance instance = waiting_instance(both, 1);
  instance.listen_from.event = {stream(), 1};
  instance.listeners = {{.entry = 1, .filter = {.type = "packed"}}};
  const auto woken_by = [&](const char* id) {
    return HistoryRecord{.time = now,
                         .kind = HistoryKind::kWoken,
                         .state = "collect",
                         .detail = Json{{"type", "paid"}, {"source", "bank.eu"}, {"id", id}}};
  };
  const HistoryRecord entered{
      .time = now, .kind = HistoryKind::kEntered, .state = "collect", .event = {stream(), 1}};
  struct Case {
    std::vector<HistoryRecord> records;
    const char* verdict;
  };
  const std::vector<Case> cases = {{{entered, woken_by("e")}, "instance 1 filled"},
                                   {{entered, woken_by("other")}, "instance 1 woke"},
                                   {{woken_by("e"), entered}, "instance 1 woke"}};
  for (const Case& one : cases) {
    ++instance.last_history;
    write_history(*tx, instance.last_history,
                  {.ns = ns, .instance = instance.id, .records = one.records});
    instance.history_count = one.records.size();
    store(instance);
    apply_event(1, {{.kind = EventEffect::Kind::kWoken, .instance = instance.id}});
    EXPECT_THAT(verdicts(of_event(1)), ElementsAre(one.verdict));
  }
}

TEST_F(LocalWhyDeskTest, SayThatTheWaitHadEnded) {
  const WorkflowNumber order = apply(kOrder);
  send();
  send(R"(,"orderid":"o-1")");
  apply_event(2);
  Instance instance = waiting_instance(order, 1);
  instance.state = 1;
  instance.listen_from.event = {stream(), 1};
  HistoryRow row{.ns = ns, .instance = instance.id};
  row.records = {
      {.time = now, .kind = HistoryKind::kEntered, .state = "pay", .event = {stream(), 0}},
      {.time = now + seconds(3),
       .kind = HistoryKind::kRaised,
       .state = "pay",
       .detail = Json{{"code", "direktiv.stateTimeout"}, {"msg", "late"}}},
      {.time = now + seconds(3),
       .kind = HistoryKind::kEntered,
       .state = "ship",
       .event = {stream(), 1}}};
  write_history(*tx, 1, row);
  instance.last_history = 1;
  instance.history_count = 3;
  store(instance);
  const Json why = of_event(2, {.instance = numbered_id(1)});
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 after"));
  EXPECT_EQ(why["near"][0]["state"], "pay");
  EXPECT_THAT(why["near"][0]["says"].get<std::string>(), HasSubstr("it timed out"));
  EXPECT_THAT(verdicts(of_event(1, {.instance = numbered_id(1)})),
              ElementsAre("instance 1 predicate"))
      << "the event was applied during the wait";
  const Json of_it = of_instance(1);
  ASSERT_EQ(of_it["events"].size(), 2U);
  EXPECT_EQ(of_it["events"][0]["verdict"], "after");
  EXPECT_EQ(of_it["events"][1]["verdict"], "predicate");
}

TEST_F(LocalWhyDeskTest, NameTheEventThatEndedTheWait) {
  const WorkflowNumber order = apply(kOrder);
  send();
  send(R"(,"orderid":"o-1")");
  apply_event(2);
  Instance instance = ended(waiting_instance(order, 1), InstanceStatus::kComplete);
  instance.listen_from.event = {stream(), 1};
  instance.last_history = 1;
  const auto record = [&](HistoryKind kind, const char* id) {
    HistoryRecord made{.time = now, .kind = kind, .state = "pay", .event = {stream(), 0}};
    if (kind == HistoryKind::kWoken) {
      made.detail = Json{{"type", "paid"}, {"source", "bank.eu"}, {"id", id}};
    }
    return made;
  };
  const std::vector<HistoryRecord> records = {
      record(HistoryKind::kEntered, ""), record(HistoryKind::kWoken, "p-7"),
      record(HistoryKind::kWoken, "p-8"), record(HistoryKind::kEnded, "")};
  instance.history_count = records.size();
  write_history(*tx, 1, {.ns = ns, .instance = instance.id, .records = records});
  for (const bool is_sealed : {false, true}) {
    instance.sealed = is_sealed;
    store(instance);
    const Json why = of_event(2, {.instance = numbered_id(1)});
    EXPECT_THAT(verdicts(why), ElementsAre("instance 1 after"));
    EXPECT_THAT(
        why["near"][0]["says"].get<std::string>(),
        HasSubstr(is_sealed ? ": an event woke it" : ": the event \"p-8\" of \"bank.eu\" woke it"));
  }
}

}  // namespace
}  // namespace millrace
