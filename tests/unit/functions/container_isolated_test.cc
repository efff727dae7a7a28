// Isolated functions on the fake runtime: what a container finds, how its files become the answer,
// and that the container and its folder are removed afterwards.
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "functions/files.h"
#include "functions/output_lines.h"
#include "tests/unit/functions/container_fixture.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using IsolatedContainerTest = ContainerTest;

void expect_error(const TaskEnded& ended, std::string_view code, std::string_view words) {
  ASSERT_FALSE(ended.result) << *ended.result;
  EXPECT_EQ(ended.result.error().code, code) << ended.result.error().message;
  EXPECT_THAT(ended.result.error().message, HasSubstr(words));
}

TEST_F(IsolatedContainerTest, AnswersThroughItsFolder) {
  runtime_.add_image("greet", R"(
    name=$(cat "$data/input.json")
    echo "called with $*" >> "$data/out.log"
    cat "$data/vars/greeting" >> "$data/out.log"
    echo "{\"got\": $name}" > "$data/output.json"
    echo 'left' > "$data/vars/out/workflow/note"
    echo 'this is only output'
    echo 'and this a complaint' >&2
    touch "$data/done")");
  Task task = isolated(1, "greet", "say 'good day'");
  task.files = {{"greeting", FileType::kBase64, base64_encode("hello\n")}};
  const TaskEnded ended = run(task);
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, "{\"got\": {\"a\":1}}\n");
  ASSERT_EQ(ended.variables.size(), 1u);
  EXPECT_EQ(ended.variables[0].scope, VariableScope::kWorkflow);
  EXPECT_EQ(ended.variables[0].key, "note");
  EXPECT_EQ(ended.variables[0].value.bytes, "left\n");
  EXPECT_THAT(reports_.output(id(1)),
              ElementsAre("and this a complaint", "called with say good day", "hello",
                          "this is only output"));
  EXPECT_EQ(reports_.count<TaskStarted>(id(1)), 1u);
  EXPECT_TRUE(are_gone());
  EXPECT_TRUE(eventually([&] { return folders() == 0; }));
}

TEST_F(IsolatedContainerTest, AcceptsItsTaskByAFileAndAnswersItLater) {
  runtime_.add_image("ask", R"sh(
    touch "$data/accepted"
    echo "$(cat "$data/callback") $(cat "$data/progress.json")"
    echo '7' > "$data/output.json"
    echo 'unused' > "$data/vars/out/workflow/note")sh");
  Task task = isolated(1, "ask");
  task.callback = {.url = "http://m/v1/ns/space/callbacks/k", .key = "0f"};
  task.progress = "[3]";
  runner().run(task);
  ASSERT_TRUE(eventually([&] { return reports_.count<TaskAccepted>(id(1)) == 1; }));
  EXPECT_TRUE(are_gone());
  EXPECT_TRUE(eventually([&] { return folders() == 0; }));
  EXPECT_THAT(reports_.output(id(1)), ElementsAre("http://m/v1/ns/space/callbacks/k [3]"));
  EXPECT_EQ(reports_.count<TaskEnded>(id(1)), 0u);
  EXPECT_EQ(runner().since_heartbeat(id(1)), std::nullopt) << "its heartbeats are callbacks";
}

TEST_F(IsolatedContainerTest, FailsDespiteAcceptanceIfItsExitCodeOrErrorSaysSo) {
  runtime_.add_image("exits", R"(touch "$data/accepted"; exit 3)");
  runtime_.add_image("says", R"(
    touch "$data/accepted"
    echo '{"code": "no.mail"}' > "$data/error.json")");
  Task first = isolated(1, "exits");
  Task second = isolated(2, "says");
  first.callback = second.callback = {.url = "http://m", .key = "0f"};
  expect_error(run(first), kFunctionUnavailable, "ended with code 3");
  expect_error(run(second), "no.mail", "");
  EXPECT_EQ(reports_.count<TaskAccepted>(id(1)) + reports_.count<TaskAccepted>(id(2)), 0u);
}

