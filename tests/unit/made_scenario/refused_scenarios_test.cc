// The histories of which no scenario is made.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/made_scenario/made_scenario.h"
#include "tests/unit/made_scenario/played_rows.h"

namespace millrace {
namespace {

/// The error code of a scenario that is not made.
std::string refusal(const PlayedRow& row, const std::function<void(Instance&)>& change = nullptr) {
  const Result<std::string> text = made(row, change);
  return text ? *text : text.error().code;
}

TEST(MadeScenario, IsNotMadeOfAnInstanceThatCannotBePlayed) {
  const PlayedRow whole = called_row();
  const auto with_status = [&](InstanceStatus status) {
    return refusal(whole, [status](Instance& one) { one.status = status; });
  };
  EXPECT_EQ(with_status(InstanceStatus::kRunning), "scenario.running");
  EXPECT_EQ(with_status(InstanceStatus::kPending), "scenario.running");
  EXPECT_EQ(refusal(whole, [](Instance& one) { one.sealed = Sealing::kMasked; }),
            "scenario.sealed");
  EXPECT_EQ(refusal(whole, [](Instance& one) { one.history_trimmed = 2; }), "scenario.lost");
  EXPECT_EQ(refusal(whole, [](Instance& one) { one.own_policy = "{}"; }),
            "scenario.not_expressible");
  PlayedRow empty = whole;
  empty.history = "";
  EXPECT_EQ(refusal(empty), "scenario.lost");
  PlayedRow paused = whole;
  paused.history = std::string(kCalledRecord) + "0 paused end\n";
  EXPECT_EQ(refusal(paused), "scenario.not_expressible");
}

TEST(MadeScenario, IsNotMadeOfAHistoryWithGaps) {
  const std::string called = kCalledRecord;
  const std::string call =
      "0 entered ask => {}\n0 called ask {\"attempt\":1,\"function\":\"f\",\"index\":0,";
  const std::string functions = "functions: [{id: f, type: subflow, workflow: order}]\n";
  const std::vector<std::pair<PlayedRow, std::string>> gaps = {
      {{.name = "an event that the stream no longer has",
        .definition = kWaitForPaid,
        .history = called + "0 entered wait => {}\n"
                            "1 woken wait {\"type\":\"paid\",\"source\":\"/s\",\"id\":\"e-1\"}\n"
                            "1 ended wait {\"status\":\"complete\"}\n"},
       "scenario.lost"},
      {{.name = "a workflow that calls itself",
        .definition = "id: order\n" + functions +
                      "states: [{id: ask, type: action, action: {function: f}}]\n",
        .history = called + call + "\"instance\":\"x\",\"workflow\":\"order\"}\n"},
       "scenario.not_expressible"},
      {{.name = "an answer that a transform hides",
        .definition = "id: order\nfunctions: [{id: f, type: service, service: s}]\nstates:\n"
                      "  - {id: ask, type: action, action: {function: f},\n"
                      "     transform: 'jq({n: (.return + 1)})'}\n",
        .history = called + call +
                   "\"task\":\"t-1\"}\n"
                   "5 returned ask {\"attempt\":1,\"index\":0,\"task\":\"t-1\"}\n"
                   "5 ended ask {\"status\":\"complete\"}\n",
        .data = R"({"n":2})"},
       "scenario.not_recorded"},
      {{.name = "retries of the settings",
        .definition = "id: order\nfunctions: [{id: f, type: service, service: s}]\n"
                      "states: [{id: ask, type: action, action: {function: f}}]\n",
        .history = called + call +
                   "\"task\":\"t-1\"}\n"
                   "5 returned ask {\"attempt\":1,\"index\":0,\"task\":\"t-1\","
                   "\"code\":\"busy\",\"msg\":\"later\"}\n"
                   "5 retrying ask {\"index\":0,\"attempt\":2,\"at\":"
                   "\"2026-01-01T00:00:05.000Z\"}\n"},
       "scenario.not_expressible"},
      {{.name = "a schedule that ticks meanwhile",
        .definition = "id: order\nstart: {type: scheduled, cron: '* * * * *'}\n"
                      "states: [{id: rest, type: delay, duration: PT2M}]\n",
        .history = "0 started - {\"by\":\"schedule\",\"revision\":3}\n0 entered rest => {}\n"
                   "120000 elapsed rest\n120000 ended rest {\"status\":\"complete\"}\n"},
       "scenario.not_expressible"},
      {{.name = "a batch of starts",
        .definition = "id: order\nbatch: {maxSize: 2, timeout: PT5M}\n"
                      "states: [{id: end, type: noop}]\n",
        .history = called + "0 entered end\n0 ended end {\"status\":\"complete\"}\n",
        .data = R"({"events":[{"n":1}]})",
        .input = R"({"events":[{"n":1}]})"},
       "scenario.not_expressible"},
      {{.name = "a start that waited for a slot for too long",
        .definition = "id: order\nconcurrency: {limit: 1, timeout: PT2S}\n"
                      "states: [{id: end, type: noop}]\n",
        .history = called + "0 queued end {\"priority\":0}\n"
                            "2000 raised end {\"code\":\"millrace.concurrency.timeout\","
                            "\"msg\":\"late\"}\n"
                            "2000 ended end {\"status\":\"failed\"}\n"},
       "scenario.not_expressible"},
      {{.name = "a start that was paused while it waited for the throttle",
        .definition = "id: order\nthrottle: {limit: 1, period: PT5S}\n"
                      "states: [{id: end, type: noop}]\n",
        .history = called + "0 throttled end {\"priority\":0}\n2000 paused end\n"
                            "3000 resumed end\n5000 released end\n5000 entered end\n"
                            "5000 ended end {\"status\":\"complete\"}\n"},
       "scenario.not_expressible"},
      {{.name = "a variable that a transform hides",
        .definition = "id: order\nstates:\n  - id: read\n    type: getter\n"
                      "    variables: [{key: rate, scope: namespace}]\n"
                      "    transform: 'jq({n: (.var.rate + 1)})'\n",
        .history = called + "0 entered read\n0 ended read {\"status\":\"complete\"}\n",
        .data = R"({"n":2})"},
       "scenario.not_recorded"},
      {{.name = "a variable of the workflow that something else has set",
        .definition = "id: order\nstates:\n  - id: read\n    type: getter\n"
                      "    variables: [{key: rate, scope: workflow}]\n",
        .history = called + "0 entered read\n0 ended read {\"status\":\"complete\"}\n",
        .data = R"({"var":{"rate":1}})"},
       "scenario.not_expressible"},
  };
  for (const auto& [row, code] : gaps) EXPECT_EQ(refusal(row), code) << row.name;
}

TEST(MadeScenario, IsBounded) {
  PlayedRow row = called_row();
  for (size_t i = 0; i < kMostPlayedRecords; ++i) row.history += "2 log end {\"value\":1}\n";
  EXPECT_EQ(refusal(row), "scenario.too_large");
  PlayedRow large = called_row();
  large.data = "{\"n\":\"" + std::string(1 << 20, 'x') + "\"}";
  EXPECT_EQ(refusal(large), "scenario.too_large");
}

TEST(MadeScenario, NamesTheEventsAndOutputsThatItNeeds) {
  const auto history = history_of(
      fmt::format("0 started - {{\"by\":\"event\",\"revision\":1,\"event\":{{\"id\":\"e-1\"}}}}\n"
                  "0 published a {{\"type\":\"x\",\"id\":\"p-1\"}}\n"
                  "1 woken a {{\"id\":\"p-1\"}}\n2 woken a {{\"id\":\"e-2\"}}\n"
                  "3 returned a {{\"instance\":\"{0}\"}}\n"
                  "3 returned a {{\"instance\":\"{0}\",\"code\":\"busy\",\"msg\":\"\"}}\n"
                  "3 returned a {{\"task\":\"{0}\"}}\n",
                  kPlayedChild));
  EXPECT_EQ(needed_events(history), (std::vector<size_t>{0, 3}));
  EXPECT_EQ(needed_outputs(history), (std::vector{parse_instance_id(kPlayedChild).value()}));
}

}  // namespace
}  // namespace millrace
