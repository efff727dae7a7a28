// The scenario that is made of a history: its text for each kind of history.
// tests/unit/service/instance_scenarios_test.cc plays made scenarios.
#include "orchestrator/made_scenario/made_scenario.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/unit/made_scenario/played_rows.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

Event event(const std::string& type, const std::string& id, const std::string& data) {
  return {.id = id, .source = "/s", .type = type, .data = data};
}

constexpr const char* kPay = R"(id: order
functions: [{id: charge, type: service, service: charge}]
states:
  - id: pay
    type: action
    action: {function: charge, retries: {max_attempts: 2, delay: PT10S, codes: ['*']}}
    transform: 'jq({receipt: .return.receipt})'
    transition: end
  - {id: end, type: noop}
)";

std::vector<PlayedRow> rows() {
  const std::string called = kCalledRecord;
  return {
      called_row(),
      {.name = "a delay that ended late",
       .definition = "id: order\nstates: [{id: rest, type: delay, duration: PT10S}]\n",
       .history = called + "3 entered rest => {}\n10015 elapsed rest\n"
                           "10016 ended rest {\"status\":\"complete\"}\n",
       .scenario = R"(    start:
      input: {}
    expect:
      status: complete
      states:
        - rest
      took: "10s"
      output: {}
)"},
      {.name = "an event that woke it",
       .definition = kWaitForPaid,
       .history = called + "1 entered wait => {}\n"
                           "3001 woken wait {\"type\":\"paid\",\"source\":\"/s\",\"id\":\"e-1\"}\n"
                           "3002 ended wait {\"status\":\"complete\"}\n",
       .scenario = R"(    start:
      input: {}
    given:
      - at: 3s
        event:
          data: 5
          id: e-1
          source: "/s"
          type: paid
    expect:
      status: complete
      states:
        - wait
      took: "3s"
      output:
        paid: 5
)",
       .data = R"({"paid":5})",
       .events = {{2, event("paid", "e-1", "5")}}},
      {.name = "an event that started it",
       .definition = "id: order\nstart: {type: event, event: {type: placed}}\n"
                     "states: [{id: end, type: noop}]\n",
       .history = "0 started - {\"by\":\"event\",\"revision\":3,\"event\":"
                  "{\"type\":\"placed\",\"source\":\"/s\",\"id\":\"e-1\"}}\n"
                  "1 entered end\n1 ended end {\"status\":\"complete\"}\n",
       .scenario = R"(    given:
      - at: 0s
        event:
          data: 5
          id: e-1
          source: "/s"
          type: placed
    expect:
      status: complete
      states:
        - end
      took: "0s"
      output:
        placed: 5
)",
       .data = R"({"placed":5})",
       .input = R"({"placed":5})",
       .events = {{0, event("placed", "e-1", "5")}}},
      {.name = "all events of a state",
       .definition = "id: order\n"
                     "states: [{id: both, type: eventAnd, events: [{type: a}, {type: b}]}]\n",
       .history = called + "0 entered both => {}\n"
                           "1000 woken both {\"type\":\"b\",\"source\":\"/s\",\"id\":\"e-1\"}\n"
                           "3000 woken both {\"type\":\"a\",\"source\":\"/s\",\"id\":\"e-2\"}\n"
                           "3000 ended both {\"status\":\"complete\"}\n",
       .scenario = R"(    start:
      input: {}
    given:
      - at: 1s
        event:
          data: 2
          id: e-1
          source: "/s"
          type: b
      - at: 3s
        event:
          data: 1
          id: e-2
          source: "/s"
          type: a
    expect:
      status: complete
      states:
        - both
      took: "3s"
      output:
        a: 1
        b: 2
)",
       .data = R"({"a":1,"b":2})",
       .events = {{2, event("b", "e-1", "2")}, {3, event("a", "e-2", "1")}}},
      {.name = "one of several events, just before the timeout",
       .definition = "id: order\nstates:\n  - id: either\n    type: eventXor\n"
                     "    events: [{type: a}, {type: b}]\n    timeout: PT3S\n",
       .history = called + "0 entered either => {}\n"
                           "3020 woken either {\"type\":\"b\",\"source\":\"/s\",\"id\":\"e-1\"}\n"
                           "3020 ended either {\"status\":\"complete\"}\n",
       .scenario = R"(    start:
      input: {}
    given:
      - at: 2s999ms
        event:
          data: 2
          id: e-1
          source: "/s"
          type: b
    expect:
      status: complete
      states:
        - either
      took: "2s999ms"
      output:
        b: 2
)",
       .data = R"({"b":2})",
       .events = {{2, event("b", "e-1", "2")}}},
      {.name = "a timeout",
       .definition = "id: order\nstates:\n  - id: wait\n    type: consumeEvent\n"
                     "    event: {type: paid}\n    timeout: PT1H\n"
                     "    catch: [{error: direktiv.stateTimeout, transition: lost}]\n"
                     "  - {id: lost, type: noop}\n",
       .history = called + "0 entered wait => {}\n"
                           "3600040 raised wait {\"code\":\"direktiv.stateTimeout\",\"msg\":"
                           "\"state timed out at 2026-01-01T01:00:00.000Z\"}\n"
                           "3600040 caught wait {\"error\":\"direktiv.stateTimeout\"}\n"
                           "3600041 entered lost\n3600041 ended lost {\"status\":\"complete\"}\n",
       .scenario = R"(    start:
      input: {}
    expect:
      status: complete
      states:
        - wait
        - lost
      took: "1h"
      outputContains:
        error:
          code: direktiv.stateTimeout
)",
       .data = R"({"error":{"code":"direktiv.stateTimeout",)"
               R"("msg":"state timed out at 2026-01-01T01:00:00.000Z"}})"},
      {.name = "an answer of a function, after an attempt that failed",
       .definition = kPay,
       .history =
           called +
           "0 entered pay => {}\n"
           "0 called pay {\"attempt\":1,\"function\":\"charge\",\"index\":0,\"task\":\"t-1\"}\n"
           "1000 returned pay {\"task\":\"t-1\",\"index\":0,\"attempt\":1,"
           "\"code\":\"busy\",\"msg\":\"later\"}\n"
           "1000 retrying pay {\"index\":0,\"attempt\":2,\"at\":"
           "\"2026-01-01T00:00:11.000Z\"}\n"
           "11020 called pay "
           "{\"attempt\":2,\"function\":\"charge\",\"index\":0,\"task\":\"t-2\"}\n"
           "11025 returned pay {\"attempt\":2,\"index\":0,\"task\":\"t-2\"}\n"
           "11026 entered end\n11026 ended end {\"status\":\"complete\"}\n",
       .scenario = R"(    functions:
      charge:
        - error:
            code: busy
            msg: later
          takes: "1s"
        - return:
            receipt: r-1
          takes: "5ms"
    start:
      input: {}
    expect:
      status: complete
      states:
        - pay
        - end
      took: "11s5ms"
      attempts:
        - "0s"
        - "11s"
      output:
        receipt: r-1
)",
       .data = R"({"receipt":"r-1"})"},
      {.name = "an answer with which a transform failed",
       .definition = "id: order\nfunctions: [{id: f, type: service, service: s}]\nstates:\n"
                     "  - {id: ask, type: action, action: {function: f},\n"
                     "     transform: 'jq(.return.a.b)'}\n",
       .history = called +
                  "0 entered ask => {}\n"
                  "0 called ask {\"attempt\":1,\"function\":\"f\",\"index\":0,\"task\":\"t-1\"}\n"
                  "0 returned ask {\"attempt\":1,\"index\":0,\"task\":\"t-1\"}\n"
                  "0 raised ask {\"code\":\"direktiv.jq.badQuery\",\"msg\":\"no object\"}\n"
                  "0 ended ask {\"status\":\"failed\"}\n",
       .scenario = R"(    functions:
      f:
        return:
          a: 1
    start:
      input: {}
    expect:
      status: failed
      states:
        - ask
      took: "0s"
      output:
        error: bad
        return:
          a: 1
      error:
        code: direktiv.jq.badQuery
        msg: "no object"
)",
       .data = R"({"error":"bad","return":{"a":1}})",
       .status = InstanceStatus::kFailed,
       .error = Error{"direktiv.jq.badQuery", "no object"}},
      {.name = "a call whose error ended it",
       .definition = kPay,
       .history =
           called +
           "0 entered pay => {}\n"
           "0 called pay {\"attempt\":1,\"function\":\"charge\",\"index\":0,\"task\":\"t-1\"}\n"
           "20 returned pay {\"task\":\"t-1\",\"index\":0,\"attempt\":1,"
           "\"code\":\"declined\",\"msg\":\"no funds\"}\n"
           "20 raised pay {\"code\":\"declined\",\"msg\":\"no funds\"}\n"
           "20 ended pay {\"status\":\"failed\"}\n",
       .scenario = R"(    functions:
      charge:
        error:
          code: declined
          msg: "no funds"
        takes: "20ms"
    start:
      input: {}
    expect:
      status: failed
      states:
        - pay
      took: "20ms"
      output: {}
      error:
        code: declined
        msg: "no funds"
)",
       .status = InstanceStatus::kFailed,
       .error = Error{"declined", "no funds"}},
      {.name = "a cancellation",
       .definition = kWaitForPaid,
       .history = called + "0 entered wait => {}\n"
                           "5000 cancelled wait {\"code\":\"direktiv.cancels.api\","
                           "\"msg\":\"cancelled by a call\"}\n"
                           "5000 ended wait {\"status\":\"cancelled\"}\n",
       .scenario = R"(    start:
      input: {}
    given:
      - at: 5s
        cancel: true
    expect:
      status: cancelled
      states:
        - wait
      took: "5s"
      output: {}
      error:
        code: direktiv.cancels.api
        msg: "cancelled by a call"
)",
       .status = InstanceStatus::kCancelled,
       .error = Error{"direktiv.cancels.api", "cancelled by a call"}},
      {.name = "an error state, and events that it published",
       .definition = "id: order\nstates:\n"
                     "  - {id: late, type: generateEvent, delay: PT9S, transition: soon,\n"
                     "     event: {type: late, source: /o, data: jq(.n)}}\n"
                     "  - {id: soon, type: generateEvent, transition: lost,\n"
                     "     event: {type: soon, source: jq(.s)}}\n"
                     "  - {id: lost, type: error, error: order.lost, message: it is lost}\n",
       .history = called + "0 entered late => {\"n\":1}\n"
                           "0 published late {\"type\":\"late\",\"id\":\"p-1\",\"at\":"
                           "\"2026-01-01T00:00:09.000Z\"}\n"
                           "0 entered soon => {\"n\":1}\n"
                           "0 published soon {\"type\":\"soon\",\"id\":\"p-2\"}\n"
                           "0 entered lost\n"
                           "0 fixed lost {\"code\":\"order.lost\",\"msg\":\"it is lost\"}\n"
                           "0 ended lost {\"status\":\"failed\"}\n",
       .scenario = R"(    start:
      input:
        "n": 1
    expect:
      status: failed
      states:
        - late
        - soon
        - lost
      took: "0s"
      output:
        "n": 1
      error:
        code: order.lost
        msg: "it is lost"
      published:
        - data:
            "n": 1
          type: soon
        - source: "/o"
          type: late
)",
       .data = R"({"n":1})",
       .input = R"({"n":1})",
       .status = InstanceStatus::kFailed,
       .error = Error{"order.lost", "it is lost"}},
      {.name = "a subflow",
       .definition = "id: order\nfunctions: [{id: f, type: subflow, workflow: price}]\n"
                     "states: [{id: ask, type: action, action: {function: f}}]\n",
       .history = called + fmt::format("0 entered ask => {{}}\n"
                                       "0 called ask {{\"attempt\":1,\"function\":\"f\","
                                       "\"index\":0,\"instance\":\"{0}\",\"workflow\":\"price\"}}\n"
                                       "2000 returned ask {{\"attempt\":1,\"index\":0,"
                                       "\"instance\":\"{0}\"}}\n"
                                       "2000 ended ask {{\"status\":\"complete\"}}\n",
                                       kPlayedChild),
       .scenario = R"(    functions:
      subflow-1:
        return:
          price: 3
        takes: "2s"
    start:
      input: {}
    expect:
      status: complete
      states:
        - ask
      took: "2s"
      output:
        return:
          price: 3
)",
       .data = R"({"return":{"price":3}})",
       .output_of_child = R"({"price":3})"},
      {.name = "a pause, while it waits",
       .definition = kWaitForPaid,
       .history = called + "0 entered wait => {}\n1000 paused wait\n4000 resumed wait\n",
       .scenario = R"(    start:
      input: {}
    given:
      - at: 1s
        pause: true
      - at: 4s
        resume: true
    until: "4s1ms"
    expect:
      status: waiting
      states:
        - wait
)",
       .status = InstanceStatus::kWaiting},
      {.name = "a run that an operator started in another state",
       .definition = "id: order\nstates:\n"
                     "  - {id: one, type: noop, transition: two}\n  - {id: two, type: noop}\n",
       .history = called + "0 entered one\n0 entered two\n0 ended two {\"status\":\"complete\"}\n"
                           "7000 revived two {\"how\":\"rerun\"}\n"
                           "7000 entered two\n7000 ended two {\"status\":\"complete\"}\n",
       .scenario = R"(    start:
      input: {}
    given:
      - at: 7s
        rerun: two
    expect:
      status: complete
      states:
        - one
        - two
        - two
      took: "7s"
      output: {}
)"},
  };
}

