// Container functions that accept their calls and end: callbacks answer the calls later, on a whole
// server with a runtime that stands in for podman. containers_test.cc has the same with a real one.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/folder.h"
#include "tests/support/millrace_server.h"
#include "tests/unit/functions/fake_runtime.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ContainerCallbacks : public testing::Test {
 protected:
  void SetUp() override {
    runtime_.add_image("ask", R"sh(
      cat "$data/callback"
      echo
      [ ! -e "$data/progress.json" ] || cat "$data/progress.json" >&2
      touch "$data/accepted")sh");
    millrace_.set_arguments({"--container-runtime", runtime_.program()});
    millrace_.start_ready();
    millrace_.apply(R"(
id: approval
functions:
- {id: ask, type: isolated, image: ask}
states:
- id: ask
  type: action
  action: {function: ask, retries: {initialInterval: 50ms, maximumAttempts: 2}}
)");
  }

  /// The details of the records of that kind of an instance.
  std::vector<Json> details(const std::string& id, std::string_view kind) const {
    std::vector<Json> found;
    for (const Json& record : millrace_.history(id)) {
      if (record["kind"] == kind) found.push_back(record["detail"]);
    }
    return found;
  }

  /// Waits until a container has accepted that attempt; returns the path of its callbacks, without
  /// the verb.
  std::string callback_of_attempt(const std::string& id, uint32_t attempt) const {
    EXPECT_TRUE(eventually([&] {
      const std::vector<Json> calls = millrace_.items("calls");
      return calls.size() == 1 && calls.front()["attempt"] == attempt;
    }));
    std::string path;
    for (const Json& printed : details(id, "output")) {
      const std::string text = printed["text"];
      const size_t at = text.find("/v1/ns/default/callbacks/");
      if (at != std::string::npos) path = text.substr(at, text.find('\n', at) - at);
    }
    return path;
  }

  Folder folder_;
  FakeRuntime runtime_{folder_.path() / "runtime"};
  NatsServer nats_;
  MillraceServer millrace_{nats_.url()};  // last: it uses the runtime and the broker
};

TEST_F(ContainerCallbacks, CompleteACallWhenItsContainerIsGoneAlsoAfterARestart) {
  const std::string id = millrace_.start_instance("approval", Json::object());
  const std::string callback = callback_of_attempt(id, 1);
  EXPECT_TRUE(eventually([&] { return runtime_.containers().empty(); }));
  EXPECT_EQ(millrace_.instance(id)["status"], "waiting");
  millrace_.kill();
  millrace_.start_ready();
  EXPECT_THAT(millrace_.items("calls"), SizeIs(1));
  EXPECT_EQ(millrace_.ask("GET", callback + "/complete").status, 405);
  EXPECT_EQ(millrace_.ask("POST", callback + "/complete", R"({"approved":true})").status, 200);
  const Json ended = millrace_.instance_once(id, "complete");
  EXPECT_EQ(ended["output"]["return"], (Json{{"approved", true}}));
  EXPECT_EQ(millrace_.ask("POST", callback + "/complete", R"({"approved":true})").status, 200)
      << "it repeats the answer";
  EXPECT_EQ(millrace_.ask("POST", callback + "/complete", "1").code(), "callback.ended");
  const std::vector<Json> returned = details(id, "returned");
  ASSERT_THAT(returned, SizeIs(1));
  EXPECT_EQ(returned[0].value("by", ""), "httpCallback");
  EXPECT_THAT(runtime_.calls("run"), SizeIs(1)) << "no container starts again for the call";
}

TEST_F(ContainerCallbacks, FailAnAttemptOfWhichTheNextContainerGetsTheProgress) {
  const std::string id = millrace_.start_instance("approval", Json::object());
  const std::string first = callback_of_attempt(id, 1);
  EXPECT_EQ(millrace_.ask("POST", first + "/heartbeat", R"({"progress":{"page":3}})").status, 200);
  EXPECT_EQ(millrace_.ask("POST", first + "/fail", R"({"code":"mail.bounced"})").status, 200);
  const std::string second = callback_of_attempt(id, 2);
  EXPECT_NE(second, first);
  EXPECT_EQ(millrace_.ask("POST", first + "/complete", "1").code(), "callback.ended");
  const std::string task = millrace_.items("calls").at(0)["task"];
  EXPECT_EQ(millrace_.cli({"call", "complete", task}).code, 0);
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], nullptr);
  std::string printed;
  for (const Json& output : details(id, "output")) printed += output["text"].get<std::string>();
  EXPECT_THAT(printed, testing::HasSubstr(R"({"page":3})"));
  std::vector<std::string> by;
  for (const Json& returned : details(id, "returned")) by.push_back(returned.value("by", ""));
  EXPECT_THAT(by, ElementsAre("httpCallback", "operator"));
  EXPECT_THAT(runtime_.calls("run"), SizeIs(2));
  EXPECT_THAT(millrace_.items("calls"), IsEmpty());
}

}  // namespace
}  // namespace millrace
