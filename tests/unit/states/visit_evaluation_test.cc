// Visit: how many jq programs one round trip to a jq worker has, and how large the results of one
// template may be together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "states/visit.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using testing::SizeIs;

/// A list of `count` programs, none of which the fast lane can run.
Template slow_programs(size_t count) {
  Json list = Json::array();
  for (size_t i = 0; i < count; ++i) {
    list.push_back("jq(first(.n + " + std::to_string(i) + "))");
  }
  return *Template::literal_or_jq(list, Template::Dot::kLiteral);
}

/// A visit whose evaluations so far have these results, and what it asks for.
struct Evaluating {
  explicit Evaluating(std::vector<EvaluationResult> given) : results(std::move(given)) {}

  Instance instance;
  TestLookup lookup;
  std::vector<Effect> earlier;
  std::vector<EvaluationResult> results;
  Visit visit{instance, run_start(), results, lookup, earlier};

  /// The Evaluate effect of a visit that has been parked.
  Evaluate asked() {
    const std::vector<Effect> effects = visit.take_effects();
    EXPECT_THAT(effects, SizeIs(1));
    return std::get<Evaluate>(effects.at(0));
  }
};

/// The numbers from `first` to `last` as results of jq programs.
EvaluationResult numbers(size_t first, size_t last) {
  EvaluationResult results;
  for (size_t i = first; i <= last; ++i) results.emplace_back(LazyJson(Json(i)));
  return results;
}

/// A string whose JSON text has this many bytes, as the result of a jq program.
QueryResult text_of_bytes(size_t bytes) {
  return LazyJson::of_text("\"" + std::string(bytes - 2, 'x') + "\"");
}

TEST(VisitEvaluation, SendsAThousandProgramsInOneRoundTrip) {
  for (const size_t count : {1'000u, 1'001u}) {
    SCOPED_TRACE(count);
    const Template all = slow_programs(count);
    Evaluating first({});
    const auto none = first.visit.evaluate(all);
    ASSERT_FALSE(none);
    EXPECT_TRUE(std::holds_alternative<Park>(none.error()));
    EXPECT_EQ(first.asked().evaluation.queries.size(), 1'000u);

    Evaluating second({numbers(0, 999)});
    const auto values = second.visit.evaluate(all);
    EXPECT_EQ(values.has_value(), count == 1'000);
    if (count == 1'000) {
      ASSERT_TRUE(values);
      EXPECT_EQ(values->value().at(999), 999);
      continue;
    }
    const Evaluate asked = second.asked();
    ASSERT_EQ(asked.evaluation.queries.size(), 1u);
    EXPECT_EQ(asked.evaluation.queries[0].program, "first(.n + 1000)");
    EXPECT_THAT(asked.before, SizeIs(1));

    Evaluating third({numbers(0, 999), numbers(1'000, 1'000)});
    const auto complete = third.visit.evaluate(all);
    ASSERT_TRUE(complete);
    EXPECT_EQ(complete->value().size(), 1'001u);
    EXPECT_EQ(complete->value().at(999), 999);
    EXPECT_EQ(complete->value().at(1'000), 1'000);
  }
}

TEST(VisitEvaluation, LimitsTheResultsOfOneTemplateTogether) {
  const Template two = slow_programs(2);
  for (const size_t more : {0u, 1u}) {
    SCOPED_TRACE(more);
    Evaluating one(
        {{text_of_bytes(kMaxResultBytes / 2), text_of_bytes(kMaxResultBytes / 2 + more)}});
    const auto value = one.visit.evaluate(two);
    EXPECT_EQ(value.has_value(), more == 0);
    if (value) continue;
    const auto* const raised = std::get_if<Raise>(&value.error());
    ASSERT_NE(raised, nullptr);
    EXPECT_EQ(raised->error.code, kJqBadCommand);
  }
}

TEST(VisitEvaluation, LimitsTheResultsOfEachTemplateByThemselves) {
  const Template one = slow_programs(1);
  const Template* const both[] = {&one, &one};
  Evaluating visit({{text_of_bytes(kMaxResultBytes), text_of_bytes(kMaxResultBytes)}});
  const auto values = visit.visit.evaluate(both);
  ASSERT_TRUE(values);
  EXPECT_THAT(*values, SizeIs(2));
}

}  // namespace
}  // namespace millrace
