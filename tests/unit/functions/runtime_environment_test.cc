// The environment of the container runtime's command line.
#include "functions/runtime_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;

struct EnvironmentCase {
  std::vector<std::string_view> all;
  std::vector<std::string> passed;
};

TEST(RuntimeEnvironment, HasOnlyTheVariablesThatTheRuntimeNeeds) {
  const std::vector<EnvironmentCase> cases = {
      {{"PATH=/bin", "HOME=/home/a", "XDG_RUNTIME_DIR=/run/user/1"},
       {"PATH=/bin", "HOME=/home/a", "XDG_RUNTIME_DIR=/run/user/1"}},
      {{"PATH=/bin", "DOCKER_HOST=unix:///run/x", "HTTPS_PROXY=http://p", "no_proxy=a"},
       {"PATH=/bin", "DOCKER_HOST=unix:///run/x", "HTTPS_PROXY=http://p", "no_proxy=a"}},
      {{"PATH=/bin", "NATS_PASSWORD=x", "NATS_USER=x", "MILLRACE_TOKEN=x", "MILLRACE_DATA=x",
        "AWS_SECRET_ACCESS_KEY=x", "LD_PRELOAD=/x.so"},
       {"PATH=/bin"}},
      {{"PATH=/bin", "PATHS=x", "path=x", "HOME_=x", "=HOME", "HOMEX", ""}, {"PATH=/bin"}},
      {{"PATH=", "HOME=a=b"}, {"PATH=", "HOME=a=b"}},
  };
  for (const EnvironmentCase& one : cases) {
    EXPECT_EQ(runtime_environment(one.all), one.passed) << testing::PrintToString(one.all);
  }
}

TEST(RuntimeEnvironment, HasAPathEvenIfTheProcessHasNone) {
  EXPECT_THAT(
      runtime_environment({"HOME=/a"}),
      ElementsAre("HOME=/a", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
}

}  // namespace
}  // namespace millrace
