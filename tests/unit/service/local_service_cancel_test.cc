// LocalService: the cancel of an instance whose start `debounce` has put off.
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

TEST_F(LocalServiceTest, CancelsAStartThatWasPutOff) {
  world.apply("id: index\ndebounce: {period: PT1M}\nstates:\n- {id: a, type: noop}\n");
  const std::string id = world.must(
      StartInstance{.ns = "default", .workflow = "index", .input = Json::object()})["id"];
  const auto cancel = [&] {
    Result<Json> answer = fail("none", "no answer");
    service->command(CancelInstance{.ns = "default", .instance = *parse_instance_id(id)},
                     [&](const Result<Json>& one) { answer = one; });
    world.run_until_idle();
    return answer;
  };
  const Result<Json> shown = service->instance("default", *parse_instance_id(id));
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, "instance.not_found");
  EXPECT_NE(shown.error().message.find("instance cancel " + id), std::string::npos)
      << shown.error().message;
  EXPECT_EQ(cancel(), (Json{{"id", id}, {"cancelled", true}, {"pendingStart", true}}));
  const Result<Json> again = cancel();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, "instance.not_found");
}

}  // namespace
}  // namespace millrace
