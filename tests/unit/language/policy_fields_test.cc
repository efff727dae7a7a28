#include "language/policy_fields.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/language/policy_reading.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Expiry = Timeout::Expiry;
using Lines = std::vector<std::string>;

/// The only finding of a policy; empty: it has none.
std::string finding_on(const std::string& retries) {
  const ActionPolicies found = read_action("retries: " + retries);
  EXPECT_LE(found.findings.size(), 1U) << retries << ::testing::PrintToString(found.findings);
  EXPECT_EQ(found.findings.empty(), found.retries.has_value()) << retries;
  return found.findings.empty() ? "" : found.findings.front();
}

Vocabulary vocabulary_of(const std::string& action) {
  const ActionPolicies found = read_action(action);
  EXPECT_THAT(found.findings, IsEmpty()) << action;
  return found.retries.value().vocabulary;
}

RetryPolicy policy_of(const std::string& retries) {
  const ActionPolicies found = read_action("retries: " + retries);
  EXPECT_THAT(found.findings, IsEmpty()) << retries;
  return found.retries.value().policy;
}

TEST(PolicyFields, SelectTheVocabularyByItsKeys) {
  const std::vector<std::pair<std::string, Vocabulary>> rows = {
      {"retries: {max_attempts: 1, codes: [a]}", Vocabulary::kDirektiv},
      {"retry: {max_attempts: 1, codes: [a], delay: PT1S}", Vocabulary::kDirektiv},
      {"retries: {maxAttempts: 5, delay: 1s}", Vocabulary::kSteep},
      {"retries: {exponentialBackoff: 2}", Vocabulary::kSteep},
      {"retries: {maxDelay: 10s}", Vocabulary::kSteep},
      {"retries: {maxAttempts: 3, delay: 1s, exponentialBackoff: 2, maxDelay: 10s}",
       Vocabulary::kSteep},
      {"retries: {maximumAttempts: 3}", Vocabulary::kTemporal},
      {"retries: {initialInterval: 1s}", Vocabulary::kTemporal},
      {"retries: {backoffCoefficient: 1.5}", Vocabulary::kTemporal},
      {"retries: {maximumInterval: 1m}", Vocabulary::kTemporal},
      {"retries: {nonRetryableErrors: [a]}", Vocabulary::kTemporal},
      {"retries: {nonRetryableErrorTypes: [a]}", Vocabulary::kTemporal},
      {"retries: {backoffMs: 100}", Vocabulary::kStevora},
      {"retry: {maxAttempts: 5, backoffMs: 2000, backoffMultiplier: 3}", Vocabulary::kStevora},
      {"retries: {maxBackoffMs: 1}", Vocabulary::kStevora},
      {"retries: fixed(3, 1s)", Vocabulary::kZart},
      {"retry: fixed(3, 1s)", Vocabulary::kZart},
      // These keys belong to Steep or Temporal only, although `retry` is Stevora's key.
      {"retry: {maxAttempts: 3, delay: 1s}", Vocabulary::kSteep},
      {"retry: {maximumAttempts: 3}", Vocabulary::kTemporal},
      // Under `retry`, keys that several vocabularies have are Stevora's.
      {"retry: {maxAttempts: 3}", Vocabulary::kStevora},
      {"retry: {}", Vocabulary::kStevora},
      // These policies name their vocabulary.
      {"retries: {vocabulary: steep, maxAttempts: 3}", Vocabulary::kSteep},
      {"retries: {maxAttempts: 3, vocabulary: stevora}", Vocabulary::kStevora},
      {"retry: {vocabulary: steep, maxAttempts: 3}", Vocabulary::kSteep},
      {"retries: {vocabulary: temporal}", Vocabulary::kTemporal},
      {"retries: {vocabulary: steep, delay: 1s}", Vocabulary::kSteep},
  };
  for (const auto& [action, vocabulary] : rows) {
    EXPECT_EQ(vocabulary_of(action), vocabulary) << action;
  }
}