TEST_F(IsolatedContainerTest, CannotAcceptATaskWithoutACallback) {
  runtime_.add_image("ask", R"(
    touch "$data/accepted"
    [ -e "$data/callback" ] || [ -e "$data/progress.json" ] || echo 7)");
  EXPECT_EQ(run(isolated(1, "ask")).result.value_or("none"), "7\n");
}

TEST_F(IsolatedContainerTest, AnswersThroughItsStandardStreams) {
  runtime_.add_image("count", "echo 'counting' >&2; tr -d '\\n' | wc -c");
  const TaskEnded ended = run(isolated(1, "count"));
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, "7\n");
  EXPECT_THAT(reports_.output(id(1)), ElementsAre("counting"));
  EXPECT_THAT(ended.variables, IsEmpty());
}

TEST_F(IsolatedContainerTest, RunsWithLimitedRights) {
  settings_.pool_network = "functions";  // only for containers of pools
  settings_.options = {"--env=A=b"};
  runtime_.add_image("true", "true");
  Task task = isolated(1, "true");
  std::get<Container>(task.target).size = ContainerSize::kLarge;
  ASSERT_TRUE(run(task).result);
  EXPECT_EQ(option(0, "label"), "millrace.data=data-1");
  EXPECT_THAT(runtime_.calls("run"),
              ElementsAre(testing::AllOf(HasSubstr("--label=millrace.task=" + to_string(id(1))),
                                         HasSubstr("--cpus=2"), HasSubstr("--memory=1024m"),
                                         HasSubstr("--read-only"), HasSubstr("--cap-drop=all"),
                                         HasSubstr("--network=none --env=A=b -- true"))));
}

TEST_F(IsolatedContainerTest, HidesTheEnvironmentOfThisProcessFromTheRuntime) {
  ::setenv("NATS_PASSWORD", "secret", 1);
  runtime_.add_image("show", "env");
  const TaskEnded ended = run(isolated(1, "show"));
  runner_.reset();  // its thread reads the environment
  ::unsetenv("NATS_PASSWORD");
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_THAT(runtime_.environment(), Contains(testing::StartsWith("PATH=")));
  EXPECT_THAT(runtime_.environment(), testing::Not(Contains(HasSubstr("secret"))));
  EXPECT_THAT(*ended.result, testing::Not(HasSubstr("secret")));
}

TEST_F(IsolatedContainerTest, FailsWithTheErrorOfTheFunctionWhateverTheExitCode) {
  for (const char* const code : {"0", "3"}) {
    runtime_.add_image("fail", fmt::format(R"(
      echo '{{"code": "shop.empty", "msg": "nothing left"}}' > "$data/error.json"
      echo 'not this' > "$data/output.json"
      echo '1' > "$data/vars/out/instance/tried"
      exit {})",
                                           code));
    const uint32_t number = static_cast<uint32_t>(code[0]);
    const TaskEnded ended = run(isolated(number, "fail"));
    expect_error(ended, "shop.empty", "nothing left");
    EXPECT_EQ(ended.variables.size(), 1u);
  }
}

struct FailedRun {
  const char* script;
  std::string_view code;
  const char* words;
};

