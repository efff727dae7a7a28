// LocalWhyDesk: states with `lookback`, which take events that came before they listen, and
// instances that are entering a state.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/past_waits.h"
#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class LookbackWhyTest : public LocalWhyDeskTest {
 protected:
  static constexpr const char* kLooksBack = R"(
id: order
states:
- {id: pay, type: consumeEvent, event: {type: paid, lookback: PT10M}, transition: ship}
- {id: ship, type: noop}
)";
  static constexpr const char* kLooksBackLater = R"(
id: order
states:
- {id: check, type: noop, transition: pay}
- {id: pay, type: consumeEvent, event: {type: paid, lookback: PT10M}}
)";

  /// Two matching events, twenty minutes apart, and a third one that does not match; all applied.
  void send_events() {
    send(R"(,"orderid":"o-1")");
    clock.time += minutes(20);
    send(R"(,"orderid":"o-1")");
    send();
    apply_event(3);
  }
  /// As waiting(), but the state was entered now.
  Instance waiting_now(WorkflowNumber workflow, uint64_t from) {
    Instance instance = waiting(workflow, 1, "o-1", from);
    instance.state_from = clock.time;
    return instance;
  }
  /// An instance whose window is not read yet.
  Instance entering_now(WorkflowNumber workflow, uint64_t from) {
    Instance instance = waiting_now(workflow, from);
    instance.status = InstanceStatus::kRunning;
    instance.phase = Phase::kEntering;
    instance.parked = true;
    instance.listeners.clear();
    return instance;
  }
  std::string window() const { return format_rfc3339(clock.time - minutes(10)); }
  static std::string says_of(const Json& answer) {
    return answer["near"].at(0)["says"].get<std::string>();
  }
};

TEST_F(LookbackWhyTest, NameTheWindowIfTheEventCameBeforeIt) {
  const WorkflowNumber order = apply(kLooksBack);
  send_events();
  add(waiting_now(order, 3));
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 before"));
  EXPECT_EQ(why["near"][0]["lookbackFrom"], window());
  EXPECT_THAT(says_of(why), HasSubstr("; the state looks back to " + window() +
                                      " only (`lookback`); send it to "));
  EXPECT_EQ(of_instance(1)["instance"]["waits"][0]["lookbackFrom"], window());
}

TEST_F(LookbackWhyTest, SayThatAnEventOfTheWindowIsADuplicateOfOneThatTheInstanceHasTaken) {
  const WorkflowNumber order = apply(kLooksBack);
  send_events();
  Instance instance = waiting_now(order, 3);
  add(instance);
  const Json why = of_event(2);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 before"));
  EXPECT_THAT(says_of(why), HasSubstr("has looked back to " + window()));
  instance.consumed.add({stream(), 1}, fingerprint_of("default", {.id = "e", .source = "bank.eu"}));
  add(instance);
  EXPECT_THAT(verdicts(of_event(2)), ElementsAre("instance 1 duplicate"));
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 before")) << "not in the window";
  EXPECT_THAT(verdicts(of_event(3)), ElementsAre("instance 1 predicate"));
}

TEST_F(LookbackWhyTest, FindAnInstanceThatIsStillReadingItsWindow) {
  const WorkflowNumber order = apply(kLooksBack);
  send_events();
  store(entering_now(order, 2));
  const Json why = of_event(2);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 unread"));
  EXPECT_EQ(says_of(why), "the state `pay` looks back to " + window() +
                              " (`lookback`), and the events since then are not read yet; the "
                              "instance takes the event if it fits");
  EXPECT_EQ(why["looked"], 1);
  EXPECT_EQ(why["complete"], true);
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 before"));
  const Json later = of_event(3);
  EXPECT_THAT(verdicts(later), ElementsAre("instance 1 unread"));
  EXPECT_THAT(says_of(later),
              HasSubstr("does not listen yet; it is offered the event when it does"));
  EXPECT_THAT(says_of(of_test("")), HasSubstr("it is offered an event that comes meanwhile"));

  const Json of_it = of_instance(1);
  EXPECT_EQ(of_it["instance"]["waits"], Json::array());
  EXPECT_EQ(of_it["instance"]["entering"],
            Json::array({{{"type", "paid"}, {"lookbackFrom", window()}}}));
  EXPECT_EQ(of_it["events"].size(), 3U);

  Instance paused = entering_now(order, 2);
  paused.paused = true;
  store(paused);
  EXPECT_THAT(says_of(of_event(2)), HasSubstr("it is paused, and continues when it is resumed"));
}

TEST_F(LookbackWhyTest, FindAnInstanceThatHasTakenOnlySomeEventsOfItsWindow) {
  const WorkflowNumber order = apply(R"(
id: order
states:
- {id: pay, type: eventAnd, events: [{type: paid, lookback: PT10M}, {type: paid, lookback: PT10M}]}
)");
  send_events();
  Instance instance = entering_now(order, 2);
  instance.parked = false;
  instance.listeners = waiting(order, 1, "o-1").listeners;
  instance.slots = {std::nullopt, LazyJson(1)};
  store(instance);
  const Json why = of_event(2);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 unread"));
  EXPECT_THAT(says_of(why), HasSubstr("the events since then are not read yet"));
}

