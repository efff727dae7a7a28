// Services that the settings do not name, and for whose tasks no worker asks.
#include "orchestrator/service/unserved_services.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class UnservedServices : public LocalServiceTest {
 protected:
  IsUnserved check(const CountRequests& count) {
    const NamesService names = [](const std::string& name, bool) { return name == "named"; };
    return unserved_check(names, "shop", world.clock, count);
  }

  std::vector<std::string> asked;
  CountRequests answers = [this](const std::string& subject, Duration) -> Result<uint64_t> {
    asked.push_back(subject);
    return uint64_t{subject.ends_with(".busy") ? 1U : 0U};
  };
};

TEST_F(UnservedServices, AreThoseForWhoseTasksNoWorkerAsks) {
  const IsUnserved is_unserved = check(answers);
  EXPECT_FALSE(is_unserved("named", false));
  EXPECT_THAT(asked, IsEmpty()) << "the settings name it";
  EXPECT_FALSE(is_unserved("busy", false));
  EXPECT_TRUE(is_unserved("ship", false));
  EXPECT_TRUE(is_unserved("ship", true));
  EXPECT_THAT(asked, ElementsAre("millrace.tasks.shop.busy", "millrace.tasks.shop.ship",
                                 "millrace.tasks.default.ship"));
}

TEST_F(UnservedServices, AreNotKnownBehindABoundOrAnError) {
  EXPECT_EQ(check(nullptr), nullptr);
  EXPECT_EQ(unserved_check(nullptr, "shop", world.clock, answers), nullptr);
  const IsUnserved many = check(answers);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(many("s" + std::to_string(i), false), i < 20) << i;
  }
  EXPECT_THAT(asked, SizeIs(20));
  const IsUnserved slow = check([this](const std::string&, Duration) -> Result<uint64_t> {
    world.clock.advance(Duration(600));
    return uint64_t{0};
  });
  EXPECT_TRUE(slow("a", false));
  EXPECT_FALSE(slow("b", false)) << "the time is spent";
  int calls = 0;
  const IsUnserved failed = check([&](const std::string&, Duration) -> Result<uint64_t> {
    ++calls;
    return fail("broker.timeout", "no answer");
  });
  EXPECT_FALSE(failed("a", false));
  EXPECT_FALSE(failed("b", false));
  EXPECT_EQ(calls, 1);
}

TEST_F(UnservedServices, AreReportedWithADefinitionThatCallsThem) {
  service.reset();
  LocalService::Parts made = parts(world.processor());
  made.count_requests = answers;
  LocalService asking(std::move(made));
  constexpr const char* kShips =
      "id: a\nfunctions: [{id: f, type: service, service: ship, scheduleToCloseTimeout: 1h}]\n"
      "states: [{id: s, type: action, action: {function: f}}]\n";
  const Loaded loaded = asking.load_definition(kShips, "default");
  EXPECT_THAT(render_text(loaded.findings, "a"), HasSubstr("lint.service_unserved"));
  EXPECT_THAT(asked, ElementsAre("millrace.tasks.default.ship"));
  EXPECT_EQ(render_text(asking.load_definition(kShips, "").findings, "a").find("unserved"),
            std::string::npos)
      << "no namespace is given";
}

TEST_F(UnservedServices, AreNotThoseWhoseCallsWouldFailForTheirFiles) {
  service.reset();
  LocalService::Parts made = parts(world.processor());
  made.count_requests = answers;
  LocalService asking(std::move(made));
  const auto findings = [&](const char* target) {
    const std::string settings = R"({"services": {"ship": )" + std::string(target) + "}}";
    world.must(CreateNamespace{.name = "default", .settings = Json::parse(settings)});
    return render_text(
        asking
            .load_definition(
                "id: a\nfunctions: [{id: f, type: service, service: ship, files: [{key: "
                "x}], deadline: 1h}]\n"
                "states: [{id: s, type: action, action: {function: f}}]\n",
                "default")
            .findings,
        "a");
  };
  for (const char* const workers :
       {R"({"startToCloseTimeout": "10m"})", R"({"queue": "millrace.tasks.a"})"}) {
    EXPECT_THAT(findings(workers), HasSubstr("they cannot get files")) << workers;
    EXPECT_THAT(findings(workers), HasSubstr("lint.files_for_workers")) << workers;
  }
  for (const char* const other : {R"({"url": "http://a/"})", R"({"request": "a"})"}) {
    EXPECT_EQ(findings(other), "") << other;
  }
  EXPECT_THAT(asked, IsEmpty());
}

}  // namespace
}  // namespace millrace
