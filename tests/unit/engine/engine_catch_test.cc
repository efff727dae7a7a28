// Engine: which entry of `catch` takes an error, and the fields of the instance afterwards. The
// state `try` raises direktiv.jq.badCommand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

InstanceRun run_with(std::string_view catches) {
  InstanceRun run(load_right_workflow(fmt::format(R"(
id: catching
states:
- id: try
  type: noop
  transform: .a.b
  transition: went
  catch: {}
- {{id: went, type: noop}}
- {{id: one, type: noop, transform: {{at: jq(.error.code)}}}}
- {{id: two, type: noop}}
)",
                                                  catches)),
                  {{"a", 1}});
  run.proceed();
  return run;
}

TEST(Engine, FollowsTheTransitionOfTheFirstCatchEntryThatMatches) {
  struct Row {
    const char* catches;
    const char* states;
    const char* status;
  };
  const Row rows[] = {
      {"[{error: direktiv.jq.badCommand, transition: one}]", "try > one", "complete"},
      {"[{error: direktiv.*, transition: one}]", "try > one", "complete"},
      {"[{error: '*', transition: one}]", "try > one", "complete"},
      {"[{error: direktiv.jq.badComman?, transition: one}]", "try > one", "complete"},
      // the first entry that matches hides the later ones
      {"[{error: '*', transition: two}, {error: direktiv.jq.badCommand, transition: one}]",
       "try > two", "complete"},
      {"[{error: direktiv.jq.*, transition: one}, {error: '*', transition: two}]", "try > one",
       "complete"},
      {"[{error: other, transition: one}, {error: direktiv.*, transition: two}]", "try > two",
       "complete"},
      // without a transition the instance is complete
      {"[{error: '*'}]", "try", "complete"},
      {"[{error: '*'}, {error: '*', transition: two}]", "try", "complete"},
      // no entry matches
      {"[]", "try", "failed"},
      {"[{error: other, transition: one}]", "try", "failed"},
      {"[{error: direktiv.jq, transition: one}]", "try", "failed"},
      {"[{error: badCommand, transition: one}]", "try", "failed"},
      {"[{error: direktiv.jq.badCommand., transition: one}]", "try", "failed"},
  };
  for (const Row& row : rows) {
    const InstanceRun run = run_with(row.catches);
    EXPECT_EQ(run.rows().back().state, row.states) << row.catches;
    EXPECT_EQ(run.rows().back().status, row.status) << row.catches;
  }
}

TEST(Engine, PutsACaughtErrorIntoTheDataOfTheNextState) {
  const InstanceRun run = run_with("[{error: '*', transition: one}]");
  EXPECT_EQ(run.instance().data.text(), R"({"at":"direktiv.jq.badCommand"})");
}

TEST(Engine, LeavesNoErrorOrFailedStateInAnInstanceThatCaughtTheError) {
  const InstanceRun run = run_with("[{error: '*'}]");
  EXPECT_FALSE(run.instance().error.has_value());
  EXPECT_EQ(run.instance().failed_state, "");
}

TEST(Engine, RecordsTheUncaughtErrorAndTheStateThatRaisedItInAFailedInstance) {
  const InstanceRun run = run_with("[{error: other}]");
  EXPECT_EQ(run.instance().error,
            (Error{"direktiv.jq.badCommand", R"(Cannot index number with string "b")"}));
  EXPECT_EQ(run.instance().failed_state, "try");
  EXPECT_EQ(run.instance().ended_at, run_start());
}

TEST(Engine, AppliesACatchToItsOwnStateOnly) {
  InstanceRun run(load_right_workflow(R"(
id: next
states:
- {id: first, type: noop, transition: second, catch: [{error: "*"}]}
- {id: second, type: noop, transform: .a.b}
)"),
                  {{"a", 1}});
  run.proceed();
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(run.instance().failed_state, "second");
}

TEST(Engine, EntersAStateAgainThroughItsOwnCatch) {
  InstanceRun run(load_right_workflow(R"(
id: again
states:
- id: wait
  type: consumeEvent
  event: {type: t}
  timeout: 10s
  catch: [{error: direktiv.stateTimeout, transition: wait}]
)"));
  run.proceed();
  run.at(std::chrono::seconds(10));
  EXPECT_THAT(run.rows().back().does, Contains("timer timeout at 20s"));
  run.at(std::chrono::seconds(25));
  EXPECT_THAT(run.rows().back().does, Contains("timer timeout at 35s"));
  EXPECT_EQ(run.rows().back().status, "waiting");
  EXPECT_EQ(run.instance().transitions, 1u) << "a wait of 10 s begins the count again";
}

TEST(Engine, CatchesNoErrorOfTheTransitionLimit) {
  InstanceRun run(load_right_workflow(R"(
id: loop
states:
- {id: loop, type: noop, transition: loop, catch: [{error: "*", transition: tidy}]}
- {id: tidy, type: noop}
)"),
                  Json::object(), {.transitions_per_instance = 5});
  run.proceed();
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(run.instance().error->code, "millrace.limits.transitions");
  EXPECT_EQ(run.instance().failed_state, "loop");
  EXPECT_THAT(run.rows().back().does, Not(Contains(StartsWith("caught"))));
}

TEST(Engine, CountsTheTransitionOfACatchForTheTransitionLimitOfAnInstance) {
  InstanceRun run(load_right_workflow(R"(
id: loop
states:
- {id: loop, type: noop, transform: .a.b, catch: [{error: "*", transition: loop}]}
)"),
                  {{"a", 1}}, {.transitions_per_instance = 5});
  run.proceed();
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(run.instance().error->code, "millrace.limits.transitions");
}

TEST(Engine, RaisesTheErrorOfAQuotaOfBytesOnceWhenItGoesToAnotherState) {
  const auto workflow = load_right_workflow(R"(
id: long
retries: {maximumAttempts: 3}
states:
- id: a
  type: noop
  retries: {maximumAttempts: 3}
  catch: [{error: "millrace.quota.*", transition: b}]
  transition: d
- {id: b, type: noop, transition: c}
- {id: c, type: noop}
- {id: d, type: noop}
)");
  struct Row {
    std::optional<ExceededQuota> exceeded;
    const char* states;
    const char* code;  ///< of the error that the instance caught; empty: none
  };
  const Row rows[] = {
      {std::nullopt, "a > d", ""},
      {ExceededQuota{Quota::kHistoryBytes, 100}, "a > b > c", "millrace.quota.historyBytes"},
      {ExceededQuota{Quota::kStoreBytes, 100}, "a > b > c", "millrace.quota.storeBytes"},
  };
  for (const auto& [exceeded, states, code] : rows) {
    InstanceRun run(workflow, Json::object(), {.exceeded = exceeded});
    run.proceed();
    EXPECT_EQ(run.rows().back().state, states);
    EXPECT_EQ(run.rows().back().status, "complete") << states;
    EXPECT_EQ(run.instance().data.value().value(Json::json_pointer("/error/code"), ""), code);
    EXPECT_EQ(run.instance().over_bytes, exceeded.has_value());
  }
}

}  // namespace
}  // namespace millrace
