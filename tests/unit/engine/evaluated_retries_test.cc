// The `delay` of a retry that jq decides: evaluated at each failure, over the data with the error
// as
// `.error`, and stored as the time of the next attempt.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

/// The timers that the instance has, `retry at 30s`.
std::vector<std::string> armed(const InstanceRun& run) {
  std::vector<std::string> all;
  for (const Timer& timer : run.instance().timers) {
    all.push_back(fmt::format("{} at {}", name_of(timer.kind), shown_time(timer.deadline)));
  }
  return all;
}

TEST(EvaluatedDelaysOfRetries, AreEvaluatedAtEachFailureOfAStateAndStored) {
  InstanceRun run(load_right_workflow(R"(
id: w
states:
- id: first
  type: consumeEvent
  event: {type: t}
  timeout: jq(.wait)
  retries: {max_attempts: 1, codes: [direktiv.stateTimeout], delay: jq(.pause)}
)"),
                  {{"wait", "PT1H"}, {"pause", "PT10M"}});
  run.proceed();
  run.at(hours(1));
  EXPECT_THAT(armed(run), ElementsAre("retry at 1h10m"));
  run.proceed("restart");
  EXPECT_THAT(armed(run), ElementsAre("retry at 1h10m"));
  run.at(minutes(70));
  EXPECT_THAT(armed(run), ElementsAre("timeout at 2h10m"));
  run.at(minutes(130));
  EXPECT_EQ(run.instance().error->code, "direktiv.retries.exceeded");
}

TEST(EvaluatedDelaysOfRetries, DecideTheWaitBeforeTheNextAttemptOfACallAndSeeItsError) {
  const struct {
    std::string_view policy;
    std::string_view data;
    std::string_view message;  ///< of the failed attempt
    std::string_view timer;
  } rows[] = {
      {"{max_attempts: 3, codes: ['*'], delay: jq(.wait)}", R"({"wait":"PT20S"})", "no",
       "calls at 20s"},
      {"{max_attempts: 3, codes: ['*'], delay: jq(.error.msg)}", "{}", "PT7S", "calls at 7s"},
      {"{maxAttempts: 3, delay: jq(.wait), exponentialBackoff: 2}", R"({"wait":"1m"})", "no",
       "calls at 1m"},
      {"{max_attempts: 3, codes: ['*'], delay: PTjq(.n)M}", R"({"n":2})", "no", "calls at 2m"},
  };
  for (const auto& row : rows) {
    InstanceRun run(
        load_right_workflow(fmt::format("id: w\nfunctions: [{{id: f, type: subflow, workflow: "
                                        "other}}]\nstates:\n- {{id: first, "
                                        "type: action, action: {{function: f, retries: {}}}}}\n",
                                        row.policy)),
        parse_json(row.data).value());
    run.proceed();
    run.returned(0, 0, tl::unexpected(Error{"e", std::string(row.message)}));
    ASSERT_EQ(run.instance().calls.size(), 1u) << row.policy;
    EXPECT_EQ(shown_time(*run.instance().calls[0].retry_at), row.timer.substr(9)) << row.policy;
    EXPECT_FALSE(run.instance().data.value().contains("error")) << "the data did not change";
  }
}

TEST(EvaluatedDelaysOfRetries, MultiplyTheDelayOfARetryAfterEachAttempt) {
  InstanceRun run(load_right_workflow(R"(
id: w
states:
- id: first
  type: consumeEvent
  event: {type: t}
  timeout: 1s
  retries: {max_attempts: 3, codes: ['*'], delay: jq(.wait), multiplier: 3}
)"),
                  {{"wait", "PT10S"}});
  run.proceed();
  run.at(seconds(1));
  EXPECT_THAT(armed(run), ElementsAre("retry at 11s"));
  run.at(seconds(11));
  run.at(seconds(12));
  EXPECT_THAT(armed(run), ElementsAre("retry at 42s"));
}

TEST(EvaluatedDelaysOfRetries, RaiseTheErrorOfARetryDelayInThePlaceOfTheFailure) {
  InstanceRun run(load_right_workflow(R"(
id: w
functions: [{id: f, type: subflow, workflow: other}]
states:
- id: first
  type: action
  action: {function: f, retries: {max_attempts: 3, codes: [e], delay: jq(.wait)}}
  catch: [{error: millrace.*, transition: caught}]
- {id: caught, type: noop}
)"),
                  {{"wait", 5}});
  run.proceed();
  run.returned(0, 0, tl::unexpected(Error{"e", "no"}));
  EXPECT_EQ(run.instance().data.value().at("error").at("code"), "millrace.duration.invalid");
  const Json& data = run.instance().data.value();
  EXPECT_THAT(data.at("error").at("msg").get<std::string>(),
              HasSubstr("the attempt failed with e: no"));
}

TEST(EvaluatedDelaysOfRetries, RefuseToDecideARetryFromLargeData) {
  InstanceRun run(load_right_workflow(R"(
id: w
states:
- id: first
  type: consumeEvent
  event: {type: t}
  timeout: 1s
  retries: {max_attempts: 3, codes: ['*'], delay: jq(.wait)}
)"),
                  {{"wait", "PT10S"}, {"large", std::string(70'000, 'x')}});
  run.proceed();
  run.at(seconds(1));
  EXPECT_EQ(run.instance().error->code, "millrace.duration.invalid");
  EXPECT_THAT(run.instance().error->message, HasSubstr("more than 64 KB"));
}

TEST(EvaluatedDelaysOfRetries, DecideTheWaitBeforeTheNextRun) {
  InstanceRun run(load_right_workflow(R"(
id: w
retries: {maxAttempts: 2, delay: jq(.error.msg)}
states:
- {id: first, type: error, error: e, message: PT30S}
)"));
  run.proceed();
  EXPECT_TRUE(run.instance().awaits_run);
  EXPECT_THAT(armed(run), ElementsAre("retry at 30s"));
}

}  // namespace
}  // namespace millrace