TEST(PolicyFields, RefuseAnAmbiguousVocabularyWithItsCandidates) {
  EXPECT_EQ(finding_on("{maxAttempts: 3}"),
            "2:10 action.retries: the keys of this policy fit several vocabularies: steep or "
            "stevora; add `vocabulary: steep` or `vocabulary: stevora` [definition.vocabulary]");
  EXPECT_EQ(finding_on("{delay: 1s}"),
            "2:10 action.retries: the keys of this policy fit several vocabularies: direktiv or "
            "steep; add `vocabulary: direktiv` or `vocabulary: steep` "
            "[definition.vocabulary]");
  EXPECT_EQ(finding_on("{}"),
            "2:10 action.retries: the keys of this policy fit several vocabularies: direktiv, "
            "steep, temporal or stevora; add `vocabulary: direktiv`, `vocabulary: steep`, "
            "`vocabulary: temporal` or `vocabulary: stevora` [definition.vocabulary]");
  // Stevora has no `delay`.
  EXPECT_THAT(
      read_action("retry: {delay: 1s}").findings,
      ElementsAre("2:8 action.retry: the keys of this policy fit several vocabularies: direktiv or "
                  "steep; add `vocabulary: direktiv` or `vocabulary: steep` "
                  "[definition.vocabulary]"));
}

TEST(PolicyFields, RefuseMixedVocabulariesAtTheFirstKeyOfTheSecondVocabulary) {
  EXPECT_EQ(
      finding_on("{maxAttempts: 3, initialInterval: 1s}"),
      "2:27 action.retries.initialInterval: \"initialInterval\" is a key of temporal, but the keys "
      "before it are of steep or stevora; write `delay` (steep) or `backoffMs` (stevora) in its "
      "place [definition.vocabulary]");
  EXPECT_EQ(finding_on("{max_attempts: 3, codes: [a], backoffMs: 100}"),
            "2:40 action.retries.backoffMs: \"backoffMs\" is a key of stevora, but the keys before "
            "it are of direktiv; write `delay` in its place [definition.vocabulary]");
  EXPECT_EQ(finding_on("{backoffMs: 100, delay: 1s}"),
            "2:27 action.retries.delay: \"delay\" is a key of direktiv or steep, but the keys "
            "before it are of stevora; remove it: `backoffMs` sets the same "
            "[definition.vocabulary]");
  EXPECT_EQ(finding_on("{delay: 1s, maxAttempts: 3, maxBackoffMs: 5}"),
            "2:38 action.retries.maxBackoffMs: \"maxBackoffMs\" is a key of stevora, but the keys "
            "before it are of steep; write `maxDelay` in its place [definition.vocabulary]");
  EXPECT_EQ(
      finding_on("{codes: [a], maxAttempts: 3}"),
      "2:23 action.retries.maxAttempts: \"maxAttempts\" is a key of steep or stevora, but the "
      "keys before it are of direktiv; write `max_attempts` (without the first attempt) in "
      "its place [definition.vocabulary]");
}

TEST(PolicyFields, SayWhatToWriteInPlaceOfTheKeysBeforeOneThatTheirVocabularyLacks) {
  EXPECT_EQ(finding_on("{maxAttempts: 3, delay: 1s, codes: [a]}"),
            "2:38 action.retries.codes: \"codes\" is a key of direktiv, but the keys before it are "
            "of steep; no key of theirs sets the same, so write keys of direktiv only: "
            "`max_attempts` (without the first attempt) in place of `maxAttempts` "
            "[definition.vocabulary]");
  EXPECT_EQ(finding_on("{maxAttempts: 3, maxDelay: 1m, nonRetryableErrorTypes: [a]}"),
            "2:41 action.retries.nonRetryableErrorTypes: \"nonRetryableErrorTypes\" is a key of "
            "temporal, but the keys before it are of steep; no key of theirs sets the same, so "
            "write keys of temporal only: `maximumAttempts` in place of `maxAttempts`, "
            "`maximumInterval` in place of `maxDelay` [definition.vocabulary]");
  EXPECT_EQ(finding_on("{exponentialBackoff: 2, maxDelay: 1m, codes: [a]}"),
            "2:48 action.retries.codes: \"codes\" is a key of direktiv, but the keys before it are "
            "of steep; no key of theirs sets the same, so write keys of direktiv only: "
            "`multiplier` in place of `exponentialBackoff`, no key in place of `maxDelay` "
            "[definition.vocabulary]");
}

TEST(PolicyFields, RefuseAKeyThatIsNotOfTheNamedVocabulary) {
  const ActionPolicies found =
      read_action("retries: {vocabulary: steep, maxAttempts: 3, backoffMs: 100, dely: 1s}");
  EXPECT_THAT(
      found.findings,
      ElementsAre("2:46 action.retries.backoffMs: \"backoffMs\" is a key of stevora, not of "
                  "steep [definition.vocabulary]",
                  "2:62 action.retries.dely: \"dely\" is not a known key here; did you mean "
                  "\"delay\"? [definition.unknown_key]"));
}