TEST_F(LookbackWhyTest, JudgeAnInstanceThatIsEnteringAStateWithoutLookback) {
  const WorkflowNumber order = apply(kOrder);
  send_events();
  store(entering_now(order, 2));
  EXPECT_THAT(verdicts(of_event(3)), ElementsAre("instance 1 unread"));
  const Json early = of_event(2);
  EXPECT_THAT(verdicts(early), ElementsAre("instance 1 before"));
  EXPECT_FALSE(early["near"][0].contains("lookbackFrom"));
  EXPECT_THAT(says_of(early), HasSubstr("; with `lookback` in the definition, instances"));
}

TEST_F(LookbackWhyTest, SayUntilWhenAnInstanceMayComeToAStateThatTakesTheEvent) {
  const WorkflowNumber order = apply(kLooksBackLater);
  send();
  apply_event(1);
  store(waiting_instance(order, 1));
  const WhyFilter expected{.instance = numbered_id(1)};
  EXPECT_EQ(says_of(of_event(1, expected)),
            "the instance is not in a state that waits for this type, such as `pay`; that state "
            "looks back (`lookback`), so it also takes this event if the instance comes there "
            "until " +
                format_rfc3339(clock.time + minutes(10)));
  EXPECT_THAT(says_of(of_test("", expected)), HasSubstr("also takes events that came before"));
  store(ended(waiting_instance(order, 2), InstanceStatus::kComplete));
  EXPECT_THAT(says_of(of_event(1, WhyFilter{.instance = numbered_id(2)})),
              HasSubstr("the instance has ended, and has not been"));
}

TEST_F(LookbackWhyTest, KnowThatAPastWaitLookedBackToTheEvent) {
  const WorkflowNumber order = apply(kLooksBack);
  send(R"(,"orderid":"o-1")");
  apply_event(1);
  Instance instance = waiting_instance(order, 1);
  instance.state = 1;
  instance.listen_from.event = {stream(), 1};
  write_history(*tx, 1,
                {.ns = ns,
                 .instance = instance.id,
                 .records = {{.time = now + seconds(2),
                              .kind = HistoryKind::kEntered,
                              .state = "pay",
                              .event = {stream(), 1}},
                             {.time = now + seconds(3),
                              .kind = HistoryKind::kEntered,
                              .state = "ship",
                              .event = {stream(), 1}}}});
  instance.last_history = 1;
  instance.history_count = 2;
  store(instance);
  const Json why = of_event(1, {.instance = numbered_id(1)});
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 predicate"));
  EXPECT_EQ(why["near"][0]["state"], "pay");
  EXPECT_THAT(says_of(why), HasSubstr("did not take the event"));
  EXPECT_EQ(why["near"][0]["lookbackFrom"], format_rfc3339(now + seconds(2) - minutes(10)));
}

TEST_F(LookbackWhyTest, SayThatTheWindowOfAPastWaitWasCut) {
  const WorkflowNumber order = apply(kLooksBack);
  send(R"(,"orderid":"o-1")");
  send(R"(,"orderid":"o-1")");
  apply_event(2);
  Instance instance = ended(waiting_instance(order, 1), InstanceStatus::kFailed);
  instance.listen_from.event = {stream(), 2};
  const Json raised = {{"code", "millrace.limits.lookback"}, {"msg", "more than 10000"}};
  write_history(*tx, 1,
                {.ns = ns,
                 .instance = instance.id,
                 .records = {{.time = now + seconds(2),
                              .kind = HistoryKind::kEntered,
                              .state = "pay",
                              .event = {stream(), 1}},
                             {.time = now + seconds(3),
                              .kind = HistoryKind::kRaised,
                              .state = "pay",
                              .detail = raised},
                             {.time = now + seconds(3),
                              .kind = HistoryKind::kEnded,
                              .state = "pay",
                              .detail = raised}}});
  instance.last_history = 1;
  instance.history_count = 3;
  store(instance);
  for (const uint64_t sequence : {1, 2}) {
    const Json why = of_event(sequence, {.instance = numbered_id(1)});
    EXPECT_THAT(verdicts(why), ElementsAre("instance 1 limit")) << "early, and while it was read";
    EXPECT_EQ(says_of(why),
              "the window of the state `pay` (`lookback`) could not be read completely, so the "
              "instance was offered no event; the state raised millrace.limits.lookback, and the "
              "history of the instance says why");
  }
}

TEST_F(LookbackWhyTest, TakeTheLongestWindowOfTheEntriesOfAType) {
  const auto workflow = load_stored(R"(
id: any
states:
- id: either
  type: eventXor
  events:
  - {event: {type: paid, lookback: PT1M}}
  - {event: {type: paid, lookback: PT5M}}
  - {event: {type: sent}}
)");
  ASSERT_TRUE(workflow);
  const State& state = *(*workflow)->states.at(0);
  EXPECT_EQ(window_begin(state, "paid", now), now - minutes(5));
  EXPECT_EQ(window_begin(state, "sent", now), std::nullopt);
  EXPECT_EQ(window_begin(state, "gone", now), std::nullopt);
}

}  // namespace
}  // namespace millrace
