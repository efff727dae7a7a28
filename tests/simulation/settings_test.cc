// Settings of a namespace that a later release, or damage, has made unreadable: nothing is sent by
// them to a wrong place, and nothing is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/tables.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSettings =
    R"({"services": {"charge": {"url": "http://charge"}},
        "webhooks": [{"url": "http://hook", "types": ["millrace.instance.started"]}]})";

constexpr const char* kOrder = R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
- {id: tax, type: knative-global, service: tax}
states:
- {id: pay, type: action, async: true, action: {function: charge}, transition: tax}
- {id: tax, type: action, async: true, action: {function: tax}}
)";

TEST(UnreadableSettings, HoldBackWhatWouldGoByThemUntilTheyAreSetAgain) {
  for (const char* const text : {R"({"services": 5})", "{", R"({"later": true})"}) {
    World world;
    world.must(CreateNamespace{.name = "default", .settings = Json::parse(kSettings)});
    world.apply(kOrder);
    world.receivers.answer = [](const Event&) {
      return DeliveryFailure{.error = {"webhook.refused", "away"}};
    };
    world.start("order");
    ASSERT_THAT(world.functions.tasks(), SizeIs(2));
    const size_t asked = world.receivers.seen.size();
    world.functions.be_replaced();
    world.crash();
    world.change_store([&](Transaction& tx) {
      auto record = read_namespace(tx, "default");
      ASSERT_TRUE(record && *record);
      (*record)->settings = text;
      write_namespace(tx, "default", **record);
    });
    world.recover();
    world.run_for(minutes(5));
    EXPECT_THAT(world.functions.tasks(), IsEmpty()) << text;
    EXPECT_THAT(world.receivers.seen, SizeIs(asked)) << text;
    const Snapshot view = *Snapshot::take(world.environment());
    const Json unreadable = world.queries().unreadable_settings(view).value();
    ASSERT_THAT(unreadable, SizeIs(1)) << text;
    EXPECT_EQ(unreadable[0]["namespace"], "default");
    const Json listed = world.queries().namespaces(view).value()["items"][0];
    EXPECT_TRUE(listed.contains("settings") && listed.contains("settingsError")) << listed;

    world.receivers.answer = nullptr;
    world.must(CreateNamespace{.name = "default", .settings = Json::parse(kSettings)});
    world.run_for(seconds(20));
    ASSERT_THAT(world.functions.tasks(), SizeIs(2)) << text;
    EXPECT_EQ(world.functions.tasks()[0].target, TaskTarget(HttpService{"http://charge"}));
    EXPECT_THAT(world.receivers.seen, SizeIs(asked + 1)) << text;
    EXPECT_THAT(world.dead_letters(), IsEmpty());
  }
}

}  // namespace
}  // namespace millrace
