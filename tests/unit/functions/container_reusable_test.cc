// Reusable functions on the fake runtime: when containers are started, which calls they get, and
// when they are removed. HTTP servers of the test stand in for the programs in the containers.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/functions/container_fixture.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReusableContainerTest : public ContainerTest {
 protected:
  ReusableContainerTest() { runtime_.add_image("serve", "exec sleep 1000"); }

  /// The folder with the files of a call.
  fs::path files_of(size_t container, uint32_t task) const {
    return settings_.folder / option(container, "name") / to_string(id(task));
  }

  /// Waits for the start of container number `index`, and listens on its port.
  void serve(size_t index) {
    ASSERT_TRUE(has_started(index + 1));
    peers_.push_back(&calls_.serve(port(index)));
  }

  std::vector<HttpPeer*> peers_;
};

TEST_F(ReusableContainerTest, StartsOnDemandAndIsCalledOverHttp) {
  Task task = reusable(1, "serve");
  task.files = {{"note", FileType::kPlain, "hello"}};
  runner().run(task);
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  const HeldCalls::Call call = calls_.at(0);
  EXPECT_EQ(call.port, port(0));
  EXPECT_EQ(call.task, to_string(id(1)));
  EXPECT_EQ(call.folder, "/mnt/shared/" + to_string(id(1)));
  EXPECT_EQ(call.input, R"({"a":1})");
  EXPECT_TRUE(reports_.has_started(id(1)));
  EXPECT_EQ(option(0, "mount"), fmt::format("type=bind,source={},target=/mnt/shared,nosuid,nodev",
                                            (settings_.folder / option(0, "name")).string()));
  EXPECT_TRUE(fs::exists(files_of(0, 1) / "note"));

  EXPECT_TRUE(runner().since_heartbeat(id(1)).has_value());
  std::ofstream(files_of(0, 1) / "out/namespace/result") << "7";
  calls_.answer(0, "{}");
  const TaskEnded ended = reports_.end_of(id(1));
  EXPECT_EQ(*ended.result, "{}");
  ASSERT_EQ(ended.variables.size(), 1u);
  EXPECT_EQ(ended.variables[0].scope, VariableScope::kNamespace);
  EXPECT_EQ(ended.variables[0].value.bytes, "7");
  EXPECT_TRUE(eventually([&] { return !fs::exists(files_of(0, 1)); }));
}

TEST_F(ReusableContainerTest, MayAcceptACallAndAnswerItLater) {
  Task task = reusable(1, "serve");
  task.callback = {.url = "http://m/v1/ns/space/callbacks/k", .key = "0f"};
  task.files = {{"note", FileType::kPlain, "hello"}};
  runner().run(task);
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  calls_.answer(0, "", {{"Millrace-Answer", "accepted"}});
  ASSERT_TRUE(eventually([&] { return reports_.count<TaskAccepted>(id(1)) == 1; }));
  EXPECT_TRUE(eventually([&] { return !fs::exists(files_of(0, 1)); }));
  EXPECT_EQ(reports_.count<TaskEnded>(id(1)), 0u);
  runner().stop(id(1));
  runner().run(reusable(2, "serve"));
  ASSERT_TRUE(calls_.have(2)) << "the container takes further calls";
  EXPECT_THAT(calls_.stopped(), IsEmpty()) << "the stop of an accepted task asks for nothing";
  calls_.answer(1, "7", {{"Millrace-Answer", "accepted"}});
  EXPECT_EQ(reports_.end_of(id(2)).result.value_or("none"), "7") << "it has no callback";
}

TEST_F(ReusableContainerTest, FailsAtOnceWithoutANetwork) {
  settings_.network = "none";
  const TaskEnded ended = run(reusable(1, "serve"));
  ASSERT_FALSE(ended.result);
  EXPECT_EQ(ended.result.error().code, kFunctionUnavailable);
  EXPECT_THAT(ended.result.error().message, HasSubstr("--container-network"));
  EXPECT_THAT(runtime_.calls("run"), IsEmpty());
}