TEST_F(IsolatedContainerTest, ReportsWhyAContainerEndedWithoutAnAnswer) {
  const std::vector<FailedRun> ends = {
      {"echo oh no >&2; echo 1; exit 7", kFunctionUnavailable, "ended with code 7: oh no"},
      {"exit 1", kFunctionUnavailable, "ended with code 1"},
      {"kill -9 $$", kFunctionUnavailable, "memory"},
      {"kill -11 $$", kFunctionUnavailable, "code 139"},
      {"ulimit -c 0; kill -XFSZ $$", kFunctionTooLarge, "a file of more than 128 MiB"},
      {"echo '{' > $data/error.json", kFunctionUnavailable, "error.json is not"},
      {"echo '[]' > $data/error.json", kFunctionUnavailable, "error.json is not"},
      {"echo '{\"code\": 1}' > $data/error.json", kFunctionUnavailable, "error.json is not"},
      {"echo '{\"code\": \"\"}' > $data/error.json", kFunctionUnavailable, "error.json is not"},
      {"ln -s /etc/passwd $data/error.json", kFunctionFiles, "error.json: it is neither"},
      {"ln -s /etc/passwd $data/output.json", kFunctionFiles, "output.json: it is neither"},
      {"mkdir $data/output.json", kFunctionFiles, "output.json: it is a folder"},
      {"mkfifo $data/output.json", kFunctionFiles, "output.json: it is neither"},
      {"head -c 4194305 /dev/zero > $data/output.json", kFunctionTooLarge, "output.json is larger"},
      {"head -c 4194305 /dev/zero", kFunctionTooLarge, "standard output is larger"},
      {"echo 1; ln -s /etc $data/vars/out/instance/x", kFunctionFiles, "instance/\"x\""},
      {"echo 1; echo > \"$data/vars/out/instance/a b\"", kFunctionFiles,
       "not a valid variable key"},
      {"rm -rf $data/vars; echo 1; ln -s / $data/vars", kFunctionFiles, "the folder of the task"},
  };
  uint32_t number = 0;
  for (const FailedRun& end : ends) {
    SCOPED_TRACE(end.script);
    runtime_.add_image("bad", end.script);
    const TaskEnded ended = run(isolated(++number, "bad"));
    expect_error(ended, end.code, end.words);
    EXPECT_THAT(ended.variables, IsEmpty());
  }
  EXPECT_TRUE(eventually([&] { return folders() == 0; }));
}

TEST_F(IsolatedContainerTest, AnswersUpToTheMaximumSize) {
  runtime_.add_image("large", "head -c 4194304 /dev/zero");
  EXPECT_EQ(run(isolated(1, "large")).result->size(), kMaxAnswerBytes);
  runtime_.add_image("file", "head -c 4194304 /dev/zero > $data/output.json");
  EXPECT_EQ(run(isolated(2, "file")).result->size(), kMaxAnswerBytes);
  runtime_.add_image("nothing", "echo 'no result'; touch $data/done");
  EXPECT_EQ(*run(isolated(3, "nothing")).result, "");
}

TEST_F(IsolatedContainerTest, ReportsALimitedNumberOfOutputLines) {
  runtime_.add_image("talk", "yes complaint | head -n 100000 >&2; echo 1");
  const TaskEnded ended = run(isolated(1, "talk"));
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  const std::vector<std::string> output = reports_.output(id(1));
  EXPECT_EQ(output.size(), kMaxOutputLines + 1);
  EXPECT_EQ(output.back(), "(further output is left out)");
}

TEST_F(IsolatedContainerTest, FailsWithTheReasonIfItCannotBeRun) {
  expect_error(run(isolated(1, "missing")), kFunctionUnavailable, "missing: image not known");
  expect_error(run(isolated(2, "--privileged")), kFunctionUnavailable, "not a valid image name");
  runtime_.add_image("true", "true");
  expect_error(run(isolated(3, "true", "'a")), kFunctionUnavailable, "cmd: ");
  Task task = isolated(4, "true");
  task.files = {{"../x", FileType::kPlain, ""}};
  expect_error(run(task), kFunctionFiles, "../x");
  EXPECT_EQ(runtime_.calls("run").size(), 1u);
  EXPECT_TRUE(eventually([&] { return folders() == 0; }));
}

