// Durations and ends of waits that the data decides: evaluated once, when the instance enters the
// state.
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

/// A workflow whose first state has these keys, and catches its errors.
std::shared_ptr<const Workflow> workflow_with(std::string_view keys) {
  return load_right_workflow(fmt::format(R"(
id: w
functions:
- {{id: f, type: subflow, workflow: other}}
states:
- {{id: first, {}, catch: [{{error: '*', transition: caught}}]}}
- {{id: caught, type: noop}}
)",
                                         keys));
}

Json data_of(std::string_view text) { return parse_json(text).value(); }

/// The timers that the instance has, `delay at 30s`.
std::vector<std::string> timers_of(const InstanceRun& run) {
  std::vector<std::string> all;
  for (const Timer& timer : run.instance().timers) {
    all.push_back(fmt::format("{} at {}", name_of(timer.kind), shown_time(timer.deadline)));
  }
  return all;
}

/// The code of the error that the state has caught.
std::string caught(const InstanceRun& run) {
  const Json& data = run.instance().data.value();
  const auto error = data.find("error");
  return error == data.end() ? "" : error->at("code").get<std::string>();
}

constexpr std::string_view kWait = "type: consumeEvent, event: {type: t}, ";

// A run starts at 2024-01-01T00:00:00Z, which is 1704067200.
TEST(EvaluatedTimes, SetTheTimerOfTheStateWhenTheInstanceEntersIt) {
  const struct {
    std::string keys;
    std::string_view data;
    std::string_view timer;
  } rows[] = {
      {"type: delay, duration: jq(.wait)", R"({"wait":"PT30S"})", "delay at 30s"},
      {"type: delay, duration: PTjq(.n)S", R"({"n":45})", "delay at 45s"},
      {"type: delay, duration: jq(.wait // \"PT5S\")", "{}", "delay at 5s"},
      {"type: delay, until: jq(.at)", R"({"at":"2024-01-01T01:00:00+01:00"})", "delay at 0s"},
      {"type: delay, until: jq(.at)", R"({"at":"2024-01-01T02:00:00+01:00"})", "delay at 1h"},
      {"type: delay, until: jq(.at + 90)", R"({"at":1704067200})", "delay at 1m30s"},
      {"type: delay, until: jq(.at)", R"({"at":1700000000})", "delay at 0s"},
      {"type: delay, until: '2024-01-01T09:00:00Z'", "{}", "delay at 9h"},
      {"type: delay, until: 1704067201", "{}", "delay at 1s"},
      {"type: delay, until: {cron: 0 9 * * *, timezone: jq(.zone)}", R"({"zone":"Europe/Vienna"})",
       "delay at 8h"},
      {"type: delay, until: {cron: jq(.hour) }", R"({"hour":"0 9 * * *"})", "delay at 9h"},
      {"type: delay, until: jq(.when)", R"({"when":{"cron":"0 6 * * *","timezone":"Asia/Tokyo"}})",
       "delay at 21h"},
      {std::string(kWait) + "timeout: jq(.wait)", R"({"wait":"1h"})", "timeout at 1h"},
      {std::string(kWait) + "until: jq(.at)", R"({"at":"2024-01-01T02:00:00Z"})", "timeout at 2h"},
      {std::string(kWait) + "until: jq(.at)", R"({"at":"2023-01-01T00:00:00Z"})", "timeout at 1ms"},
      {std::string(kWait) + "until: {cron: '@hourly'}", "{}", "timeout at 1h"},
      {"type: eventXor, events: [{event: {type: t}}], timeout: jq(.wait)", R"({"wait":"2h"})",
       "timeout at 2h"},
      {"type: eventAnd, events: [{type: t}], until: jq(.at)", R"({"at":1704067260})",
       "timeout at 1m"},
      {"type: action, action: {function: f}, timeout: jq(.wait)", R"({"wait":"3h"})",
       "timeout at 3h"},
      {"type: foreach, array: '[1,2]', action: {function: f}, timeout: jq(.wait)",
       R"({"wait":"4h"})", "timeout at 4h"},
  };
  for (const auto& row : rows) {
    InstanceRun run(workflow_with(row.keys), data_of(row.data));
    run.proceed();
    EXPECT_EQ(run.rows().back().status, "waiting") << row.keys << " " << caught(run);
    EXPECT_THAT(timers_of(run), ElementsAre(row.timer)) << row.keys;
  }
}

