// LocalService: what services say by callbacks about tasks that they have accepted.
#include <optional>
#include <string>
#include <utility>

#include "tests/simulation/charge_order.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

class CallbacksTest : public LocalServiceTest {
 protected:
  /// Sends the result with that key; returns the code of the error, or an empty text.
  std::string complete(std::string key, const std::string& ns = "default",
                       const std::string& result = "7") {
    std::optional<Result<Json>> answer;
    service->answer_task({.ns = ns, .key = std::move(key), .what = TaskEnded{.result = result}},
                         [&](Result<Json> came) { answer = std::move(came); });
    world.run_until_idle();
    if (!answer) return "no answer";
    if (*answer) {
      EXPECT_EQ(**answer, (Json{{"accepted", true}}));
    }
    return code_of(*answer);
  }

  const AttemptKeys keys{"secret"};
};

TEST_F(CallbacksTest, EndATaskOnceWithTheKeyOfItsAttempt) {
  world.apply(order());
  world.start("order");
  world.run_until_idle();
  ASSERT_EQ(world.functions.tasks().size(), 1U);
  const std::string key = keys.named_key_of(world.functions.tasks()[0].id);
  world.must(CreateNamespace{.name = "shop"});
  EXPECT_EQ(complete(key, "shop"), "callback.ended") << "the task is of another namespace";
  EXPECT_EQ(complete(key, "none"), "namespace.not_found");
  EXPECT_EQ(complete(key), "");
  EXPECT_EQ(complete(key), "") << "it repeats the answer";
  EXPECT_EQ(complete(key, "default", "8"), "callback.ended");
  EXPECT_EQ(complete(key, "shop"), "callback.ended");
}

TEST_F(CallbacksTest, AreRefusedWithAKeyThatTheServerHasNotMade) {
  const InstanceId task = *parse_instance_id("0190b5a4-7c1e-7f2a-8000-000000000001");
  EXPECT_EQ(complete(AttemptKeys("another").named_key_of(task)), "callback.refused");
  EXPECT_EQ(complete(to_string(task)), "callback.refused") << "an id alone";
  EXPECT_EQ(complete(""), "callback.refused");
  EXPECT_EQ(complete(keys.named_key_of(task)), "callback.ended") << "no task has this id";
}

}  // namespace
}  // namespace millrace
