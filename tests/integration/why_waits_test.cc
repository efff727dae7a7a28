// Why an instance was not woken although its predicates hold, over HTTP on a running server: the
// event came at another time, or something holds the instance or the event back.
#include <string>

#include <gtest/gtest.h>

#include "tests/integration/why_situations.h"

namespace millrace {
namespace {

constexpr const char* kWaitsForOrder = R"(states:
  - id: wait
    type: consumeEvent
    event: {type: NAME, context: {orderid: jq(.order)}}
    transition: rest
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kWaitsAndEnds = R"(states:
  - {id: wait, type: consumeEvent, event: {type: NAME, context: {orderid: jq(.order)}}}
)";
constexpr const char* kWaitTimesOut = R"(states:
  - id: wait
    type: consumeEvent
    timeout: PT0.1S
    event: {type: NAME}
    catch: [{error: direktiv.stateTimeout, transition: rest}]
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kRestFirst = R"(states:
  - {id: rest, type: delay, duration: PT1H, transition: wait}
  - {id: wait, type: consumeEvent, event: {type: NAME}}
)";
constexpr const char* kRestOnly = R"(states:
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kWaitsForBoth = R"(states:
  - id: wait
    type: eventAnd
    events: [{event: {type: NAME}}, {event: {type: NAMEtwo}}]
    transition: rest
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kWaitsForEither = R"(states:
  - id: wait
    type: eventXor
    events:
      - {event: {type: NAME}, transition: rest}
      - {event: {type: NAMEtwo}, transition: rest}
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kLooksBackAnHour = R"(states:
  - id: wait
    type: consumeEvent
    event: {type: NAME, context: {orderid: jq(.order)}, lookback: PT1H}
    transition: rest
  - {id: rest, type: delay, duration: PT1H}
)";
constexpr const char* kSealedWait = R"(sealed: true
states:
  - {id: wait, type: consumeEvent, event: {type: NAME, context: {orderid: jq(.order)}}}
)";

Json fitting_event() { return {{"orderid", "o-1"}}; }
Json order_input() { return {{"order", "o-1"}}; }

}  // namespace