TEST(EvaluatedTimes, RaiseAnErrorThatCatchSeesIfTheirValueIsNotPossible) {
  const struct {
    std::string keys;
    std::string_view data;
    std::string_view code;
  } rows[] = {
      {"type: delay, duration: jq(.wait)", R"({"wait":30})", "millrace.duration.invalid"},
      {"type: delay, duration: jq(.wait)", "{}", "millrace.duration.invalid"},
      {"type: delay, duration: jq(.wait)", R"({"wait":"PT0S"})", "millrace.duration.invalid"},
      {"type: delay, duration: jq(.wait)", R"({"wait":"P101Y"})", "millrace.duration.invalid"},
      {"type: delay, duration: jq(.wait.x)", R"({"wait":"PT1S"})", "direktiv.jq.badCommand"},
      {"type: delay, until: jq(.at)", R"({"at":"PT1H"})", "millrace.duration.invalid"},
      {"type: delay, until: jq(.at)", R"({"at":"2024-06-01T00:00:00"})",
       "millrace.duration.invalid"},
      {"type: delay, until: '2200-01-01T00:00:00Z'", "{}", "millrace.duration.invalid"},
      {"type: delay, until: {cron: jq(.hour), timezone: UTC}", R"({"hour":"9"})",
       "millrace.duration.invalid"},
      {std::string(kWait) + "timeout: jq(.wait)", R"({"wait":"PT0S"})",
       "millrace.duration.invalid"},
      {std::string(kWait) + "until: jq(.at)", R"({"at":null})", "millrace.duration.invalid"},
      {"type: action, action: {function: f}, timeout: jq(.wait)", R"({"wait":[]})",
       "millrace.duration.invalid"},
      {"type: generateEvent, event: {type: t, source: s}, delay: jq(.wait)", R"({"wait":5})",
       "millrace.duration.invalid"},
  };
  for (const auto& row : rows) {
    InstanceRun run(workflow_with(row.keys), data_of(row.data));
    run.proceed();
    EXPECT_EQ(run.rows().back().state, "first > caught") << row.keys;
    EXPECT_EQ(caught(run), row.code) << row.keys << row.data;
    EXPECT_THAT(run.instance().timers, IsEmpty()) << row.keys;
    EXPECT_THAT(run.effects(), IsEmpty()) << row.keys << ": nothing was called or published";
  }
}

TEST(EvaluatedTimes, DelayAGeneratedEventOrPublishItAtOnceIfTheyAreZero) {
  const auto workflow =
      workflow_with("type: generateEvent, event: {type: t, source: s}, delay: jq(.wait)");
  for (const std::string wait : {"PT1H", "PT0S"}) {
    InstanceRun run(workflow, {{"wait", wait}});
    run.proceed();
    ASSERT_EQ(run.effects().size(), 1u);
    const auto& published = std::get<Publish>(run.effects().front());
    const bool is_delayed = wait == "PT1H";
    EXPECT_EQ(published.at, is_delayed ? std::optional(run_start() + hours(1)) : std::nullopt);
  }
}

// The program needs a jq worker: `ascii_upcase` is not simple.
TEST(EvaluatedTimes, CountFromTheStepInWhichTheJqWorkerHasAnswered) {
  for (const bool is_delay : {true, false}) {
    InstanceRun run(
        workflow_with((is_delay ? "type: delay, duration: " : std::string(kWait) + "timeout: ") +
                      std::string("jq(.wait | ascii_upcase)")),
        {{"wait", "pt1h"}});
    run.proceed();
    EXPECT_TRUE(run.instance().parked);
    EXPECT_THAT(run.instance().timers, IsEmpty());
    run.set_time(run_start() + minutes(1));
    run.evaluated({Json("PT1H")});
    EXPECT_THAT(timers_of(run), ElementsAre(is_delay ? "delay at 1h1m" : "timeout at 1h1m"));
    run.set_time(run_start() + minutes(2));
    run.proceed("restart");
    EXPECT_THAT(timers_of(run), ElementsAre(is_delay ? "delay at 1h1m" : "timeout at 1h1m"));
    EXPECT_FALSE(run.last().changed) << "it is not evaluated again";
  }
}

TEST(EvaluatedTimes, ArmNoTimerBeforeAllValuesOfTheStateAreKnown) {
  InstanceRun run(workflow_with("type: consumeEvent, timeout: jq(.wait), event: {type: t, context: "
                                "{subject: jq(.s | ascii_downcase)}}"),
                  {{"wait", "PT1H"}, {"s", "X"}});
  run.proceed();
  EXPECT_THAT(timers_of(run), IsEmpty());
  EXPECT_FALSE(run.instance().state_timeout);
  run.set_time(run_start() + minutes(5));
  run.proceed("restart");
  EXPECT_THAT(timers_of(run), IsEmpty());
  run.evaluated({Json("x")});
  EXPECT_THAT(timers_of(run), ElementsAre("timeout at 1h5m"));
  run.at(hours(2));
  EXPECT_EQ(caught(run), "direktiv.stateTimeout");
  EXPECT_FALSE(run.instance().state_timeout);
}

