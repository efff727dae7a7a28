// LocalWhyDesk: instances that do not listen for the event, and starts that would not run at once.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/event_target.h"
#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class WaitsWhyTest : public LocalWhyDeskTest {
 protected:
  static std::string says_of(const Json& answer) {
    return answer["near"].at(0)["says"].get<std::string>();
  }
};

TEST_F(WaitsWhyTest, JudgeTheInstanceToWhichTheEventIsAddressed) {
  const WorkflowNumber order = apply(kOrder);
  store(ended(waiting_instance(order, 1), InstanceStatus::kComplete));
  const std::string to = R"(,"millraceonly":")" + instance_target(numbered_id(1)) + "\"";
  send(to);
  apply_event(1);
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 before"));
  EXPECT_THAT(verdicts(of_test(to)), ElementsAre("instance 1 before"));
  EXPECT_THAT(verdicts(of_event(1, {.instance = numbered_id(1)})),
              ElementsAre("instance 1 before"));
  send(R"(,"millraceonly":")" + instance_target(numbered_id(9)) + "\"");
  apply_event(2);
  EXPECT_THAT(verdicts(of_event(2)), ElementsAre()) << "there is no such instance";
}

}  // namespace
}  // namespace millrace
