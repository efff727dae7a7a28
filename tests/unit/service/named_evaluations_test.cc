// The evaluations of the namespaces, by the names of the namespaces.
#include "orchestrator/service/named_evaluations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/loop/namespace_labels.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// A number that no namespace of the test has.
constexpr NamespaceNumber kUnknown{77'777};

class NamedEvaluations : public LocalServiceTest {
 protected:
  NamespaceNumber number_of(const char* ns) {
    const Snapshot view = Snapshot::take(world.environment()).value();
    return read_namespace(view, ns).value().value().number;
  }
};

TEST_F(NamedEvaluations, HaveTheNamesOfTheirNamespaces) {
  world.must(CreateNamespace{.name = "shop"});
  const auto named =
      evaluations_by_name(world.environment(), {{number_of("default"), {.fast_running = 1}},
                                                {number_of("shop"), {.slow_running = 2}},
                                                {kUnknown, {.slow_waiting = 3}}});
  ASSERT_TRUE(named);
  EXPECT_THAT(*named, ElementsAre(Pair(kOtherNamespaces, EvaluationLevels{.slow_waiting = 3}),
                                  Pair("default", EvaluationLevels{.fast_running = 1}),
                                  Pair("shop", EvaluationLevels{.slow_running = 2})));
  EXPECT_THAT(evaluations_by_name(world.environment(), {}).value(), IsEmpty());
}

TEST_F(NamedEvaluations, AreInTheMetrics) {
  levels.namespace_evaluations = {{number_of("default"), {.slow_running = 2}}};
  EXPECT_THAT(service->metrics(), HasSubstr("millrace_namespace_evaluations_running{"
                                            "namespace=\"default\",worker=\"slow\"} 2\n"));
}

TEST_F(NamedEvaluations, AreShownWithTheirNamespace) {
  const Json none = {{"waiting", 0}, {"running", 0}};
  EXPECT_EQ(service->one_namespace("default").value().at("evaluations"),
            (Json{{"fast", none}, {"slow", none}}));
  levels.namespace_evaluations = {
      {number_of("default"),
       {.fast_waiting = 1, .fast_running = 2, .slow_waiting = 3, .slow_running = 4}},
      {kUnknown, {.slow_running = 9}}};
  EXPECT_EQ(service->one_namespace("default").value().at("evaluations"),
            (Json{{"fast", {{"waiting", 1}, {"running", 2}}},
                  {"slow", {{"waiting", 3}, {"running", 4}}}}));
}

}  // namespace
}  // namespace millrace
