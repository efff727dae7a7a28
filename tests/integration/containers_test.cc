// Container functions on a real podman: their files, variables and output, and their removal.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/millrace_server.h"
#include "tests/support/podman.h"

namespace millrace {
namespace {

using testing::HasSubstr;

const std::string kImage = fmt::format("localhost/millrace-test-{}:latest", ::getpid());

/// The ids of the containers that any millrace has created, one a line.
std::string containers() {
  return podman({"ps", "--all", "--quiet", "--filter", "label=millrace.data"}).output;
}

class Containers : public testing::Test {
 protected:
  static void SetUpTestSuite() { image_ = new PodmanImage(kImage); }
  static void TearDownTestSuite() { delete image_; }

  void SetUp() override {
    SKIP_WITHOUT_PODMAN(*image_);
    millrace_.start_ready();
  }

  static inline PodmanImage* image_ = nullptr;
  NatsServer nats_;
  MillraceServer millrace_{nats_.url()};
};

TEST_F(Containers, GiveAnIsolatedFunctionItsFilesAndStoreItsVariablesAndOutput) {
  millrace_.apply(fmt::format(R"(
id: report
functions:
- id: write
  type: isolated
  image: {}
  cmd: /bin/sh -c "cat /direktiv-data/vars/note > /direktiv-data/vars/out/workflow/copy; echo busy >&2; cat"
  files: [{{key: text, as: note, scope: workflow}}]
states:
- id: set
  type: setter
  variables: [{{key: text, scope: workflow, value: hello, mimeType: text/plain}}]
  transition: write
- {{id: write, type: action, action: {{function: write, input: {{n: 7}}}}, transition: get}}
- id: get
  type: getter
  variables: [{{key: copy, scope: workflow}}]
)",
                              kImage));
  const std::string id = millrace_.start_instance("report", Json::object());
  const Json ended = millrace_.instance_once(id, "complete");
  EXPECT_EQ(ended["output"]["return"], (Json{{"n", 7}}));
  EXPECT_EQ(ended["output"]["var"]["copy"], "aGVsbG8=") << "Base64 of hello, which is not JSON";
  std::string printed;
  for (const Json& record : millrace_.history(id)) {
    if (record["kind"] == "output") printed += record["detail"]["text"].get<std::string>();
  }
  EXPECT_THAT(printed, HasSubstr("busy"));
  EXPECT_TRUE(eventually([] { return containers().empty(); }));
}

TEST_F(Containers, ServeAllCallsOfAReusableFunctionInOneContainerUntilMillraceStops) {
  std::string program;
  for (const char* at = kPerlServer; *at != 0; ++at) {
    program += *at == '\'' ? "'\\''" : std::string(1, *at);
  }
  const Json set = {{"key", "note"}, {"value", "hi"}, {"mimeType", "text/plain"}};
  const Json definition = {
      {"id", "serve"},
      {"functions",
       {{{"id", "ask"},
         {"type", "reusable"},
         {"image", kImage},
         {"cmd", fmt::format("perl -e '{}'", program)},
         {"files", {{{"key", "note"}}}}}}},
      {"states",
       {{{"id", "set"}, {"type", "setter"}, {"variables", {set}}, {"transition", "ask"}},
        {{"id", "ask"},
         {"type", "action"},
         {"action", {{"function", "ask"}, {"input", {{"n", 7}}}}},
         {"transition", "get"}},
        {{"id", "get"}, {"type", "getter"}, {"variables", {{{"key", "seen"}}}}}}}};
  ASSERT_EQ(millrace_.ask("PUT", "workflows/serve", definition.dump()).status, 200);
  for (int i = 0; i < 2; ++i) {
    const std::string id = millrace_.start_instance("serve", Json::object());
    const Json output = millrace_.instance_once(id, "complete")["output"];
    EXPECT_EQ(output["return"], Json::parse(R"({"got": {"n": 7}, "note": "hi"})"));
    EXPECT_EQ(output["var"]["seen"], (Json{{"n", 7}}));
  }
  const std::string kept = containers();
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 1) << "one container for both instances";
  millrace_.stop();
  EXPECT_EQ(containers(), "");
}

TEST_F(Containers, AcceptACallByAFileThatACallbackCompletesWhenTheyAreGone) {
  millrace_.apply(fmt::format(R"(
id: approval
functions:
- id: ask
  type: isolated
  image: {}
  cmd: /bin/sh -c "cat /direktiv-data/callback; echo > /direktiv-data/accepted"
states:
- {{id: ask, type: action, action: {{function: ask}}}}
)",
                              kImage));
  const std::string id = millrace_.start_instance("approval", Json::object());
  ASSERT_TRUE(eventually([&] { return millrace_.items("calls").size() == 1; }));
  EXPECT_TRUE(eventually([] { return containers().empty(); }));
  EXPECT_EQ(millrace_.instance(id)["status"], "waiting");
  std::string callback;
  for (const Json& record : millrace_.history(id)) {
    if (record["kind"] == "output") callback = record["detail"]["text"];
  }
  callback.erase(0, std::min(callback.find("/v1/"), callback.size()));
  EXPECT_EQ(millrace_.ask("POST", callback + "/complete", R"({"approved":true})").status, 200);
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"],
            (Json{{"approved", true}}));
}

TEST_F(Containers, AreRemovedAfterACrashOfMillraceAndTheirActionRunsAgain) {
  millrace_.apply(fmt::format(R"(
id: slow
functions:
- {{id: wait, type: isolated, image: {}, cmd: /bin/sh -c "echo begun >&2; sleep 2; echo 1"}}
states:
- {{id: wait, type: action, action: {{function: wait}}}}
)",
                              kImage));
  const std::string id = millrace_.start_instance("slow", Json::object());
  ASSERT_TRUE(eventually([] { return !containers().empty(); }));
  millrace_.kill();
  millrace_.start_ready();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], 1);
  EXPECT_TRUE(eventually([&] { return containers().empty(); }));
}

TEST_F(Containers, AreKilledWhenTheirInstanceIsCancelledWithTheOptionNow) {
  millrace_.apply(fmt::format(R"(
id: endless
functions:
- {{id: wait, type: isolated, image: {}, cmd: /bin/sleep 1000}}
states:
- {{id: wait, type: action, action: {{function: wait}}}}
)",
                              kImage));
  const std::string id = millrace_.start_instance("endless", Json::object());
  ASSERT_TRUE(eventually([] { return !containers().empty(); }));
  millrace_.ask("POST", fmt::format("instances/{}/cancel?now=1", id));
  EXPECT_EQ(millrace_.instance_once(id, "cancelled")["status"], "cancelled");
  EXPECT_TRUE(eventually([] { return containers().empty(); }));
}

}  // namespace
}  // namespace millrace
