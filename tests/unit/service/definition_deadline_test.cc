#include "orchestrator/service/definition_deadline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/virtual_clock.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

TEST(DefinitionDeadline, GivesEachCheckTheTimeThatTheEarlierChecksLeft) {
  VirtualClock clock;
  std::vector<Duration> given;
  const TimedCheck check = [&](std::span<const std::string> texts, Duration at_most) {
    given.push_back(at_most);
    clock.advance(seconds(15));
    return std::vector<std::optional<Error>>(texts.size());
  };
  const DefinitionDeadline deadline(clock, seconds(20));
  const ProgramCheck programs = deadline.bound(check);
  const ProgramCheck schemas = deadline.bound(check);
  const std::vector<std::string> texts = {"keys", "length"};
  EXPECT_THAT(programs(texts), testing::SizeIs(2));
  EXPECT_THAT(programs(texts), testing::SizeIs(2));
  const std::vector<std::optional<Error>> late = schemas(texts);
  EXPECT_THAT(given, ElementsAre(seconds(20), seconds(5)));
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late[0], late[1]);
  EXPECT_EQ(late[0]->code, "jq.check_failed");
  EXPECT_EQ(late[0]->message,
            "not checked: the checks of this definition have taken 20 s; write fewer jq programs "
            "and schemas, or simpler ones");
}

}  // namespace
}  // namespace millrace
