// How the loader reads `rateLimit`, `debounce` and `batch`, and what lint says about them.
#include "orchestrator/definition/start_limits.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"
#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string with_limit(const std::string& limit) {
  return fmt::format("id: a\nrateLimit: {}\nstates:\n- {{id: a, type: noop}}\n", limit);
}

/// Each error as `path code`.
std::vector<std::string> errors_of(const std::string& limit) {
  std::vector<std::string> errors;
  const Loaded loaded = load_workflow(with_limit(limit), nullptr);
  for (const Finding& one : loaded.findings.sorted()) {
    if (one.severity == Severity::kError) errors.push_back(one.path + " " + one.code);
  }
  return errors;
}

TEST(StartLimits, AreRead) {
  const Loaded loaded =
      load_workflow(with_limit("{limit: 5, period: PT1H, key: jq(.customer)}"), nullptr);
  ASSERT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "f");
  const auto& limit = loaded.workflow->rate_limit;
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->limit, 5U);
  EXPECT_EQ(limit->period.text, "PT1H");
  ASSERT_TRUE(limit->key);
  EXPECT_EQ(limit->key->programs().size(), 1U);
  const Loaded plain = load_workflow("id: a\nstates:\n- {id: a, type: noop}\n", nullptr);
  ASSERT_NE(plain.workflow, nullptr);
  EXPECT_FALSE(plain.workflow->rate_limit);
}

TEST(StartLimits, RefuseWrongValues) {
  struct Row {
    const char* limit;
    const char* error;
  };
  const Row rows[] = {
      {"{limit: 0, period: PT1H}", "rateLimit.limit definition.value"},
      {"{limit: -1, period: PT1H}", "rateLimit.limit definition.value"},
      {"{limit: 1000001, period: PT1H}", "rateLimit.limit definition.value"},
      {"{limit: many, period: PT1H}", "rateLimit.limit definition.type"},
      {"{period: PT1H}", "rateLimit.limit definition.missing"},
      {"{limit: 1}", "rateLimit.period definition.missing"},
      {"{limit: 1, period: PT0S}", "rateLimit.period duration.zero"},
      {"{limit: 1, period: jq(.p)}", "rateLimit.period definition.jq_not_here"},
      {"{limit: 1, period: PT1H, per: PT1H}", "rateLimit.per definition.unknown_key"},
      {"5", "rateLimit definition.type"},
  };
  for (const Row& row : rows)
    EXPECT_THAT(errors_of(row.limit), ElementsAre(row.error)) << row.limit;
}

TEST(StartLimits, RefuseAKeyThatAJqWorkerWouldEvaluate) {
  for (const char* const key :
       {"'jq(.a | test(\"x\"))'", "'jq(.a[])'", "[jq(.a), 'jq(.b | ascii_downcase)']"}) {
    EXPECT_THAT(errors_of(fmt::format("{{limit: 1, period: PT1H, key: {}}}", key)),
                ElementsAre("rateLimit.key definition.query"))
        << key;
  }
  EXPECT_THAT(errors_of("{limit: 1, period: PT1H, key: jq($instance.id)}"),
              ElementsAre("rateLimit.key definition.query"));
  EXPECT_THAT(errors_of("{limit: 1, period: PT1H, key: [jq(.a.b // \"none\"), x]}"), IsEmpty());
}

TEST(StartLimits, HaveAWarningIfTheKeyReadsNothing) {
  const auto places = [](const char* key) {
    return places_of("lint.start_key",
                     with_limit(fmt::format("{{limit: 1, period: PT1H, key: {}}}", key)), {});
  };
  for (const char* const key : {"customer", "5", "jq(now)", "[a, b]", "{a: b}", "'jq(\"a\")'"}) {
    EXPECT_THAT(places(key), ElementsAre("warning rateLimit.key")) << key;
  }
  for (const char* const key :
       {"jq(.customer)", "'.'", "[a, jq(.b)]", "{a: jq(.b)}", "c-jq(.customer)", "jq(length)"}) {
    EXPECT_THAT(places(key), IsEmpty()) << key;
  }
  EXPECT_THAT(places_of("lint.start_key", with_limit("{limit: 1, period: PT1H}"), {}), IsEmpty());
}

std::string with_debounce(const std::string& debounce) {
  return fmt::format("id: a\ndebounce: {}\nstates:\n- {{id: a, type: noop}}\n", debounce);
}

