// LocalService: the list of listeners, for which it asks the engine thread about a value.
#include <chrono>
#include <future>

#include <gtest/gtest.h>

#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

constexpr const char* kWaitsForOrder = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: paid, context: {order: 7}}}
)";

TEST_F(LocalServiceTest, AsksTheEngineWhichInstancesListenForAValue) {
  world.apply(kWaitsForOrder);
  world.start("waits");
  world.start("waits");
  const ListenerFilter filter{.attribute = "order", .value = "7", .limit = 1};
  const auto asked = world.intake().answered_questions();
  auto answer =
      std::async(std::launch::async, [&] { return service->listeners("default", filter); });
  while (world.intake().answered_questions() == asked) {
    ASSERT_TRUE(world.intake().sleep({.at_most = std::chrono::minutes(1)}));
    world.step();
  }
  const Result<Json> page = answer.get();
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ((*page)["items"].size(), 1U);
  EXPECT_EQ((*page)["items"][0]["context"], (Json{{"order", {{"equals", "7"}}}}));
  EXPECT_TRUE((*page)["next"].is_string());
  EXPECT_EQ(world.intake().answered_questions(), asked + 1);

  // While the engine thread does not answer, the instances are read one after the other.
  const Result<Json> walked = service->listeners("default", filter);
  ASSERT_TRUE(walked) << walked.error().message;
  EXPECT_EQ((*walked)["items"], (*page)["items"]);
}

}  // namespace
}  // namespace millrace
