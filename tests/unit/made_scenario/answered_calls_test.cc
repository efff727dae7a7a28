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

/// An instance that was cancelled while its call ran; `end` is the record of the end of the call.
PlayedRow cancelled_call(const std::string& end) {
  return {.name = "a call that ends after the cancel",
          .definition =
              "id: order\ncompensate: true\nfunctions: [{id: ask, type: service, service: s}]\n"
              "states: [{id: ask, type: action, action: {function: ask}, compensate: {function: "
              "ask}}]\n",
          .history = kCalledRecord + std::string(R"(0 entered ask => {}
0 called ask {"attempt":1,"function":"ask","index":0,"task":"t-1"}
10 cancelled ask {"code":"direktiv.cancels.api","msg":"cancelled by a call"}
)") + end + "20 ended ask {\"status\":\"cancelled\"}\n",
          .status = InstanceStatus::kCancelled,
          .error = Error{"direktiv.cancels.api", "cancelled by a call"}};
}

TEST(CallsThatEndAfterTheCancel, AreNoWorkThatIsUndoneIfTheyFailOrAreStopped) {
  const auto failed = made(cancelled_call(
      R"(20 returned ask {"attempt":1,"code":"refused","index":0,"msg":"no","task":"t-1"})"
      "\n"));
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_THAT(*failed, testing::HasSubstr("code: refused"));
  const auto stopped = made(cancelled_call(""));
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_THAT(*stopped, testing::HasSubstr("code: stopped"));
}

TEST(CallsThatEndAfterTheCancel, HaveAResultThatTheScenarioDoesNotKnow) {
  const auto text = made(cancelled_call(R"(20 returned ask {"attempt":1,"index":0,"task":"t-1"})"
                                        "\n"));
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, testing::HasSubstr("# A task ended after the cancel."));
}

// In a scenario no other call holds the slot for which the call waited.
TEST(TimedOutCalls, AreExpectedWithoutTheLimitForWhichTheyWaited) {
  const std::string timed_out = "attempt 1 of function \"ask\" did not start within 1s";
  for (const bool waited : {false, true}) {
    const std::string message =
        timed_out + (waited ? ": it waited for a slot of service \"approvals\" (limit 1)" : "");
    PlayedRow row{.name = "a call that times out",
                  .definition =
                      "id: order\n"
                      "functions: [{id: ask, type: service, service: approvals}]\n"
                      "states: [{id: ask, type: action, action: {function: ask, "
                      "scheduleToStartTimeout: 1s, startToCloseTimeout: 1h}}]\n",
                  .history = kCalledRecord + std::string(R"(0 entered ask => {}
0 called ask {"attempt":1,"function":"ask","index":0,"task":"t-1"}
1000 timedout ask {"attempt":1,"code":"millrace.timeout.scheduleToStart","index":0}
1000 raised ask {"code":"millrace.timeout.scheduleToStart","msg":"late"}
1000 ended ask {"status":"failed"}
)"),
                  .status = InstanceStatus::kFailed,
                  .error = Error{"millrace.timeout.scheduleToStart", message}};
    const Result<std::string> text = made(row);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(*text, testing::HasSubstr("code: millrace.timeout.scheduleToStart"));
    EXPECT_EQ(text->find("msg:") == std::string::npos, waited) << *text;
  }
}

}  // namespace
}  // namespace millrace
