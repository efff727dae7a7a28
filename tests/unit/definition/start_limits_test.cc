// How the loader reads `rateLimit`, and what lint says about it.
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

}  // namespace
}  // namespace millrace