TEST(PolicyFields, RefuseAnUnknownVocabulary) {
  EXPECT_EQ(finding_on("{vocabulary: step, maxAttempts: 3}"),
            "2:23 action.retries.vocabulary: vocabulary is \"step\"; write direktiv, steep, "
            "temporal or stevora [definition.value]");
  EXPECT_EQ(finding_on("{vocabulary: zart, maxAttempts: 3}"),
            "2:23 action.retries.vocabulary: Zart's policy is not a mapping; write a string such "
            "as \"fixed(3, 1s)\" [definition.value]");
  EXPECT_EQ(finding_on("{vocabulary: [steep], maxAttempts: 3}"),
            "2:23 action.retries.vocabulary: vocabulary is a list; write direktiv, steep, temporal "
            "or stevora [definition.value]");
}

TEST(PolicyFields, ReportAnUnknownKeyBesideAnAmbiguousVocabulary) {
  EXPECT_THAT(
      read_action("retries: {maxAttempts: 3, backofMs: 100}").findings,
      ElementsAre("2:10 action.retries: the keys of this policy fit several vocabularies: steep or "
                  "stevora; add `vocabulary: steep` or `vocabulary: stevora` "
                  "[definition.vocabulary]",
                  "2:27 action.retries.backofMs: \"backofMs\" is not a known key here; did "
                  "you mean \"backoffMs\"? [definition.unknown_key]"));
}

TEST(PolicyFields, RefuseRetriesThatAreNeitherAMappingNorAValidString) {
  EXPECT_EQ(
      finding_on("3"),
      "2:10 action.retries: retries is a number; write a mapping, or a string such as \"fixed(3, "
      "1s)\" [definition.type]");
  EXPECT_EQ(
      finding_on("[]"),
      "2:10 action.retries: retries is a list; write a mapping, or a string such as \"fixed(3, "
      "1s)\" [definition.type]");
  EXPECT_EQ(finding_on("exponential(3, 1s)"),
            "2:10 action.retries: \"exponential(3, 1s)\" is not a retry policy: \"exponential\" is "
            "unknown; only fixed(attempts, delay) is valid; for waits that grow, write a "
            "mapping with the keys of another vocabulary [retry.malformed]");
  EXPECT_THAT(read_action("retry: fixed(3, 1s)\nretries: fixed(3, 1s)").findings,
              ElementsAre("3:1 action.retries: \"retry\" and \"retries\" are the same field; write "
                          "one of them [definition.both_keys]"));
}

