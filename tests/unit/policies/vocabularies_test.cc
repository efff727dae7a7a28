#include "policies/vocabularies.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Asked = RetryPolicy::Asked;
using UsedUp = RetryPolicy::UsedUp;

constexpr std::array kAll = {Vocabulary::kDirektiv, Vocabulary::kSteep, Vocabulary::kTemporal,
                             Vocabulary::kStevora, Vocabulary::kZart};

Span span(Duration fixed) { return {.fixed = fixed}; }

TEST(Vocabularies, HaveTheNamesOfFiveSystems) {
  std::vector<std::string_view> names;
  for (const Vocabulary one : kAll) names.push_back(retry_vocabulary(one).name);
  EXPECT_THAT(names, ElementsAre("direktiv", "steep", "temporal", "stevora", "zart"));
}

TEST(Vocabularies, AreFoundByTheirNames) {
  for (const Vocabulary one : kAll) EXPECT_EQ(vocabulary_named(retry_vocabulary(one).name), one);
  EXPECT_EQ(vocabulary_named("Steep"), std::nullopt);
  EXPECT_EQ(vocabulary_named(""), std::nullopt);
}

TEST(Vocabularies, HaveDefaultValuesWithinTheLimitsOfTheirKeys) {
  for (const Vocabulary one : kAll) {
    for (const RetryKey& key : retry_vocabulary(one).keys) {
      if (key.otherwise.empty()) continue;
      SCOPED_TRACE(key.name);
      EXPECT_FALSE(key.required);
      if (key.unit == RetryKey::Unit::kSpan || key.unit == RetryKey::Unit::kSpanOrNumber) {
        EXPECT_TRUE(Span::parse(key.otherwise));
      } else {
        const double value = std::stod(std::string(key.otherwise));
        EXPECT_GE(value, static_cast<double>(key.min.value()));
        EXPECT_LE(value, static_cast<double>(key.max.value_or(INT64_MAX)));
      }
    }
  }
}

TEST(Vocabularies, HaveTheDefaultPoliciesOfTheirSystems) {
  EXPECT_FALSE(default_policy(Vocabulary::kDirektiv));
  EXPECT_FALSE(default_policy(Vocabulary::kZart));

  const RetryPolicy steep = default_policy(Vocabulary::kSteep).value();
  EXPECT_EQ(steep.attempts, 1U);
  EXPECT_EQ(steep.delay, Span{});
  EXPECT_EQ(steep.factor, 1);
  EXPECT_EQ(steep.max_delay, std::nullopt);
  EXPECT_EQ(steep.jitter, 0);
  EXPECT_EQ(steep.window, std::nullopt);

  const RetryPolicy temporal = default_policy(Vocabulary::kTemporal).value();
  EXPECT_EQ(temporal.attempts, std::nullopt);
  EXPECT_EQ(temporal.delay, span(1s));
  EXPECT_EQ(temporal.factor, 2);
  EXPECT_EQ(temporal.max_delay, span(100s));
  EXPECT_EQ(temporal.jitter, 0);
  EXPECT_EQ(temporal.window, Span{.months = 120});
  EXPECT_THAT(temporal.never, IsEmpty());

  const RetryPolicy stevora = default_policy(Vocabulary::kStevora).value();
  EXPECT_EQ(stevora.attempts, 3U);
  EXPECT_EQ(stevora.delay, span(1s));
  EXPECT_EQ(stevora.factor, 2);
  EXPECT_EQ(stevora.max_delay, span(5min));
  EXPECT_EQ(stevora.jitter, 0.25);
  EXPECT_EQ(stevora.window, std::nullopt);
}

TEST(Vocabularies, DefineWhetherCatchOrThePolicyComesFirstAndTheErrorAfterTheLastAttempt) {
  const std::array expected = {std::pair(Asked::kAfterCatch, UsedUp::kExceeded),
                               std::pair(Asked::kBeforeCatch, UsedUp::kLast),
                               std::pair(Asked::kBeforeCatch, UsedUp::kLast),
                               std::pair(Asked::kBeforeCatch, UsedUp::kStepFailed),
                               std::pair(Asked::kBeforeCatch, UsedUp::kExceeded)};
  for (size_t i = 0; i < kAll.size(); ++i) {
    const RetryPolicy policy = retry_policy(kAll[i], {.attempts = 3});
    EXPECT_EQ(std::pair(policy.asked, policy.used_up), expected[i]) << i;
  }
}

TEST(Vocabularies, CountAttemptsAsTheirSystemsDo) {
  struct Row {
    Vocabulary vocabulary;
    int64_t written;
    std::optional<uint32_t> attempts;
    std::optional<Span> window;
  };
  const Span ten_years{.months = 120};
  for (const Row& row : std::vector<Row>{
           {Vocabulary::kDirektiv, 0, 1, {}},
           {Vocabulary::kDirektiv, 3, 4, {}},
           {Vocabulary::kSteep, -1, {}, {}},
           {Vocabulary::kSteep, 0, 0, {}},
           {Vocabulary::kSteep, 3, 3, {}},
           {Vocabulary::kTemporal, 0, {}, ten_years},
           {Vocabulary::kTemporal, 1, 1, {}},
           {Vocabulary::kTemporal, 3, 3, {}},
           {Vocabulary::kStevora, 20, 20, {}},
           {Vocabulary::kZart, 3, 3, {}},
       }) {
    const RetryPolicy policy = retry_policy(row.vocabulary, {.attempts = row.written});
    EXPECT_EQ(policy.attempts, row.attempts) << row.written;
    EXPECT_EQ(policy.window, row.window) << row.written;
  }
}

