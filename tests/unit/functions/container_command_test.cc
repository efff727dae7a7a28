// The command line of the container runtime.
#include "functions/container_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

const ContainerPlan kPlan = {.runtime = "/usr/bin/podman",
                             .name = "millrace-1",
                             .data_id = "data",
                             .task = "task",
                             .source = "/some where/x",
                             .target = "/direktiv-data"};

Words command(const Container& container, const ContainerPlan& plan = kPlan) {
  const Result<Words> command = run_command(plan, container);
  EXPECT_TRUE(command) << command.error().message;
  return command ? *command : Words();
}

TEST(ContainerCommand, GivesAContainerMinimalRights) {
  EXPECT_THAT(
      command({.image = "image", .cmd = "run 'with this'"}),
      ElementsAre("/usr/bin/podman", "run", "--rm", "--log-driver=none", "--stop-timeout=0",
                  "--name=millrace-1", "--label=millrace.data=data", "--label=millrace.task=task",
                  "--mount=type=bind,source=/some where/x,target=/direktiv-data,nosuid,nodev",
                  "--cap-drop=all", "--security-opt=no-new-privileges", "--pids-limit=256",
                  "--cpus=1", "--memory=256m", "--ulimit=fsize=134217728:134217728",
                  "--ulimit=core=0:0", "--read-only",
                  "--tmpfs=/tmp:size=64m,mode=1777,nosuid,nodev", "--http-proxy=false", "--",
                  "image", "run", "with this"));
}

TEST(ContainerCommand, HasOptionsOfPodmanForPodmanOnly) {
  const std::vector<std::pair<const char*, bool>> programs = {
      {"/usr/bin/podman", true},
      {"/opt/podman-5/bin/podman-remote", true},
      {"/usr/bin/docker", false},
      {"/opt/podman/docker", false},
      {"/usr/local/bin/nerdctl", false}};
  for (const auto& [program, has_them] : programs) {
    ContainerPlan plan = kPlan;
    plan.runtime = program;
    EXPECT_EQ(testing::Value(command({.image = "image"}, plan), Contains("--http-proxy=false")),
              has_them)
        << program;
  }
}

TEST(ContainerCommand, SetsCpuAndMemoryByTheSizeOfTheFunction) {
  const Words medium = command({.image = "image", .size = ContainerSize::kMedium});
  EXPECT_THAT(medium, Contains("--cpus=1"));
  EXPECT_THAT(medium, Contains("--memory=512m"));
  const Words large = command({.image = "image", .size = ContainerSize::kLarge});
  EXPECT_THAT(large, Contains("--cpus=2"));
  EXPECT_THAT(large, Contains("--memory=1024m"));
}

TEST(ContainerCommand, PublishesPortsOnLoopbackAndUsesTheNetworkOfTheSettings) {
  ContainerPlan plan = kPlan;
  plan.port = 1234;
  plan.network = "functions";
  plan.options = {"--env=A=b"};
  plan.reads_input = true;
  const Words words = command({.image = "image"}, plan);
  EXPECT_THAT(words, Contains("--publish=127.0.0.1:1234:8080"));
  EXPECT_THAT(words, Contains("--network=functions"));
  EXPECT_THAT(words, Contains("--env=A=b"));
  EXPECT_THAT(words, Contains("--interactive"));
  EXPECT_THAT(command({.image = "image"}), Not(Contains(HasSubstr("--publish"))));
}

TEST(ContainerCommand, SplitsACommandIntoWordsAsAShellDoes) {
  const std::vector<std::pair<std::string, Words>> lines = {
      {"", {}},
      {"  \t\n ", {}},
      {"one", {"one"}},
      {" one  two\tthree\n", {"one", "two", "three"}},
      {"'a b' \"c d\"", {"a b", "c d"}},
      {"a'b c'd\"e f\"g", {"ab cde fg"}},
      {"'' \"\" x", {"", "", "x"}},
      {R"(a\ b)", {"a b"}},
      {R"('a\b')", {R"(a\b)"}},
      {R"("a\"b\\c\$d\`e\f")", {R"(a"b\c$d`e\f)"}},
      {R"(\'x\')", {"'x'"}},
      {R"('it'\''s')", {"it's"}},
      {"sh -c 'echo $HOME | cat > /tmp/x; ls *'", {"sh", "-c", "echo $HOME | cat > /tmp/x; ls *"}},
      {"echo $HOME `id` $(id) * ~ # | & ; < >",
       {"echo", "$HOME", "`id`", "$(id)", "*", "~", "#", "|", "&", ";", "<", ">"}},
      {"--privileged", {"--privileged"}},
      {"ünï 'cödé'", {"ünï", "cödé"}},
  };
  for (const auto& [line, words] : lines) {
    const Result<Words> split = split_words(line);
    ASSERT_TRUE(split) << line << ": " << split.error().message;
    EXPECT_EQ(*split, words) << line;
  }
}

TEST(ContainerCommand, RefusesAnUnterminatedQuote) {
  const std::vector<std::string> lines = {
      "'", "\"", "a 'b", "a \"b", "\"a\\\"", "a\\", std::string("a\0b", 3)};
  for (const std::string& line : lines) {
    EXPECT_FALSE(split_words(line)) << line;
    const Result<Words> command = run_command(kPlan, {.image = "image", .cmd = line});
    ASSERT_FALSE(command) << line;
    EXPECT_EQ(command.error().code, kFunctionUnavailable);
    EXPECT_THAT(command.error().message, HasSubstr("cmd: "));
  }
}

TEST(ContainerCommand, RefusesAnImageThatMayBeAPlaceOnThisMachine) {
  const Result<Words> refused = run_command(kPlan, {.image = "dir:x"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, kFunctionUnavailable);
}

struct NetworkCase {
  const char* setting;
  const char* isolated;
  const char* reusable;
};

TEST(ContainerCommand, GivesAnIsolatedContainerNoNetworkUnlessTheSettingsNameOne) {
  for (const NetworkCase& one : std::vector<NetworkCase>{{"", "none", ""},
                                                         {"default", "", ""},
                                                         {"none", "none", "none"},
                                                         {"functions", "functions", "functions"}}) {
    EXPECT_EQ(network_of(one.setting, true), one.isolated) << one.setting;
    EXPECT_EQ(network_of(one.setting, false), one.reusable) << one.setting;
  }
}

TEST(ContainerCommand, GivesAContainerOfPodmanUsersOfItsOwnIfThereAreAny) {
  ContainerPlan plan = kPlan;
  EXPECT_THAT(command({.image = "image"}, plan), Not(Contains(HasSubstr("--userns"))));
  plan.maps_users = true;
  EXPECT_THAT(command({.image = "image"}, plan), Contains("--userns=auto"));
  plan.runtime = "/usr/bin/docker";
  EXPECT_THAT(command({.image = "image"}, plan), Not(Contains(HasSubstr("--userns"))));
  EXPECT_THAT(command({.image = "image"}, plan),
              Contains("--mount=type=bind,source=/some where/x,target=/direktiv-data"));
}

}  // namespace
}  // namespace millrace