TEST(PolicyFields, RefuseRetriesJustOutsideEachLimit) {
  struct Row {
    std::string inside;
    std::string outside;
    std::string finding;
  };
  const std::string at = "2:10 action.retries";
  const auto value = [](std::string_view key, int column, std::string_view what,
                        std::string_view wanted) {
    return fmt::format("2:{} action.retries.{}: {} is {}; it must be {} [definition.value]", column,
                       key, key, what, wanted);
  };
  const auto zero = [](std::string_view key, int column, std::string_view what) {
    return fmt::format("2:{} action.retries.{}: \"{}\" is zero; it must be longer [duration.zero]",
                       column, key, what);
  };
  const std::vector<Row> rows = {
      {"{max_attempts: 0, codes: [a]}", "{max_attempts: -1, codes: [a]}",
       value("max_attempts", 25, "-1", "between 0 and 1000000")},
      {"{max_attempts: 1000000, codes: [a]}", "{max_attempts: 1000001, codes: [a]}",
       value("max_attempts", 25, "1000001", "between 0 and 1000000")},
      {"{multiplier: 0.001, max_attempts: 1, codes: [a]}",
       "{multiplier: 0, max_attempts: 1, codes: [a]}", value("multiplier", 23, "0", "above 0")},
      {"{delay: PT0S, max_attempts: 1, codes: [a]}", "{delay: 5, max_attempts: 1, codes: [a]}",
       "2:18 action.retries.delay: delay is a number; write a duration such as \"PT1H\" "
       "[definition.type]"},
      {"{codes: ['*'], max_attempts: 1}", "{codes: [], max_attempts: 1}",
       "2:18 action.retries.codes: with an empty list no error is retried; write the codes, or `*` "
       "for all "
       "[definition.empty]"},
      {"{codes: [a|b], max_attempts: 1}", "{codes: ['('], max_attempts: 1}",
       "2:19 action.retries.codes[0]: pattern \"(\": character 1: this group is not closed: add "
       "\")\", or write \"\\(\" for the character [pattern.malformed]"},
      {"{max_attempts: 1, codes: [a]}", "{max_attempts: 1}",
       at + ".codes: \"codes\" is missing [definition.missing]"},
      {"{max_attempts: 1, codes: [a]}", "{codes: [a]}",
       at + ".max_attempts: \"max_attempts\" is missing; write for example max_attempts: 10 "
            "[definition.missing]"},

      {"{maxAttempts: -1, delay: 0}", "{maxAttempts: -2, delay: 0}",
       value("maxAttempts", 24, "-2", "between -1 and 2147483647")},
      {"{maxAttempts: 2147483647, delay: 0}", "{maxAttempts: 2147483648, delay: 0}",
       value("maxAttempts", 24, "2147483648", "between -1 and 2147483647")},
      {"{maxAttempts: 1, delay: 0s}", "{maxAttempts: 1, delay: 1.5h}",
       "2:34 action.retries.delay: \"1.5h\" is not a duration: only a whole number may stand "
       "before a unit; for a fraction use ISO 8601, such as PT1.5H (byte 1) [duration.malformed]"},
      {"{exponentialBackoff: 0.5}", "{exponentialBackoff: 0}",
       value("exponentialBackoff", 31, "0", "above 0")},
      {"{exponentialBackoff: 0.5}", "{exponentialBackoff: -2}",
       value("exponentialBackoff", 31, "-2", "above 0")},
      {"{maxDelay: 1}", "{maxDelay: 0}", zero("maxDelay", 21, "0")},

      {"{maximumAttempts: 0}", "{maximumAttempts: -1}",
       value("maximumAttempts", 28, "-1", "between 0 and 2147483647")},
      {"{maximumAttempts: 2147483647}", "{maximumAttempts: 2147483648}",
       value("maximumAttempts", 28, "2147483648", "between 0 and 2147483647")},
      {"{initialInterval: 0s}", "{initialInterval: -1s}",
       "2:28 action.retries.initialInterval: \"-1s\" is not a duration: it must not be negative "
       "(byte "
       "0) [duration.negative]"},
      {"{maximumInterval: 1ms}", "{maximumInterval: 0s}", zero("maximumInterval", 28, "0s")},
      {"{backoffCoefficient: 0.1}", "{backoffCoefficient: 0}",
       value("backoffCoefficient", 31, "0", "above 0")},
      {"{nonRetryableErrors: []}", "{nonRetryableErrors: [5]}",
       "2:32 action.retries.nonRetryableErrors[0]: this is a number; put it in quotes: \"5\" "
       "[definition.type]"},
      {"{nonRetryableErrors: [a]}", "{nonRetryableErrors: [a], nonRetryableErrorTypes: [b]}",
       "2:36 action.retries.nonRetryableErrorTypes: \"nonRetryableErrors\" and "
       "\"nonRetryableErrorTypes\" are the same field; write one of them [definition.both_keys]"},

      {"{vocabulary: stevora, maxAttempts: 1}", "{vocabulary: stevora, maxAttempts: 0}",
       value("maxAttempts", 45, "0", "between 1 and 20")},
      {"{vocabulary: stevora, maxAttempts: 20}", "{vocabulary: stevora, maxAttempts: 21}",
       value("maxAttempts", 45, "21", "between 1 and 20")},
      {"{backoffMs: 100}", "{backoffMs: 99}",
       value("backoffMs", 22, "99", "between 100 and 3155760000000")},
      {"{backoffMs: 3155760000000}", "{backoffMs: 3155760000001}",
       value("backoffMs", 22, "3155760000001", "between 100 and 3155760000000")},
      {"{backoffMs: 100}", "{backoffMs: 100ms}",
       "2:22 action.retries.backoffMs: backoffMs is a string; write a whole number "
       "[definition.type]"},
      {"{backoffMs: 100}", "{backoffMs: 100.5}",
       "2:22 action.retries.backoffMs: backoffMs is a number; write a whole number "
       "[definition.type]"},
      {"{backoffMultiplier: 1}", "{backoffMultiplier: 0.99}",
       value("backoffMultiplier", 30, "0.99", "between 1 and 10")},
      {"{backoffMultiplier: 10}", "{backoffMultiplier: 10.01}",
       value("backoffMultiplier", 30, "10.01", "between 1 and 10")},
      {"{maxBackoffMs: 1}", "{maxBackoffMs: 0}",
       value("maxBackoffMs", 25, "0", "between 1 and 3155760000000")},
      {"{maxBackoffMs: 3155760000000}", "{maxBackoffMs: 3155760000001}",
       value("maxBackoffMs", 25, "3155760000001", "between 1 and 3155760000000")},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(finding_on(row.inside), "");
    const Lines found = read_action("retries: " + row.outside).findings;
    EXPECT_THAT(found, ElementsAre(row.finding)) << row.outside;
  }
}