TEST(Vocabularies, IgnoreTheMaximumDelayOfSteepUnlessTheDelayGrows) {
  for (const auto& [factor, max] :
       {std::pair(0.5, std::optional<Span>()), std::pair(1.0, std::optional<Span>()),
        std::pair(1.5, std::optional(span(10s)))}) {
    const RetryPolicy policy = retry_policy(
        Vocabulary::kSteep, {.delay = span(1s), .factor = factor, .max_delay = span(10s)});
    EXPECT_EQ(policy.max_delay, max) << factor;
  }
}

TEST(Vocabularies, LimitTheDelayOfTemporalTo100TimesTheFirstDelayByDefault) {
  EXPECT_EQ(retry_policy(Vocabulary::kTemporal, {.delay = span(5s)}).max_delay, span(500s));
  EXPECT_EQ(retry_policy(Vocabulary::kTemporal, {.delay = Span{.months = 1}}).max_delay,
            Span{.months = 100});
  EXPECT_EQ(retry_policy(Vocabulary::kTemporal, {.max_delay = span(7s)}).max_delay, span(7s));
}

TEST(Vocabularies, ReadAPolicyOfZartWithOrWithoutWhiteSpace) {
  for (const char* text :
       {"fixed(3, 1s)", "fixed(3,1s)", " fixed ( 3 , 1 s ) ", "fixed(3, PT1S)"}) {
    const Result<RetryPolicy> policy = parse_retry_text(text);
    ASSERT_TRUE(policy) << text;
    EXPECT_EQ(policy->attempts, 3U);
    EXPECT_EQ(policy->delay, span(1s));
    EXPECT_EQ(policy->factor, 1);
    EXPECT_EQ(policy->max_delay, std::nullopt);
    EXPECT_EQ(policy->jitter, 0);
  }
  EXPECT_EQ(parse_retry_text("fixed(1, 0s)")->attempts, 1U);
  EXPECT_EQ(parse_retry_text("fixed(2147483647, 1d 2h)")->delay, span(26h));
}

TEST(Vocabularies, RetryNoTimeoutWithAPolicyOfZart) {
  const RetryPolicy policy = parse_retry_text("fixed(3, 1s)").value();
  EXPECT_TRUE(policy.covers("card.declined"));
  for (const char* code : {"scheduleToClose", "startToClose", "heartbeat", "scheduleToStart"}) {
    EXPECT_FALSE(policy.covers(std::string("millrace.timeout.") + code)) << code;
  }
  EXPECT_FALSE(policy.covers("direktiv.stateTimeout")) << "the timeout of a wait for an event";
}

TEST(Vocabularies, ReportWhatIsWrongWithAPolicyOfZart) {
  struct Row {
    const char* text;
    const char* code;
    const char* message;
  };
  for (const Row& row : std::vector<Row>{
           {"", "retry.malformed",
            "\"\" is not a retry policy: write fixed(attempts, delay), such as fixed(3, 1s)"},
           {"often", "retry.malformed",
            "\"often\" is not a retry policy: write fixed(attempts, delay), such as fixed(3, 1s)"},
           {"fixed(3, 1s", "retry.malformed",
            "\"fixed(3, 1s\" is not a retry policy: its `)` is missing; inside {…} put the policy "
            "in quotes, because it contains a comma"},
           {"fixed(3)", "retry.malformed",
            "\"fixed(3)\" is not a retry policy: write fixed(attempts, delay), such as fixed(3, "
            "1s)"},
           {"exponential(3, 1s)", "retry.malformed",
            "\"exponential(3, 1s)\" is not a retry policy: \"exponential\" is unknown; only "
            "fixed(attempts, delay) is valid; for waits that grow, write a mapping with the keys "
            "of another vocabulary"},
           {"fixed(0, 1s)", "retry.malformed",
            "\"fixed(0, 1s)\" is not a retry policy: the attempts are \"0\", expected a number "
            "from 1 to 2147483647"},
           {"fixed(2147483648, 1s)", "retry.malformed",
            "\"fixed(2147483648, 1s)\" is not a retry policy: the attempts are \"2147483648\", "
            "expected a number from 1 to 2147483647"},
           {"fixed(1.5, 1s)", "retry.malformed",
            "\"fixed(1.5, 1s)\" is not a retry policy: the attempts are \"1.5\", expected a number "
            "from 1 to 2147483647"},
           {"fixed(99999999999999999999, 1s)", "retry.malformed",
            "\"fixed(99999999999999999999, 1s)\" is not a retry policy: the attempts are "
            "\"99999999999999999999\", expected a number from 1 to 2147483647"},
           {"fixed(3, 1s, 2)", "duration.malformed",
            "\"1s, 2\" is not a duration: expected a number here, as in 10s or PT10S (byte 2)"},
           {"fixed(3, )", "duration.malformed", "\"\" is not a duration: it is empty (byte 0)"},
           {"fixed(3, -1s)", "duration.negative",
            "\"-1s\" is not a duration: it must not be negative (byte 0)"},
           {"fixed(3, 1 week)", "duration.unit",
            "\"1 week\" is not a duration: \"week\" is not a unit; write ms, s, m, h or d (byte "
            "2)"},
       }) {
    const Result<RetryPolicy> policy = parse_retry_text(row.text);
    ASSERT_FALSE(policy) << row.text;
    EXPECT_EQ(policy.error().code, row.code) << row.text;
    EXPECT_EQ(policy.error().message, row.message) << row.text;
  }
}

TEST(Vocabularies, HaveAtMostOneKeyForEachKindOfTimeout) {
  std::set<std::pair<Vocabulary, TimeoutKind>> found;
  std::set<std::string_view> names;
  for (const TimeoutKey& key : kActionTimeouts) {
    EXPECT_TRUE(found.emplace(key.vocabulary, key.kind).second) << key.name;
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
  }
}

}  // namespace
}  // namespace millrace
