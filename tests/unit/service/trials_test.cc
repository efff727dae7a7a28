// Trials: which evaluations they ask for, and what they make of the results.
#include "orchestrator/service/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/virtual_clock.h"

namespace millrace {
namespace {

using testing::ElementsAre;

class TrialsTest : public testing::Test {
 protected:
  /// Evaluates an expression; its result is added to `results` as JSON, or as an error code.
  void evaluate(ExpressionTrial trial) {
    trials.evaluate(trial, [this](const Result<LazyJson>& result) { note(result); });
  }
  void note(const Result<LazyJson>& result) {
    results.push_back(result ? result->text() : result.error().code);
  }
  /// Answers the oldest evaluation.
  void answer(EvaluationResult result) {
    const auto done = std::move(waiting.front().second);
    waiting.erase(waiting.begin());
    done(std::move(result));
  }
  std::vector<std::string> programs(size_t evaluation) {
    std::vector<std::string> texts;
    for (const Query& query : waiting.at(evaluation).first.queries) texts.push_back(query.program);
    return texts;
  }

  VirtualClock clock;
  std::vector<std::pair<Evaluation, std::function<void(EvaluationResult)>>> waiting;
  std::vector<std::string> results;
  Trials trials{[this](Evaluation evaluation, std::function<void(EvaluationResult)> done) {
                  waiting.emplace_back(std::move(evaluation), std::move(done));
                },
                clock};
};

TEST_F(TrialsTest, EvaluateAQueryOnTheData) {
  evaluate({.text = ".a + 1", .data = Json{{"a", 1}}});
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_THAT(programs(0), ElementsAre(".a + 1"));
  EXPECT_EQ(*waiting[0].first.queries[0].input, R"({"a":1})");
  EXPECT_EQ(waiting[0].first.timeout, Trials::kTime);
  answer({LazyJson(Json(2))});
  EXPECT_THAT(results, ElementsAre("2"));
}

TEST_F(TrialsTest, GiveTheInstanceToAnExpressionThatNamesIt) {
  const Json instance{{"id", "i-1"}};
  evaluate({.text = "$instance.id", .instance = instance});
  evaluate({.text = ".id", .instance = instance});
  evaluate({.text = "$instance"});
  ASSERT_EQ(waiting.size(), 3U);
  EXPECT_EQ(*waiting[0].first.instance, R"({"id":"i-1"})");
  EXPECT_EQ(waiting[1].first.instance, nullptr);
  EXPECT_EQ(*waiting[2].first.instance, "null");
}

TEST_F(TrialsTest, PutTheResultsIntoAValueOrAText) {
  evaluate({.text = Json{{"a", "jq(.x)"}, {"b", "."}}, .as = ExpressionTrial::As::kValue});
  EXPECT_THAT(programs(0), ElementsAre(".x"));
  answer({LazyJson(Json(1))});
  evaluate({.text = ".", .as = ExpressionTrial::As::kValue});
  EXPECT_THAT(programs(0), ElementsAre("."));
  answer({LazyJson(Json("all"))});
  evaluate({.text = "n = jq(.n), .", .as = ExpressionTrial::As::kTemplate});
  EXPECT_THAT(programs(0), ElementsAre(".n"));
  answer({LazyJson(Json(7))});
  evaluate({.text = "plain", .as = ExpressionTrial::As::kTemplate});
  EXPECT_THAT(results,
              ElementsAre(R"({"a":1,"b":"."})", R"("all")", R"("n = 7, .")", R"("plain")"));
}

TEST_F(TrialsTest, ReportErrors) {
  evaluate({.text = "jq(", .as = ExpressionTrial::As::kTemplate});
  evaluate({.text = "explode"});
  answer({fail("direktiv.jq.badCommand", "no")});
  evaluate({.text = ".a"});
  answer({});
  EXPECT_THAT(results,
              ElementsAre("jq.unterminated", "direktiv.jq.badCommand", "direktiv.jq.badCommand"));
}

TEST_F(TrialsTest, ValidateAnInput) {
  trials.validate(R"({"type":"object"})", "[]", [this](const auto& result) { note(result); });
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].first.queries[0].mode, Query::Mode::kSchema);
  EXPECT_EQ(*waiting[0].first.queries[0].input, "[]");
  answer({fail("direktiv.schema.failed", ".: no object")});
  EXPECT_THAT(results, ElementsAre("direktiv.schema.failed"));
}

TEST_F(TrialsTest, AreRefusedIfTooManyRun) {
  for (size_t i = 0; i < Trials::kMostAtOnce + 1; ++i) evaluate({.text = ".a"});
  EXPECT_THAT(results, ElementsAre("busy"));
  EXPECT_EQ(waiting.size(), Trials::kMostAtOnce);
  answer({LazyJson(Json(1))});
  evaluate({.text = ".a"});
  EXPECT_EQ(waiting.size(), Trials::kMostAtOnce);
  EXPECT_THAT(results, ElementsAre("busy", "1"));
}

}  // namespace
}  // namespace millrace
