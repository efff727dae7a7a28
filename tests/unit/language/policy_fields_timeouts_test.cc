// PolicyFields: the timeouts of actions in each vocabulary.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/policy_fields.h"
#include "tests/unit/language/policy_reading.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Expiry = Timeout::Expiry;

TEST(PolicyFields, ReadTheTimeoutsOfEachVocabulary) {
  struct Row {
    const char* action;
    TimeoutKind kind;
    Duration fixed;
    Expiry expiry;
  };
  for (const Row& row : std::vector<Row>{
           {"scheduleToStartTimeout: 1m", TimeoutKind::kScheduleToStart, 1min, Expiry::kFinal},
           {"startToCloseTimeout: 1m", TimeoutKind::kStartToClose, 1min, Expiry::kRetryable},
           {"scheduleToCloseTimeout: PT1M", TimeoutKind::kScheduleToClose, 1min, Expiry::kFinal},
           {"heartbeatTimeout: 30s", TimeoutKind::kHeartbeat, 30s, Expiry::kRetryable},
           {"maxInactivity: 5m", TimeoutKind::kHeartbeat, 5min, Expiry::kCancels},
           {"maxInactivity: 500", TimeoutKind::kHeartbeat, 500ms, Expiry::kCancels},
           {"maxRuntime: 1h", TimeoutKind::kStartToClose, 1h, Expiry::kCancels},
           {"deadline: 1h", TimeoutKind::kScheduleToClose, 1h, Expiry::kCancels},
           {"maxInactivity: {timeout: 5m, errorOnTimeout: true}", TimeoutKind::kHeartbeat, 5min,
            Expiry::kRetryable},
           {"maxRuntime: {timeout: 5000, errorOnTimeout: true}", TimeoutKind::kStartToClose, 5s,
            Expiry::kRetryable},
           {"deadline: {timeout: 1h, errorOnTimeout: true}", TimeoutKind::kScheduleToClose, 1h,
            Expiry::kFinal},
           {"deadline: {timeout: 1h, errorOnTimeout: false}", TimeoutKind::kScheduleToClose, 1h,
            Expiry::kCancels},
           {"deadline: {timeout: 1h}", TimeoutKind::kScheduleToClose, 1h, Expiry::kCancels},
           {"timeout: 5m", TimeoutKind::kScheduleToClose, 5min, Expiry::kFinal},
           {"timeout: 5m\ntimeout_scope: global", TimeoutKind::kScheduleToClose, 5min,
            Expiry::kFinal},
           {"timeout: 30s\ntimeout_scope: per_attempt", TimeoutKind::kStartToClose, 30s,
            Expiry::kFinal},
       }) {
    const ActionPolicies found = read_action(row.action);
    EXPECT_THAT(found.findings, IsEmpty()) << row.action;
    TimeoutPolicy expected;
    expected[row.kind] = Timeout{.span = span(row.fixed), .expiry = row.expiry};
    EXPECT_EQ(found.timeouts.policy, expected) << row.action;
  }
}

TEST(PolicyFields, ReadSeveralTimeoutKeysOfOneAction) {
  const ActionPolicies found = read_action(
      "maxInactivity: 5m\ndeadline:\n  timeout: 1h\n  errorOnTimeout: true\n"
      "startToCloseTimeout: 10m");
  EXPECT_THAT(found.findings, IsEmpty());
  const TimeoutPolicy& policy = found.timeouts.policy;
  EXPECT_EQ(policy[TimeoutKind::kHeartbeat], (Timeout{span(5min), Expiry::kCancels}));
  EXPECT_EQ(policy[TimeoutKind::kScheduleToClose], (Timeout{span(1h), Expiry::kFinal}));
  EXPECT_EQ(policy[TimeoutKind::kStartToClose], (Timeout{span(10min), Expiry::kRetryable}));
  EXPECT_EQ(policy[TimeoutKind::kScheduleToStart], std::nullopt);
}

