#include "orchestrator/definition/lint_idle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LintIdle, PointsOutDefaultsThatNoActionUses) {
  const auto places = [](const char* action) {
    return places_of("lint.unused",
                     fmt::format("id: a\ndefaults: temporal\nfunctions: [{{id: f, type: subflow, "
                                 "workflow: w}}]\nstates: [{{id: a, type: action, {}}}]",
                                 action),
                     {});
  };
  EXPECT_THAT(places("action: {function: f, retries: 'fixed(3, 1s)'}"),
              ElementsAre("note defaults"));
  EXPECT_THAT(places("async: true, action: {function: f}"), ElementsAre("note defaults"));
  EXPECT_THAT(places("action: {function: f}"), IsEmpty());
}

}  // namespace
}  // namespace millrace