TEST(EvaluatedTimes, EndAWaitThatNoEventEnds) {
  InstanceRun run(workflow_with(std::string(kWait) + "until: jq(.at)"),
                  {{"at", "2024-01-01T00:30:00Z"}});
  run.proceed();
  run.at(minutes(29));
  EXPECT_EQ(run.rows().back().status, "waiting");
  run.at(minutes(30));
  EXPECT_EQ(caught(run), "direktiv.stateTimeout");
}

TEST(EvaluatedTimes, LetAWaitWhoseUntilIsPastTakeAnEventThatIsThere) {
  const auto workflow = workflow_with(std::string(kWait) + "until: jq(.at)");
  InstanceRun taken(workflow, {{"at", 0}});
  taken.proceed();
  EXPECT_EQ(taken.rows().back().status, "waiting");
  taken.event({.id = "e", .source = "s", .type = "t", .data = "7"});
  EXPECT_EQ(taken.rows().back().status, "complete");
  EXPECT_EQ(caught(taken), "");

  InstanceRun timed_out(workflow, {{"at", 0}});
  timed_out.proceed();
  timed_out.at(Duration(1));
  EXPECT_EQ(caught(timed_out), "direktiv.stateTimeout");
}

TEST(EvaluatedTimes, StartATimeoutAgainAfterAPauseAndKeepAnUntil) {
  const struct {
    std::string key;
    std::string_view after;
  } rows[] = {
      {"timeout: jq(.wait)", "timeout at 1h40m"},
      {"until: jq(.at)", "timeout at 1h"},
  };
  for (const auto& row : rows) {
    InstanceRun run(workflow_with(std::string(kWait) + row.key),
                    {{"wait", "PT1H"}, {"at", "2024-01-01T01:00:00Z"}});
    run.proceed();
    EXPECT_THAT(timers_of(run), ElementsAre("timeout at 1h"));
    if (const auto& timeout = run.instance().state_timeout) {
      EXPECT_EQ(timeout->text, "") << "a text of the data may be long, and is not stored again";
    }
    run.give("pause", Pause{});
    EXPECT_THAT(timers_of(run), IsEmpty());
    run.set_time(run_start() + minutes(40));
    run.give("resume", Resume{});
    EXPECT_THAT(timers_of(run), ElementsAre(row.after)) << row.key;
    run.event({.id = "e", .source = "s", .type = "t", .data = "7"});
    EXPECT_FALSE(run.instance().state_timeout) << "the instance has left the state";
  }
}

TEST(EvaluatedTimes, KeepTheEndOfADelayDuringAPause) {
  InstanceRun run(workflow_with("type: delay, duration: jq(.wait)"), {{"wait", "PT1H"}});
  run.proceed();
  run.give("pause", Pause{});
  run.at(hours(2));
  EXPECT_EQ(run.rows().back().status, "paused");
  run.give("resume", Resume{});
  EXPECT_THAT(timers_of(run), ElementsAre("delay at 1h"));
}

TEST(EvaluatedTimes, AreEvaluatedAgainIfTheStateIsRepeated) {
  // The first attempt times out; the next one counts the timeout from its own entry.
  InstanceRun run(load_right_workflow(R"(
id: w
states:
- id: first
  type: consumeEvent
  event: {type: t}
  timeout: jq(.wait)
  retries: {max_attempts: 1, codes: [direktiv.stateTimeout], delay: 10m}
)"),
                  {{"wait", "PT1H"}});
  run.proceed();
  EXPECT_THAT(timers_of(run), ElementsAre("timeout at 1h"));
  run.at(hours(1));
  EXPECT_THAT(timers_of(run), ElementsAre("retry at 1h10m"));
  run.proceed("restart");
  EXPECT_THAT(timers_of(run), ElementsAre("retry at 1h10m"));
  run.at(minutes(70));
  EXPECT_THAT(timers_of(run), ElementsAre("timeout at 2h10m"));
  run.at(minutes(130));
  EXPECT_EQ(run.instance().error->code, "direktiv.retries.exceeded");
}

}  // namespace
}  // namespace millrace
