// The scenario of an instance whose call was answered from outside.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/made_scenario/played_rows.h"

namespace millrace {
namespace {

/// An instance with one call, which failed after 20 ms. `by` is the member of that name in the
/// record of the answer, with a comma behind it, or is empty.
PlayedRow failed_call(const std::string& by) {
  return {.name = "a call",
          .definition =
              "id: order\nfunctions: [{id: ask, type: service, service: approvals}]\n"
              "states: [{id: ask, type: action, action: {function: ask}}]\n",
          .history = kCalledRecord + fmt::format(R"(0 entered ask => {{}}
0 called ask {{"attempt":1,"function":"ask","index":0,"task":"t-1"}}
20 returned ask {{"attempt":1,{}"code":"refused","index":0,"msg":"no","task":"t-1"}}
20 raised ask {{"code":"refused","msg":"no"}}
20 ended ask {{"status":"failed"}}
)",
                                                 by),
          .status = InstanceStatus::kFailed,
          .error = Error{"refused", "no"}};
}

TEST(AnsweredCalls, AreAcceptedInTheScenario) {
  for (const char* const way : {"operator", "httpCallback", "natsCallback"}) {
    const Result<std::string> text = made(failed_call(fmt::format(R"("by":"{}",)", way)));
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(*text, testing::HasSubstr("      ask:\n        accepts: true\n        error:\n"))
        << way;
  }
  const Result<std::string> text = made(failed_call(""));
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, testing::Not(testing::HasSubstr("accepts")));
}

}  // namespace
}  // namespace millrace