TEST(StartLimits, HaveADebounce) {
  const Loaded loaded =
      load_workflow(with_debounce("{period: PT10S, timeout: PT1M, key: jq(.customer)}"), nullptr);
  ASSERT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "f");
  const auto& debounce = loaded.workflow->debounce;
  ASSERT_TRUE(debounce);
  EXPECT_EQ(debounce->period.text, "PT10S");
  ASSERT_TRUE(debounce->timeout);
  EXPECT_EQ(debounce->timeout->text, "PT1M");
  EXPECT_TRUE(debounce->key);
}

TEST(StartLimits, RefuseAWrongDebounce) {
  const auto errors = [](const char* debounce) {
    std::vector<std::string> all;
    const Loaded loaded = load_workflow(with_debounce(debounce), nullptr);
    for (const Finding& one : loaded.findings.sorted()) {
      if (one.severity == Severity::kError) all.push_back(one.path + " " + one.code);
    }
    return all;
  };
  EXPECT_THAT(errors("{timeout: PT1M}"), ElementsAre("debounce.period definition.missing"));
  EXPECT_THAT(errors("{period: PT0S}"), ElementsAre("debounce.period duration.zero"));
  EXPECT_THAT(errors("{period: PT1M, timeout: PT59S}"),
              ElementsAre("debounce.timeout definition.value"));
  EXPECT_THAT(errors("{period: PT1M, timeout: PT1M}"), IsEmpty());
  EXPECT_THAT(errors("{period: PT1M, key: 'jq(.a[])'}"),
              ElementsAre("debounce.key definition.query"));
  EXPECT_THAT(places_of("lint.start_key", with_debounce("{period: PT1M, key: customer}"), {}),
              ElementsAre("warning debounce.key"));
}

std::string with_batch(const std::string& batch, const std::string& more = "name: x") {
  return fmt::format("id: a\n{}\nbatch: {}\nstates:\n- {{id: a, type: noop}}\n", more, batch);
}

/// Each error as `path code line`.
std::vector<std::string> errors_in_batch(const std::string& text) {
  std::vector<std::string> all;
  const Loaded loaded = load_workflow(text, nullptr);
  for (const Finding& one : loaded.findings.sorted()) {
    if (one.severity != Severity::kError) continue;
    all.push_back(fmt::format("{} {} {}", one.path, one.code, one.at.line));
  }
  return all;
}

TEST(StartLimits, HaveABatch) {
  const Loaded loaded =
      load_workflow(with_batch("{maxSize: 100, timeout: PT5M, key: jq(.company)}"), nullptr);
  ASSERT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "f");
  const auto& batch = loaded.workflow->batch;
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->max_size, 100U);
  EXPECT_EQ(batch->timeout.text, "PT5M");
  EXPECT_TRUE(batch->key);
  EXPECT_TRUE(loaded.workflow->puts_off_starts());
  EXPECT_FALSE(loaded.workflow->debounce);
}

TEST(StartLimits, RefuseAWrongBatch) {
  struct Row {
    const char* batch;
    const char* error;
  };
  const Row rows[] = {
      {"{maxSize: 0, timeout: PT5M}", "batch.maxSize definition.value 3"},
      {"{maxSize: 1001, timeout: PT5M}", "batch.maxSize definition.value 3"},
      {"{maxSize: many, timeout: PT5M}", "batch.maxSize definition.type 3"},
      {"{timeout: PT5M}", "batch.maxSize definition.missing 3"},
      {"{maxSize: 5}", "batch.timeout definition.missing 3"},
      {"{maxSize: 5, timeout: PT0S}", "batch.timeout duration.zero 3"},
      {"{maxSize: 5, timeout: PT5M, key: 'jq(.a[])'}", "batch.key definition.query 3"},
      {"{maxSize: 5, timeout: PT5M, size: 5}", "batch.size definition.unknown_key 3"},
      {"5", "batch definition.type 3"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(errors_in_batch(with_batch(row.batch)), ElementsAre(row.error)) << row.batch;
  }
  for (const char* const batch : {"{maxSize: 1, timeout: PT5M}", "{maxSize: 1000, timeout: P1D}"}) {
    EXPECT_THAT(errors_in_batch(with_batch(batch)), IsEmpty()) << batch;
  }
  EXPECT_THAT(
      places_of("lint.start_key", with_batch("{maxSize: 5, timeout: PT5M, key: company}"), {}),
      ElementsAre("warning batch.key"));
}

TEST(StartLimits, RefuseABatchBesideADebounce) {
  EXPECT_THAT(
      errors_in_batch(with_batch("{maxSize: 5, timeout: PT5M}", "debounce: {period: PT1M}")),
      ElementsAre("batch definition.both_keys 3"));
}

}  // namespace
}  // namespace millrace