TEST(PolicyFields, FillInTheDefaultsOfTheVocabulary) {
  const RetryPolicy direktiv = policy_of("{max_attempts: 3, codes: ['^a$']}");
  EXPECT_EQ(direktiv.attempts, 4U);
  EXPECT_EQ(direktiv.delay, Span{});
  EXPECT_EQ(direktiv.factor, 1);
  EXPECT_EQ(direktiv.max_delay, std::nullopt);
  ASSERT_EQ(direktiv.only.size(), 1U);
  EXPECT_EQ(direktiv.only[0].text(), "^a$");

  const RetryPolicy steep = policy_of("{delay: 1s, maxDelay: 10s}");
  EXPECT_EQ(steep.attempts, 1U);
  EXPECT_EQ(steep.factor, 1);
  EXPECT_EQ(steep.max_delay, std::nullopt);
  EXPECT_THAT(steep.only, IsEmpty());

  const RetryPolicy temporal = policy_of("{nonRetryableErrorTypes: [a, b]}");
  EXPECT_EQ(temporal.attempts, std::nullopt);
  EXPECT_EQ(temporal.window, Span{.months = 120});
  EXPECT_EQ(temporal.delay, span(1s));
  EXPECT_EQ(temporal.max_delay, span(100s));
  EXPECT_THAT(temporal.never, ElementsAre("a", "b"));

  const RetryPolicy stevora = policy_of("{backoffMs: 2000}");
  EXPECT_EQ(stevora.attempts, 3U);
  EXPECT_EQ(stevora.delay, span(2s));
  EXPECT_EQ(stevora.factor, 2);
  EXPECT_EQ(stevora.max_delay, span(300s));
  EXPECT_EQ(stevora.jitter, 0.25);
}

TEST(PolicyFields, ReadTheExamplePoliciesOfSteepStevoraAndZart) {
  const RetryPolicy steep =
      policy_of("{maxAttempts: 5, delay: 1s, exponentialBackoff: 2, maxDelay: 10s}");
  EXPECT_EQ(steep.attempts, 5U);
  EXPECT_EQ(steep.delay, span(1s));
  EXPECT_EQ(steep.factor, 2);
  EXPECT_EQ(steep.max_delay, span(10s));

  const RetryPolicy stevora =
      policy_of(R"({"maxAttempts": 5, "backoffMs": 2000, "backoffMultiplier": 3})");
  EXPECT_EQ(stevora.attempts, 5U);
  EXPECT_EQ(stevora.delay, span(2s));
  EXPECT_EQ(stevora.factor, 3);

  const RetryPolicy zart = policy_of("fixed(3, 1s)");
  EXPECT_EQ(zart.attempts, 3U);
  EXPECT_EQ(zart.delay, span(1s));
}

TEST(PolicyFields, ReadARetryPolicyFromJson) {
  EXPECT_EQ(read_retry_policy(R"({"maximumAttempts": 5})")->attempts, 5U);
  EXPECT_EQ(read_retry_policy(R"x("fixed(3, 1s)")x")->attempts, 3U);
  EXPECT_EQ(read_retry_policy("fixed(3, 1s)")->attempts, 3U);
  struct Row {
    const char* text;
    const char* code;
    const char* message;
  };
  for (const Row& row : std::vector<Row>{
           {"", "definition.empty", "the text has no document"},
           {"{", "definition.syntax", "expected a value"},
           {"[]", "definition.type",
            "retries is a list; write a mapping, or a string such as \"fixed(3, 1s)\""},
           {R"({"maxAttempts": 3})", "definition.vocabulary",
            "the keys of this policy fit several vocabularies: steep or stevora; add `vocabulary: "
            "steep` or `vocabulary: stevora`"},
           {R"({"maxAttempts": 0, "delay": 0})", "definition.value",
            "with 0 attempts there would be no run; write at least 1"},
           {R"({"maximumAttempts": -1})", "definition.value",
            "maximumAttempts: maximumAttempts is -1; it must be between 0 and 2147483647"},
       }) {
    const Result<RetryPolicy> policy = read_retry_policy(row.text);
    ASSERT_FALSE(policy) << row.text;
    EXPECT_EQ(policy.error().code, row.code) << row.text;
    EXPECT_EQ(policy.error().message, row.message) << row.text;
  }
}

}  // namespace
}  // namespace millrace