// `unread` also means that the event is not applied yet. No row has that: a server applies an event
// at once, so only a test of the desk without a server can hold it back (local_why_desk_test.cc).
std::vector<Situation> situations_of_waits() {
  using namespace steps;
  return {
      // The event came before the wait.
      {"early",
       kWaitsForOrder,
       {sends(fitting_event()), waits()},
       "before",
       "before the wait began"},
      {"moved",
       kWaitsForOrder,
       {sends(fitting_event()), waits(), sends_other(fitting_event()), reaches("rest")},
       "before",
       "; the instance does not wait for this type now; it is in `rest`",
       {{"stateNow", "rest"}}},
      {"over",
       kWaitsAndEnds,
       {sends(fitting_event()), waits(), sends_other(fitting_event()), ends("complete")},
       "before",
       "of \"bank.eu\" woke it; the event fits what the state `wait` asked for",
       {{"ended", true}, {"wouldFit", true}}},
      {"overunfitting",
       kWaitsAndEnds,
       {sends({{"orderid", "o-9"}}), waits(), sends_other(fitting_event()), ends("complete")},
       "before -",
       "of \"bank.eu\" woke it; the event does not fit what the state `wait` asked for",
       {{"ended", true}, {"wouldFit", false}}},
      {"notyet",
       kRestFirst,
       {starts(order_input(), "waiting"), sends()},
       "before",
       "the instance is not in a state that waits for this type, such as `wait`"},
      // The event came after the wait.
      {"cancelled",
       kWaitsForOrder,
       {waits(), posts("instances/ID/cancel"), sends(fitting_event())},
       "after",
       "the instance was cancelled"},
      {"cancelledtry",
       kWaitsForOrder,
       {waits(), posts("instances/ID/cancel"), tries(fitting_event())},
       "after",
       "the instance was cancelled"},
      {"woken",
       kWaitsForOrder,
       {waits(), sends_other(fitting_event()), reaches("rest"), sends(fitting_event())},
       "after",
       "\" of \"bank.eu\" woke it"},
      {"late",
       kWaitTimesOut,
       {starts(order_input()), reaches("rest"), sends()},
       "after",
       "it timed out"},
      {"other",
       kWaitsForEither,
       {waits(), sends_other(), reaches("rest"), sends(Json::object(), "two")},
       "after",
       "\" of \"bank.eu\" woke it"},
      {"second", kWaitsForBoth, {waits(), sends_other(), sends()}, "after"},
      // The event came during the wait.
      {"either", kWaitsForEither, {waits(), sends(Json::object(), "two")}, "woke"},
      {"half",
       kWaitsForBoth,
       {waits(), sends()},
       "filled",
       "",
       {{"waitsFor", Json::array({"halftwo"})}}},
      {"halftry",
       kWaitsForBoth,
       {waits(), tries()},
       "filled",
       "would fill",
       {{"waitsFor", Json::array({"halftrytwo"})}}},
      {"whole", kWaitsForBoth, {waits(), sends_other(), sends(Json::object(), "two")}, "woke"},
      {"paused",
       kWaitsForOrder,
       {waits(), posts("instances/ID/pause"), sends(fitting_event())},
       "paused"},
      {"pausedtry",
       kWaitsForOrder,
       {waits(), posts("instances/ID/pause"), tries(fitting_event())},
       "paused",
       "would take the event"},
      {"unfitting",
       kWaitsForOrder,
       {waits(), sends({{"orderid", "o-9"}}), sends_other(fitting_event()), reaches("rest")},
       "predicate -",
       "and the event does not fit what the state `wait` asked for: `orderid` has another value",
       {{"wouldFit", false}}},
      {"sealed", kSealedWait, {waits(), sends({{"orderid", "O-1"}})}, "predicate -"},
      // The event is of another type, is a copy, or is for another instance.
      {"wrongtype", kWaitsForOrder, {waits(), sends(fitting_event(), "s")}, "predicate typo"},
      {"notype",
       kRestOnly,
       {starts(order_input(), "waiting"), sends()},
       "predicate",
       "no state of the workflow waits for events of this type"},
      {"copy",
       kWaitsForOrder,
       {waits(), sends_other(fitting_event()), reaches("rest"), waits(), copies()},
       "duplicate"},
      {"copytry",
       kWaitsForOrder,
       {waits(), sends_other(fitting_event()), reaches("rest"), waits(), tries_copy()},
       "duplicate"},
      {"addressed",
       kWaitsForOrder,
       {sends(fitting_event()), waits(), waits(), replays("instance=FIRST")},
       "predicate",
       "the event is not addressed to this listener, but to the instance"},
      {"addressee",
       kWaitsForOrder,
       {sends(fitting_event()), waits(), replays("instance=ID")},
       "woke"},
      // The instance does not listen yet. A paused workflow holds it there.
      {"entering",
       kWaitsForOrder,
       {posts("workflows/NAME/pause"), starts(order_input(), "paused"), sends(fitting_event())},
       "unread",
       "does not listen yet; it is offered the event when it does; it is paused"},
      {"enteringtry",
       kWaitsForOrder,
       {posts("workflows/NAME/pause"), starts(order_input(), "paused"), tries(fitting_event())},
       "unread",
       "it is offered an event that comes meanwhile when it does"},
      {"enteringearly",
       kWaitsForOrder,
       {posts("workflows/NAME/pause"), sends(fitting_event()), starts(order_input(), "paused")},
       "before",
       "before the wait began"},
      {"enteringwindow",
       kLooksBackAnHour,
       {posts("workflows/NAME/pause"), sends(fitting_event()), starts(order_input(), "paused")},
       "unread",
       "(`lookback`), and the events since then are not read yet"},
      // The state looks back.
      {"window",
       kLooksBackAnHour,
       {sends(fitting_event()), starts(order_input()), reaches("rest")},
       "woke"},
      {"windowcase", kLooksBackAnHour, {sends({{"orderid", "O-1"}}), waits()}, "predicate case"},
      {"windowsecond",
       kLooksBackAnHour,
       {sends_other(fitting_event()), sends(fitting_event()), starts(order_input()),
        reaches("rest")},
       "predicate",
       "did not take the event"},
  };
}

namespace {

TEST_F(WhySituations, SayWhyAWaitDidNotTakeTheEvent) { run(situations_of_waits()); }

}  // namespace
}  // namespace millrace
