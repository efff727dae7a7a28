// LocalService: the list of listeners, for which it asks the engine thread about a value or a type.
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

class LocalServiceListenersTest : public LocalServiceTest {
 protected:
  /// The list, while the engine answers one question.
  Json list(const ListenerFilter& filter) {
    const uint64_t before = world.intake().answered_questions();
    auto answer =
        std::async(std::launch::async, [&] { return service->listeners("default", filter); });
    while (world.intake().answered_questions() == before) {
      EXPECT_TRUE(world.intake().sleep({.at_most = std::chrono::minutes(1)}));
      world.step();
    }
    const Result<Json> page = answer.get();
    EXPECT_TRUE(page) << page.error().message;
    EXPECT_EQ(world.intake().answered_questions(), before + 1);
    return page.value_or(Json::object());
  }
};

TEST_F(LocalServiceListenersTest, AsksTheEngineWhichInstancesListenForAValue) {
  world.apply(kWaitsForOrder);
  world.start("waits");
  world.start("waits");
  const ListenerFilter filter{.attribute = "order", .value = "7", .limit = 1};
  const Json page = list(filter);
  ASSERT_EQ(page["items"].size(), 1U);
  EXPECT_EQ(page["items"][0]["context"], (Json{{"order", {{"equals", "7"}}}}));
  EXPECT_TRUE(page["next"].is_string());

  // While the engine thread does not answer, the instances are read one after the other.
  const Result<Json> walked = service->listeners("default", filter);
  ASSERT_TRUE(walked) << walked.error().message;
  EXPECT_EQ((*walked)["items"], page["items"]);
}

TEST_F(LocalServiceListenersTest, AsksTheEngineWhetherSomethingListensForAType) {
  world.apply(kWaitsForOrder);
  world.start("waits");
  EXPECT_EQ(list({.type = "gone"})["items"], Json::array());
  EXPECT_EQ(list({.type = "paid"})["items"].size(), 1U);
}

TEST_F(LocalServiceListenersTest, AsksTheEngineNothingForOtherFilters) {
  world.apply(kWaitsForOrder);
  world.start("waits");
  for (const ListenerFilter& filter :
       {ListenerFilter{}, ListenerFilter{.attribute = "order"}, ListenerFilter{.workflow = "waits"},
        ListenerFilter{.kind = ListenerFilter::Kind::kStart, .type = "paid"}}) {
    EXPECT_TRUE(service->listeners("default", filter));
  }
  world.step();
  EXPECT_EQ(world.intake().answered_questions(), 0U);
}

}  // namespace
}  // namespace millrace
