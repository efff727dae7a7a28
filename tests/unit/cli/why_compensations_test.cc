// The text of `why` about an instance that makes its compensations, or has some left.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/why_text.h"

namespace millrace {
namespace {

TEST(WhyText, ShowsTheCompensationsOfAnInstance) {
  const auto text_with = [](const char* compensation, const char* status = "failed") {
    return why_of_instance_text(Json::parse(fmt::format(
        R"({{"instance": {{"id": "7", "status": "{}", "waits": [], "compensation": {}}},
             "events": []}})",
        status, compensation)));
  };
  EXPECT_THAT(text_with(R"({"left": 2, "making": true, "ends": "failed"})"),
              testing::HasSubstr("It waits for no event now.\n  makes its compensations, 2 left; "
                                 "then it is failed\n"));
  EXPECT_THAT(text_with(R"({"left": 3, "making": false, "error": {"code": "down", "msg": "no"}})"),
              testing::HasSubstr("  compensations left: 3; the newest one was not made: down, no\n"
                                 "    millrace -n default instance compensate 7\n"
                                 "    millrace -n default instance compensate 7 --past    # if "
                                 "what the failed one undoes is undone already\n"));
  EXPECT_THAT(text_with(R"({"left": 3, "making": false})"),
              testing::HasSubstr(
                  "  compensations left: 3\n    millrace -n default instance compensate 7\n"));
  const std::string active = text_with(R"({"left": 1, "making": false})", "waiting");
  EXPECT_THAT(active, testing::HasSubstr("  compensations noted: 1, which are made if the instance "
                                         "ends otherwise than complete and its definition asks for "
                                         "that\n"));
  EXPECT_THAT(active, testing::Not(testing::HasSubstr("instance compensate")))
      << "an instance that has not ended refuses it";
  EXPECT_THAT(
      text_with(R"(null, "passedCompensations": [3, 1])"),
      testing::HasSubstr("  compensations that were passed over, not made: number 3, 1; "
                         "`millrace -n default instance history 7` shows what they undo\n"));
  EXPECT_THAT(text_with("null"), testing::Not(testing::HasSubstr("compensat")));
}

}  // namespace
}  // namespace millrace