TEST_F(IsolatedContainerTest, WaitsItsTurnWhileTheMaximumNumberOfContainersRuns) {
  settings_.containers = 2;
  runtime_.add_image("wait", "until [ -f $data/vars/out/go ]; do sleep 0.01; done; echo 1");
  for (uint32_t number = 1; number <= 5; ++number) runner().run(isolated(number, "wait"));
  ASSERT_TRUE(are_running(2));
  EXPECT_FALSE(reports_.has_started(id(3)));
  for (uint32_t number = 1; number <= 5; ++number) {
    ASSERT_TRUE(eventually([&] { return reports_.has_started(id(number)); }));
    EXPECT_LE(runtime_.containers().size(), 2u);
    const std::string task = to_string(id(number));
    for (const auto& entry : std::filesystem::directory_iterator(settings_.folder)) {
      if (entry.path().string().find(task) == std::string::npos) continue;
      std::ofstream(entry.path() / "vars/out/go") << "";
    }
    EXPECT_TRUE(reports_.end_of(id(number)).result);
  }
}

TEST_F(IsolatedContainerTest, ComesFirstIfItsNamespaceHasTheFewestContainers) {
  settings_.containers = 2;
  runtime_.add_image("wait", "until [ -f $data/vars/out/go ]; do sleep 0.01; done; echo 1");
  const auto let_go = [&](uint32_t number) {
    for (const auto& entry : std::filesystem::directory_iterator(settings_.folder)) {
      if (entry.path().string().find(to_string(id(number))) == std::string::npos) continue;
      std::ofstream(entry.path() / "vars/out/go") << "";
    }
    EXPECT_TRUE(reports_.end_of(id(number)).result);
  };
  for (uint32_t number = 1; number <= 4; ++number) runner().run(isolated(number, "wait"));
  ASSERT_TRUE(are_running(2));
  Task other = isolated(5, "wait");
  other.ns = "other";
  runner().run(other);
  let_go(1);
  ASSERT_TRUE(eventually([&] { return reports_.has_started(id(5)); }));
  EXPECT_FALSE(reports_.has_started(id(3))) << "its namespace has a container already";
  for (const uint32_t number : {2U, 5U, 3U, 4U}) {
    ASSERT_TRUE(eventually([&] { return reports_.has_started(id(number)); }));
    let_go(number);
  }
}

TEST_F(IsolatedContainerTest, IsKilledWithoutAReportWhenItsTaskIsStopped) {
  runtime_.add_image("hang", "trap '' TERM INT HUP; sleep 1000 & wait; sleep 1000");
  runtime_.add_image("true", "echo 1");
  runner().run(isolated(1, "hang"));
  ASSERT_TRUE(are_running(1));
  runner().stop(id(1));
  EXPECT_TRUE(are_gone());
  EXPECT_TRUE(eventually([&] { return folders() == 0; }));
  EXPECT_TRUE(run(isolated(2, "true")).result);
  EXPECT_EQ(reports_.count<TaskEnded>(id(1)), 0u);
}

TEST_F(IsolatedContainerTest, IsNotStartedIfItsTaskIsStoppedBeforeTheStart) {
  settings_.containers = 1;
  runtime_.add_image("hang", "sleep 1000");
  runtime_.add_image("true", "echo 1");
  runner().run(isolated(1, "hang"));
  runner().run(isolated(2, "hang"));
  runner().run(isolated(3, "true"));
  ASSERT_TRUE(are_running(1));
  runner().stop(id(2));
  runner().stop(id(9));
  runner().stop(id(1));
  EXPECT_TRUE(reports_.end_of(id(3)).result);
  EXPECT_EQ(reports_.of(id(2)).size(), 0u);
  EXPECT_EQ(runtime_.calls("run").size(), 2u);
}

TEST_F(IsolatedContainerTest, IsNotStartedAgainIfItsTaskIsHandedOutAgainWhileItRuns) {
  runtime_.add_image("wait", "until [ -f $data/vars/out/go ]; do sleep 0.01; done; echo 1");
  runner().run(isolated(1, "wait"));
  ASSERT_TRUE(are_running(1));
  runner().run(isolated(1, "wait"));
  runtime_.add_image("true", "echo 1");
  EXPECT_TRUE(run(isolated(2, "true")).result);
  EXPECT_EQ(runtime_.calls("run").size(), 2u);
}

