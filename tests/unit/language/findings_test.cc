#include "language/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(Findings, AreSortedByPositionAndReportedOnce) {
  Findings findings;
  findings.error("b", "states[1]", {7, 2}, "late");
  findings.warning("w", "", {1, 9}, "early", "wait");
  findings.error("b", "states[1]", {7, 2}, "late");
  findings.error("a", "states[1]", {7, 2}, "as late, but added after it");
  findings.error("c", "states[0]", {7, 1}, "before");
  EXPECT_EQ(render_text(findings, "x.yaml"),
            "x.yaml:1:9: warning: early; wait [w]\n"
            "x.yaml:7:1: error: states[0]: before [c]\n"
            "x.yaml:7:2: error: states[1]: late [b]\n"
            "x.yaml:7:2: error: states[1]: as late, but added after it [a]\n");
}

TEST(Findings, AreRenderedAsJson) {
  Findings findings;
  findings.error("definition.type", "states[3].timeout", {12, 7}, "timeout is a number");
  EXPECT_EQ(dump_json(to_json(findings)),
            R"({"errors":[{"code":"definition.type","column":7,"line":12,)"
            R"("message":"timeout is a number","path":"states[3].timeout","severity":"error"}]})");
}

TEST(Findings, AppendTheCorrectionToWarningsAndNotes) {
  Findings findings;
  findings.warning("w", "", {1, 1}, "this has no effect", "remove it");
  findings.note("n", "", {1, 2}, "this has no effect either", "remove it, too");
  findings.fact("f", "", {1, 3}, "this is how it is");
  EXPECT_TRUE(findings.has_warnings());
  const std::vector<Finding> all = findings.sorted();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].message, "this has no effect; remove it");
  EXPECT_EQ(all[0].mend, "remove it");
  EXPECT_EQ(all[1].message, "this has no effect either; remove it, too");
  EXPECT_EQ(all[1].mend, "remove it, too");
  EXPECT_EQ(all[2].message, "this is how it is");
  EXPECT_EQ(all[2].severity, Severity::kNote);
  EXPECT_DEATH(findings.warning("w", "", {1, 4}, "what now", ""), "mend");
}

TEST(Findings, StoreALimitedNumberAndCountFurtherOnes) {
  Findings findings;
  for (size_t i = 0; i < Findings::kMost; ++i)
    findings.warning("w", "", {i + 1, 1}, "again", "stop");
  EXPECT_TRUE(findings.full());
  EXPECT_FALSE(findings.has_errors());
  findings.error("e", "", {1, 1}, "not kept, yet not forgotten");
  EXPECT_TRUE(findings.has_errors());
  EXPECT_EQ(findings.sorted().size(), Findings::kMost);
  EXPECT_EQ(to_json(findings)["omitted"], 1);
  EXPECT_THAT(render_text(findings, "x.yaml"), EndsWith("x.yaml: and 1 more\n"));
}

TEST(Findings, WriteKeysThatAreNotWordsInBrackets) {
  EXPECT_EQ(path_of("", "states"), "states");
  EXPECT_EQ(path_of(path_of("states", 3), "max_attempts"), "states[3].max_attempts");
  EXPECT_EQ(path_of("context", "a.b"), "context[\"a.b\"]");
  EXPECT_EQ(path_of("", ""), "[\"\"]");
  EXPECT_LT(path_of("", std::string(5000, 'a')).size(), 100U);
}

TEST(Findings, QuoteTextInAShortPrintableForm) {
  EXPECT_EQ(in_quotes("a \"b\"\\\n\x1b"), R"("a \"b\"\\\n\x1b")");
  EXPECT_EQ(in_quotes(std::string(61, 'a')), "\"" + std::string(60, 'a') + "…\"");
  EXPECT_EQ(in_quotes(std::string(59, 'a') + "€"), "\"" + std::string(59, 'a') + "…\"");
}

TEST(Findings, SuggestASimilarName) {
  struct Row {
    const char* given;
    const char* meant;
  };
  for (const Row& row : std::vector<Row>{
           {"transtion", "transition"},
           {"transitoin", "transition"},
           {"Transition", "transition"},
           {"TRANSITION", "transition"},
           {"tpye", "type"},
           {"typ", "type"},
           {"maxAttempts", "max_attempts"},
           {"max-attempts", "max_attempts"},
           {"time_out", "timeout"},
           {"timout", "timeout"},
           {"ids", "id"},
           {"defaultTransision", "defaultTransition"},
           {"default_transitions", "defaultTransition"},
       }) {
    EXPECT_EQ(likely(row.given,
                     {"id", "type", "timeout", "transition", "defaultTransition", "max_attempts"}),
              row.meant)
        << row.given;
  }
}

TEST(Findings, SuggestNothingWithoutASimilarName) {
  for (const char* given : {"", "x", "as", "description", "colour", "transitively so"}) {
    EXPECT_EQ(likely(given, {"id", "type", "timeout", "transition"}), std::nullopt) << given;
  }
  EXPECT_EQ(likely(std::string(100'000, 'a'), {std::string(99'999, 'a')}), std::nullopt);
  EXPECT_EQ(likely("type", {}), std::nullopt);
}

TEST(Findings, SuggestTheFirstOfTheMostSimilarNames) {
  EXPECT_EQ(likely("stats", {"status", "state", "stat"}), "status");
  EXPECT_EQ(likely("statez", {"status", "state"}), "state");
  EXPECT_EQ(did_you_mean("sttae", {"start", "state"}), "; did you mean \"state\"?");
  EXPECT_EQ(did_you_mean("colour", {"start", "state"}), "");
  EXPECT_EQ(mend_of_name("sttae", {"start", "state"}, "this key", "remove it"),
            "did you mean \"state\"? If not, remove this key");
  EXPECT_EQ(mend_of_name("colour", {"start", "state"}, "this key", "remove it"), "remove it");
}

}  // namespace
}  // namespace millrace
