#include "orchestrator/definition/lint_events.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LintEvents, PointsOutATypeThatLooksLikeAPattern) {
  const auto warnings = [](const char* type) {
    return warnings_of(
        fmt::format("id: a\nstates: [{{id: a, type: consumeEvent, event: {{type: '{}'}}}}]", type));
  };
  for (const char* type : {"order.>", ">", "order.{a,b}", "order.*"}) {
    EXPECT_THAT(warnings(type), ElementsAre(HasSubstr("looks like a pattern"))) << type;
  }
  for (const char* type : {" order", "order "}) {
    EXPECT_THAT(warnings(type), ElementsAre(HasSubstr("begins or ends with a blank; write "
                                                      "\"order\" [lint.literal_type]")))
        << type;
  }
  for (const char* type : {"order", "https://a.test/b?c=d+e#f", "order->paid"}) {
    EXPECT_THAT(warnings(type), IsEmpty()) << type;
  }
}

}  // namespace
}  // namespace millrace