TEST(MadeScenario, SaysWhatAnInstanceMetAndWhatCameOfIt) {
  for (const PlayedRow& row : rows()) {
    const Result<std::string> text = made(row);
    ASSERT_TRUE(text) << row.name << ": " << text.error().message;
    const std::string name = fmt::format("  - name: instance {}\n", kPlayedId);
    const size_t at = text->find(name);
    ASSERT_NE(at, std::string::npos) << *text;
    EXPECT_EQ(text->substr(at + name.size()), row.scenario) << row.name;
    EXPECT_THAT(*text, HasSubstr("# What instance " + std::string(kPlayedId) +
                                 " of workflow \"order\" (revision 3) met,"));
  }
}

TEST(MadeScenario, ReplacesASubflowByADefinitionThatCallsAFunction) {
  for (const PlayedRow& row : rows()) {
    if (row.output_of_child.empty()) continue;
    EXPECT_THAT(made(row).value(), HasSubstr(R"y(  -
    functions:
      - id: subflow-1
        service: subflow-1
        type: service
    id: price
    states:
      - action:
          function: subflow-1
        id: answer
        transform: "jq(.return)"
        type: action
)y"));
  }
}

/// The row whose name begins so.
PlayedRow row_named(std::string_view name) {
  for (PlayedRow& row : rows()) {
    if (std::string_view(row.name).starts_with(name)) return std::move(row);
  }
  CHECK(false, "no row is named {}", name);
  return {};
}

TEST(MadeScenario, ExpectsNoTimesIfARetryPolicyHasJitter) {
  PlayedRow row = row_named("an answer of a function");
  const std::string policy = "max_attempts: 2, delay: PT10S, codes: ['*']";
  row.definition.replace(row.definition.find(policy), policy.size(),
                         "maxAttempts: 3, backoffMs: 10000");
  const std::string text = made(row).value();
  EXPECT_THAT(text, Not(HasSubstr("took:")));
  EXPECT_THAT(text, Not(HasSubstr("attempts:")));
  EXPECT_THAT(text, HasSubstr("# The length of a wait is not known exactly,"));
}

TEST(MadeScenario, CorrelatesItsEventsWithTheInstanceThatIsPlayed) {
  PlayedRow row = row_named("an event that woke it");
  row.definition.replace(row.definition.find("paid"), 4,
                         "paid, context: {reply: jq($instance.id)}");
  row.events.at(2).extensions["reply"] = kPlayedId;
  const std::string text = made(row).value();
  EXPECT_THAT(text, HasSubstr("reply: \"jq($instance.id)\""));
  EXPECT_THAT(text, Not(HasSubstr("      output")));
}

TEST(MadeScenario, ExpectsNoDataIfTheDefinitionReadsTheClock) {
  PlayedRow row = row_named("a call with an input");
  row.definition = "id: order\nstates: [{id: end, type: noop, transform: 'jq(. + {at: now})'}]\n";
  const std::string text = made(row).value();
  EXPECT_THAT(text, Not(HasSubstr("      output")));
  EXPECT_THAT(text, HasSubstr("# The definition reads the clock,"));
}

TEST(MadeScenario, GivesHeartbeatsToLongTasksIfTheDefinitionNamesThem) {
  PlayedRow row = row_named("an answer of a function");
  row.definition.replace(row.definition.find("{function: charge, "), 19,
                         "{function: charge, heartbeatTimeout: 5s, startToCloseTimeout: 1m, ");
  EXPECT_THAT(made(row).value(), Not(HasSubstr("heartbeat: ")));
  const std::string one_second = "1000 returned";
  row.history.replace(row.history.find(one_second), one_second.size(), "8000 returned");
  const std::string retrying = "1000 retrying";
  row.history.replace(row.history.find(retrying), retrying.size(), "8000 retrying");
  EXPECT_THAT(made(row).value(), HasSubstr("heartbeat: \"1s\"\n          takes: \"8s\"\n"));
}

}  // namespace
}  // namespace millrace