TEST_F(ReusableContainerTest, HasTheNetworkOfPoolsIfThereIsOne) {
  settings_.network = "none";
  settings_.pool_network = "functions";
  runner().run(reusable(1, "serve"));
  serve(0);
  EXPECT_EQ(option(0, "network"), "functions");
  ASSERT_TRUE(calls_.have(1));
  calls_.answer(0, "{}");
  EXPECT_EQ(*reports_.end_of(id(1)).result, "{}");
}

TEST_F(ReusableContainerTest, IsProbedByAConnectionThatIsClosedAgain) {
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  EXPECT_TRUE(peers_[0]->await_end(1));
}

TEST_F(ReusableContainerTest, TakesAllCallsOfItsFunctionInItsNamespace) {
  for (uint32_t number = 1; number <= 3; ++number) runner().run(reusable(number, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(3));
  Task elsewhere = reusable(4, "serve");
  elsewhere.ns = "other";
  runner().run(elsewhere);
  serve(1);
  ASSERT_TRUE(calls_.have(4));
  EXPECT_NE(calls_.at(3).port, calls_.at(0).port);
  EXPECT_EQ(runtime_.calls("run").size(), 2u);
}

TEST_F(ReusableContainerTest, TakesALimitedNumberOfCallsAtOnce) {
  settings_.calls_each = 2;
  for (uint32_t number = 1; number <= 3; ++number) runner().run(reusable(number, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(2));
  EXPECT_FALSE(reports_.has_started(id(3)));
  calls_.answer(0, "1");
  ASSERT_TRUE(calls_.have(3));
  EXPECT_EQ(calls_.at(2).task, to_string(id(3)));
}

TEST_F(ReusableContainerTest, FailsACallWithTheErrorOfTheFunctionAndSetsItsVariables) {
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  std::ofstream(files_of(0, 1) / "out/instance/tried") << "1";
  calls_.answer(0, "",
                {{"Direktiv-ErrorCode", "shop.empty"}, {"Direktiv-ErrorMessage", "nothing left"}});
  const TaskEnded ended = reports_.end_of(id(1));
  EXPECT_EQ(ended.result.error(), (Error{"shop.empty", "nothing left"}));
  EXPECT_EQ(ended.variables.size(), 1u);
}

TEST_F(ReusableContainerTest, FailsACallWhoseFileCannotBecomeAVariable) {
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  fs::create_symlink("/etc/passwd", files_of(0, 1) / "out/instance/x");
  calls_.answer(0, "1");
  EXPECT_EQ(reports_.end_of(id(1)).result.error().code, kFunctionFiles);
}

TEST_F(ReusableContainerTest, CannotRedirectTheFilesOfACallByASymbolicLink) {
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  // A container that knows the id of the next call could create this link.
  fs::create_directory(folder_.path() / "target");
  fs::create_symlink(folder_.path() / "target", files_of(0, 2));
  Task task = reusable(2, "serve");
  task.files = {{"evil", FileType::kPlain, "x"}};
  EXPECT_EQ(run(task).result.error().code, kFunctionFiles);
  EXPECT_TRUE(fs::is_empty(folder_.path() / "target"));
}

TEST_F(ReusableContainerTest, IsRemovedAfterItsIdleTime) {
  settings_.idle = Duration(50);
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  EXPECT_TRUE(are_running(1));
  calls_.answer(0, "1");
  EXPECT_TRUE(are_gone());
  EXPECT_EQ(runtime_.calls("rm").size(), 1u);
  EXPECT_TRUE(eventually([&] { return folders() == 0; }));
  runner().run(reusable(2, "serve"));
  serve(1);
  EXPECT_TRUE(calls_.have(2));
}

TEST_F(ReusableContainerTest, RunsAsManyContainersAsItsScale) {
  settings_.idle = Duration(0);
  settings_.calls_each = 10'000;
  runner().run(reusable(1, "serve", 3));
  for (size_t i = 0; i < 3; ++i) serve(i);
  ASSERT_TRUE(calls_.have(1));
  calls_.answer(0, "1");
  EXPECT_TRUE(reports_.end_of(id(1)).result);
  EXPECT_TRUE(are_running(3));
  // Later calls go to the containers with the fewest calls, once these listen.
  std::set<uint16_t> ports;
  EXPECT_TRUE(eventually([&] {
    const size_t number = calls_.size() + 1;
    runner().run(reusable(static_cast<uint32_t>(number), "serve", 3));
    if (calls_.have(number)) ports.insert(calls_.at(number - 1).port);
    return ports.size() == 3;
  }));
  EXPECT_EQ(runtime_.calls("run").size(), 3u);
}

TEST_F(ReusableContainerTest, AppliesAChangedScaleFromTheNextTaskOn) {
  settings_.idle = Duration(50);
  runner().run(reusable(1, "serve", 2));
  serve(0);
  serve(1);
  ASSERT_TRUE(calls_.have(1));
  ASSERT_TRUE(are_running(2));
  runner().run(reusable(2, "serve", 0));
  ASSERT_TRUE(calls_.have(2));
  calls_.answer(0, "1");
  calls_.answer(1, "1");
  EXPECT_TRUE(are_gone());
}

TEST_F(ReusableContainerTest, IsStartedAgainAfterItDiesIfScaleRequiresIt) {
  runtime_.add_image("serve", "until [ -f $data/die ]; do sleep 0.01; done");
  runner().run(reusable(1, "serve", 1));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  calls_.answer(0, "1");
  EXPECT_TRUE(reports_.end_of(id(1)).result);
  std::ofstream(settings_.folder / option(0, "name") / "die") << "";
  EXPECT_TRUE(has_started(2));
}

TEST_F(ReusableContainerTest, FailsItsCallsWhenItDies) {
  runtime_.add_image("serve", R"(
    until [ -f $data/die ]; do sleep 0.01; done
    echo 'out of luck' >&2
    exit 3)");
  runner().run(reusable(1, "serve"));
  runner().run(reusable(2, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(2));
  std::ofstream(settings_.folder / option(0, "name") / "die") << "";
  for (const uint32_t number : {1, 2}) {
    const TaskEnded ended = reports_.end_of(id(number));
    ASSERT_FALSE(ended.result);
    EXPECT_EQ(ended.result.error().code, kFunctionUnavailable);
    EXPECT_THAT(ended.result.error().message, HasSubstr("ended with code 3: out of luck"));
  }
  EXPECT_TRUE(eventually([&] { return calls_.stopped().size() == 2; }));
  EXPECT_THAT(calls_.stopped(), testing::UnorderedElementsAre(to_string(id(1)), to_string(id(2))));
  calls_.answer(0, "late");
  runner().run(reusable(3, "serve"));
  serve(1);
  EXPECT_TRUE(calls_.have(3));
  EXPECT_EQ(reports_.count<TaskEnded>(id(1)), 1u);
}

TEST_F(ReusableContainerTest, FailsWaitingCallsIfItEndsBeforeItListens) {
  runtime_.add_image("broken", "echo 'no config' >&2; exit 2");
  runner().run(reusable(1, "broken"));
  runner().run(reusable(2, "missing"));
  const TaskEnded ended = reports_.end_of(id(1));
  ASSERT_FALSE(ended.result);
  EXPECT_EQ(ended.result.error().code, kFunctionUnavailable);
  EXPECT_THAT(ended.result.error().message, HasSubstr("code 2: no config"));
  EXPECT_THAT(reports_.end_of(id(2)).result.error().message, HasSubstr("image not known"));
  EXPECT_EQ(calls_.size(), 0u);
}

TEST_F(ReusableContainerTest, IsRemovedIfItNeverListens) {
  settings_.start_timeout = Duration(200);
  const TaskEnded ended = run(reusable(1, "serve"));
  ASSERT_FALSE(ended.result);
  EXPECT_EQ(ended.result.error().code, kFunctionUnavailable);
  EXPECT_THAT(ended.result.error().message, HasSubstr("does not listen on port 8080"));
  EXPECT_TRUE(are_gone());
}

TEST_F(ReusableContainerTest, ReceivesAnHttpDeleteForAStoppedCallAndKeepsRunning) {
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  runner().stop(id(1));
  EXPECT_TRUE(eventually([&] { return calls_.stopped().size() == 1; }));
  EXPECT_TRUE(eventually([&] { return !fs::exists(files_of(0, 1)); }));
  calls_.answer(0, "late");
  runner().run(reusable(2, "serve"));
  ASSERT_TRUE(calls_.have(2));
  calls_.answer(1, "1");
  EXPECT_TRUE(reports_.end_of(id(2)).result);
  EXPECT_EQ(reports_.count<TaskEnded>(id(1)), 0u);
  EXPECT_EQ(runtime_.calls("run").size(), 1u);
}

TEST_F(ReusableContainerTest, IgnoresTheAnswerToAStoppedCallIfTheSameTaskIsCalledAgain) {
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  runner().stop(id(1));
  runner().run(reusable(1, "serve"));
  ASSERT_TRUE(calls_.have(2));
  calls_.answer(0, "early");
  calls_.answer(1, "right");
  EXPECT_EQ(*reports_.end_of(id(1)).result, "right");
}

TEST_F(ReusableContainerTest, ReportsItsOutputForItsCallIfItHasOnlyOneCall) {
  runtime_.add_image("serve", R"(
    until [ -f $data/talk ]; do sleep 0.01; done
    echo 'to whom it concerns'
    sleep 1000)");
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  std::ofstream(settings_.folder / option(0, "name") / "talk") << "";
  EXPECT_TRUE(eventually([&] { return !reports_.output(id(1)).empty(); }));
  EXPECT_THAT(reports_.output(id(1)), ElementsAre("to whom it concerns"));
}

TEST_F(ReusableContainerTest, IsRemovedWhenItIsIdleAndOtherTasksWait) {
  settings_.containers = 1;
  runtime_.add_image("true", "echo 1");
  runner().run(reusable(1, "serve"));
  serve(0);
  ASSERT_TRUE(calls_.have(1));
  runner().run(isolated(2, "true"));
  runner().run(reusable(3, "serve"));
  ASSERT_TRUE(calls_.have(2));  // the container stays while it has calls
  EXPECT_FALSE(reports_.has_started(id(2)));
  calls_.answer(0, "1");
  calls_.answer(1, "1");
  EXPECT_TRUE(reports_.end_of(id(2)).result);
}

TEST_F(ReusableContainerTest, RunsNoMoreContainersThanTheMaximumWhateverItsScale) {
  settings_.containers = 2;
  runner().run(reusable(1, "serve", 1'000'000));
  serve(0);
  serve(1);
  ASSERT_TRUE(calls_.have(1));
  calls_.answer(0, "1");
  EXPECT_TRUE(reports_.end_of(id(1)).result);
  EXPECT_EQ(runtime_.calls("run").size(), 2u);
}

TEST_F(ReusableContainerTest, IsRemovedWhenItsRunnerIsDestroyed) {
  runner().run(reusable(1, "serve", 2));
  serve(0);
  serve(1);
  ASSERT_TRUE(calls_.have(1));
  ASSERT_TRUE(are_running(2));
  runner_.reset();
  EXPECT_THAT(runtime_.containers(), IsEmpty());
  calls_.answer(0, "too late");
}

}  // namespace
}  // namespace millrace