TEST_F(IsolatedContainerTest, IsRemovedAtTheDeadlineOfItsTask) {
  runtime_.add_image("hang", "sleep 1000");
  // A deadline may pass before the container is started; then the next task has twice the time.
  uint8_t number = 0;
  for (Duration time(300); runtime_.calls("run").empty(); time *= 2) {
    Task task = isolated(++number, "hang");
    task.deadline = clock_.now() + time;
    runner().run(task);
    ASSERT_TRUE(eventually(
        [&] { return !runtime_.calls("run").empty() || clock_.now() > *task.deadline; }));
  }
  EXPECT_TRUE(are_gone());
  EXPECT_TRUE(eventually([&] { return folders() == 0; }));
  for (; number > 0; --number) EXPECT_EQ(reports_.count<TaskEnded>(id(number)), 0u);
}

TEST_F(IsolatedContainerTest, IsEndedIfItWritesMoreThan64MiB) {
  runtime_.add_image("fill", R"(
    for i in 1 2 3; do truncate -s 60M "$data/vars/fill$i"; done
    sleep 1000)");
  expect_error(run(isolated(1, "fill")), kFunctionTooLarge, "written more than 64 MiB");
  EXPECT_TRUE(are_gone());
}

TEST_F(IsolatedContainerTest, SendsAHeartbeatWheneverItPrints) {
  runtime_.add_image("talk", "while sleep 0.01; do echo 'on standard output'; done");
  runner().run(isolated(1, "talk"));
  ASSERT_TRUE(eventually([&] { return runner().since_heartbeat(id(1)).has_value(); }));
  const auto started = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] {
    const auto lived = std::chrono::steady_clock::now() - started;
    const auto silence = runner().since_heartbeat(id(1));
    return silence && *silence + Duration(1) < lived;
  }));
}

TEST_F(IsolatedContainerTest, StartsAfterTheContainersOfAnEarlierMillraceAreRemoved) {
  runtime_.add_container("left", "millrace.data=data-1");
  runtime_.add_container("others", "millrace.data=data-2");
  std::filesystem::create_directories(settings_.folder / "old" / "files");
  runtime_.add_image("true", "echo 1");
  EXPECT_TRUE(run(isolated(1, "true")).result);
  EXPECT_THAT(runtime_.containers(), ElementsAre("others"));
  EXPECT_TRUE(runtime_.is_running("others"));
  EXPECT_FALSE(std::filesystem::exists(settings_.folder / "old"));
}

TEST_F(IsolatedContainerTest, FailsWhileTheContainersOfAnEarlierMillraceCannotBeRemoved) {
  runtime_.fail("ps", "Cannot connect to the daemon\nIs it running?\n");
  runtime_.add_image("true", "echo 1");
  expect_error(run(isolated(1, "true")), kFunctionUnavailable,
               "Cannot connect to the daemon Is it running?");
  EXPECT_THAT(runtime_.calls("run"), IsEmpty());
  runtime_.heal("ps");
  EXPECT_TRUE(run(isolated(2, "true")).result);
}

TEST_F(IsolatedContainerTest, FailsIfThereIsNoContainerRuntime) {
  settings_.runtime = folder_.path() / "nothing-here";
  expect_error(run(isolated(1, "true")), kFunctionUnavailable, "need podman or docker");
}

TEST_F(IsolatedContainerTest, IsRemovedWhenItsRunnerIsDestroyed) {
  runtime_.add_image("hang", "sleep 1000");
  for (uint32_t number = 1; number <= 3; ++number) runner().run(isolated(number, "hang"));
  ASSERT_TRUE(are_running(3));
  runner_.reset();
  EXPECT_THAT(runtime_.containers(), IsEmpty());
  EXPECT_EQ(folders(), 0u);
}

}  // namespace
}  // namespace millrace