TEST(PolicyFields, RefuseAWrongTimeoutWithItsPlace) {
  struct Row {
    const char* action;
    const char* finding;
  };
  for (
      const Row& row : std::vector<Row>{
          {"startToCloseTimeout: 1m\nmaxRuntime: 1m",
           "3:13 action.maxRuntime: \"startToCloseTimeout\" (temporal) and \"maxRuntime\" (steep) "
           "set the same timeout; write one of them [definition.both_keys]"},
          {"maxInactivity: 1m\nheartbeatTimeout: 1m",
           "2:16 action.maxInactivity: \"heartbeatTimeout\" (temporal) and \"maxInactivity\" "
           "(steep) set the same timeout; write one of them [definition.both_keys]"},
          {"timeout: 1m\ndeadline: 1m",
           "2:10 action.timeout: \"deadline\" (steep) and \"timeout\" (zart) set the same timeout; "
           "write one of them [definition.both_keys]"},
          {"timeout: 1m\nscheduleToCloseTimeout: 1m",
           "2:10 action.timeout: \"scheduleToCloseTimeout\" (temporal) and \"timeout\" (zart) set "
           "the same timeout; write one of them [definition.both_keys]"},
          {"timeout: 1m\ntimeout_scope: per_attempt\nmaxRuntime: 1m",
           "2:10 action.timeout: \"maxRuntime\" (steep) and \"timeout\" (zart) set the same "
           "timeout; write one of them [definition.both_keys]"},
          {"timeout_scope: global",
           "2:16 action.timeout_scope: timeout_scope has no effect without `timeout`; add "
           "`timeout` or remove this key [definition.not_here]"},
          {"timeout: 1m\ntimeout_scope: attempt",
           "3:16 action.timeout_scope: timeout_scope is \"attempt\"; write one of \"global\", "
           "\"per_attempt\" [definition.value]"},
          {"timeout: 0s",
           "2:10 action.timeout: \"0s\" is zero; it must be longer "
           "[duration.zero]"},
          {"maxRuntime: 0",
           "2:13 action.maxRuntime: \"0\" is zero; it must be longer [duration.zero]"},
          {"maxRuntime: [1]",
           "2:13 action.maxRuntime: maxRuntime is a list; write a duration such as \"PT1H\" "
           "[definition.type]"},
          {"maxRuntime: {errorOnTimeout: true}",
           "2:13 action.maxRuntime.timeout: \"timeout\" is missing; write for example timeout: "
           "PT1M [definition.missing]"},
          {"maxRuntime: {timeout: 1m, errorOnTimeout: 1}",
           "2:43 action.maxRuntime.errorOnTimeout: errorOnTimeout is a number; write true or false "
           "[definition.type]"},
          {"maxRuntime: {timeout: 1m, errorsOnTimeout: true}",
           "2:27 action.maxRuntime.errorsOnTimeout: \"errorsOnTimeout\" is not a known key here; "
           "did you mean \"errorOnTimeout\"? [definition.unknown_key]"},
          {"heartbeatTimeout: 30",
           "2:19 action.heartbeatTimeout: heartbeatTimeout is a number; write a duration such as "
           "\"PT1H\" [definition.type]"},
          {"startToCloseTimout: 1m",
           "2:1 action.startToCloseTimout: \"startToCloseTimout\" is not a known key here; did you "
           "mean \"startToCloseTimeout\"? [definition.unknown_key]"},
      }) {
    EXPECT_THAT(read_action(row.action).findings, ElementsAre(row.finding)) << row.action;
  }
}

TEST(PolicyFields, PreferTheTimeoutsOfAnActionToThoseOfItsFunction) {
  const WrittenTimeouts function =
      read_action("scheduleToCloseTimeout: 1h\nheartbeatTimeout: 1m").timeouts;
  const WrittenTimeouts both = read_action("maxInactivity: 5m").timeouts.over(function);
  EXPECT_EQ(both.policy[TimeoutKind::kHeartbeat], (Timeout{span(5min), Expiry::kCancels}));
  EXPECT_EQ(both.policy[TimeoutKind::kScheduleToClose], (Timeout{span(1h), Expiry::kFinal}));
  ASSERT_NE(both.key_of(Vocabulary::kTemporal), nullptr);
  EXPECT_EQ(both.key_of(Vocabulary::kTemporal)->name, "scheduleToCloseTimeout");
  EXPECT_EQ(both.key_of(Vocabulary::kSteep)->name, "maxInactivity");
  EXPECT_EQ(both.key_of(Vocabulary::kZart), nullptr);
}

TEST(PolicyFields, ReplaceZartsTimeoutOfAFunctionByThatOfTheActionInAnyScope) {
  const WrittenTimeouts function = read_action("timeout: 5m").timeouts;
  const WrittenTimeouts both =
      read_action("timeout: 30s\ntimeout_scope: per_attempt").timeouts.over(function);
  EXPECT_EQ(both.policy[TimeoutKind::kStartToClose], (Timeout{span(30s), Expiry::kFinal}));
  EXPECT_EQ(both.policy[TimeoutKind::kScheduleToClose], std::nullopt);
}

TEST(PolicyFields, ReadDurationsInTheNotationsOfSteepDirektivAndZart) {
  // Durations as the documentation of Steep, Direktiv and Zart writes them.
  for (const char* text :
       {"1000ms", "3 secs", "5m", "20mins", "10h 30 minutes", "1 hour 10minutes 5s", "1d 5h",
        "10 days 1hrs 30m 15 secs", "PT1H", "PT0.5S", "30s", "30m", "2h", "3d", "7d"}) {
    EXPECT_THAT(read_action(fmt::format("deadline: {}", text)).findings, IsEmpty()) << text;
    EXPECT_THAT(read_action(fmt::format("timeout: {}", text)).findings, IsEmpty()) << text;
    EXPECT_THAT(read_action(fmt::format("retries: {{initialInterval: {}}}", text)).findings,
                IsEmpty())
        << text;
  }
}

TEST(PolicyFields, ReadATimeoutOfACallAsADurationAboveZero) {
  EXPECT_EQ(read_timeout("1h 30m").value(), span(90min));
  EXPECT_EQ(read_timeout("PT1H").value(), span(1h));
  EXPECT_EQ(read_timeout("0s").error().code, "duration.zero");
  EXPECT_EQ(read_timeout("0s").error().message, "\"0s\" is zero; it must be longer");
  EXPECT_EQ(read_timeout("soon").error().code, "duration.malformed");
}

}  // namespace
}  // namespace millrace
