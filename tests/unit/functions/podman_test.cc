// Container functions on podman, if podman can run containers on this machine. The image is made
// from the shell of this system, so that nothing is downloaded.
#include "tests/support/podman.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "functions/container.h"
#include "orchestrator/ports/clock.h"
#include "os/programs.h"
#include "tests/support/folder.h"
#include "tests/support/patience.h"
#include "tests/support/process.h"
#include "tests/unit/functions/recorded_reports.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// Unique for this process: other processes may run the same test.
const std::string kData = fmt::format("podman-test-{}", ::getpid());
const std::string kImage = fmt::format("localhost/millrace-test-{}:latest", ::getpid());

class PodmanTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { image_ = new PodmanImage(kImage); }
  static void TearDownTestSuite() { delete image_; }

  void SetUp() override {
    SKIP_WITHOUT_PODMAN(*image_);
    settings_.runtime = "podman";
    settings_.folder = folder_.path() / "functions";
    settings_.data_id = kData;
    settings_.end_timeout = kPatience;
    runner_ = std::make_unique<ContainerRunner>(settings_, client_, clock_, reports_);
  }
  void TearDown() override {
    if (!image_->missing().empty()) return;
    runner_.reset();
    EXPECT_EQ(containers(), "");
  }

  static Task task(uint8_t number, const std::string& script, bool isolated = true) {
    InstanceId id;
    id.bytes[15] = number;
    return {.id = id,
            .ns = "space",
            .target = Container{.isolated = isolated,
                                .image = kImage,
                                .cmd = fmt::format("/bin/sh -c '{}'", script)},
            .input = R"({"a":1})",
            .files = {{"note", FileType::kPlain, "hello"}}};
  }

  TaskEnded run(const Task& task) {
    runner_->run(task);
    return reports_.end_of(task.id);
  }

  /// The ids of the containers of this test.
  static std::string containers() {
    return podman({"ps", "--all", "--quiet", fmt::format("--filter=label=millrace.data={}", kData)})
        .output;
  }

  static inline PodmanImage* image_ = nullptr;
  Folder folder_;
  ContainerSettings settings_;
  SystemClock clock_;
  RecordedReports reports_;
  HttpClient client_;
  std::unique_ptr<ContainerRunner> runner_;
};

TEST_F(PodmanTest, RunsAnIsolatedFunctionThatAnswersThroughItsFolder) {
  const Task greet = task(1, R"(
    cd /direktiv-data
    cat vars/note >> out.log
    echo complaint >&2
    echo only output
    echo left > vars/out/workflow/key
    cat input.json > output.json
    echo > done)");
  const TaskEnded ended = run(greet);
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, R"({"a":1})");
  ASSERT_EQ(ended.variables.size(), 1u);
  EXPECT_EQ(ended.variables[0].value.bytes, "left\n");
  EXPECT_THAT(reports_.output(greet.id), testing::ElementsAre("complaint", "hello", "only output"));
}

TEST_F(PodmanTest, RunsAnIsolatedFunctionThatAnswersThroughItsStandardStreams) {
  const TaskEnded ended = run(task(1, "echo complaint >&2; cat"));
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, R"({"a":1})");
}

TEST_F(PodmanTest, GivesAContainerNoCapabilitiesAndAReadOnlyRoot) {
  const TaskEnded ended = run(task(1, R"(
    echo x > /file 2> /dev/null && echo "the root can be written"
    echo x > /tmp/file || echo "/tmp can not be written"
    while read key value; do
      case $key in
        CapEff:|CapBnd:) echo "$key $value" ;;
        NoNewPrivs:) echo "$key $value" ;;
      esac
    done < /proc/self/status)"));
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, "CapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\n");
}

TEST_F(PodmanTest, GivesAnIsolatedContainerNoNetwork) {
  const TaskEnded ended = run(task(1, "cat /proc/net/dev"));
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_THAT(*ended.result, HasSubstr("lo:"));
  EXPECT_THAT(*ended.result,
              testing::Not(testing::ContainsRegex("(eth|tap|ens|eno|wl)[a-z0-9]*:")));
}

TEST_F(PodmanTest, GivesAContainerNoVariableOfThisProcess) {
  runner_.reset();  // its thread reads the environment
  ::setenv("HTTPS_PROXY", "http://user:secret@proxy", 1);
  ::setenv("NATS_PASSWORD", "secret", 1);
  runner_ = std::make_unique<ContainerRunner>(settings_, client_, clock_, reports_);
  const TaskEnded ended = run(task(1, "echo $HTTPS_PROXY $https_proxy $NATS_PASSWORD"));
  runner_.reset();
  ::unsetenv("HTTPS_PROXY");
  ::unsetenv("NATS_PASSWORD");
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, "\n");
}

TEST_F(PodmanTest, LimitsTheMemoryOfAContainerByItsSize) {
  const TaskEnded ended = run(task(1, R"(perl -e "my @x; push @x, q(x) x 1000000 while 1")"));
  ASSERT_FALSE(ended.result);
  EXPECT_EQ(ended.result.error().code, kFunctionUnavailable);
}

TEST_F(PodmanTest, LimitsTheSizeOfAFileThatHasNoNameAnyMore) {
  // Not the first process of the container, which the kernel does not end by this signal.
  const TaskEnded ended = run(task(1, R"(perl -e "
      open(F, q(>), q(/direktiv-data/large)) or die; unlink(q(/direktiv-data/large));
      for (1..400) { syswrite(F, q(x) x 1048576) or die }"; exit $?)"));
  ASSERT_FALSE(ended.result);
  EXPECT_EQ(ended.result.error().code, kFunctionTooLarge) << ended.result.error().message;
}

TEST_F(PodmanTest, ReportsWhyAFunctionFails) {
  const TaskEnded failed = run(task(1, "echo oh no >&2; exit 3"));
  ASSERT_FALSE(failed.result);
  EXPECT_THAT(failed.result.error().message, HasSubstr("ended with code 3: oh no"));
  const TaskEnded own =
      run(task(2, R"(echo "{\"code\":\"shop.empty\"}" > /direktiv-data/error.json; exit 1)"));
  ASSERT_FALSE(own.result);
  EXPECT_EQ(own.result.error().code, "shop.empty");
  Task missing = task(3, "true");
  std::get<Container>(missing.target).image = "localhost/millrace-missing:latest";
  const TaskEnded none = run(missing);
  ASSERT_FALSE(none.result);
  EXPECT_EQ(none.result.error().code, kFunctionUnavailable);
}

TEST_F(PodmanTest, RemovesAStoppedContainer) {
  const Task hang = task(1, "trap : TERM INT; while :; do sleep 1; done");
  runner_->run(hang);
  ASSERT_TRUE(eventually([&] { return containers() != ""; }));
  runner_->stop(hang.id);
  EXPECT_TRUE(eventually([&] { return containers() == ""; }));
}

TEST_F(PodmanTest, RemovesContainersThatACrashHasLeft) {
  const ProcessEnd started =
      podman({"run", "--detach", "--rm", "--stop-timeout=0",
              fmt::format("--label=millrace.data={}", kData), kImage, "/bin/sleep", "1000"});
  ASSERT_EQ(started.code, 0) << started.errors;
  runner_ = nullptr;
  runner_ = std::make_unique<ContainerRunner>(settings_, client_, clock_, reports_);
  EXPECT_TRUE(eventually([&] { return containers() == ""; }));
}

TEST_F(PodmanTest, RunsAReusableFunctionOverHttp) {
  Task served = task(1, "", false);
  std::string quoted = kPerlServer;
  for (size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos; at += 4) {
    quoted.replace(at, 1, R"('\'')");
  }
  std::get<Container>(served.target).cmd = fmt::format("perl -e '{}'", quoted);
  for (uint8_t number = 1; number <= 3; ++number) {
    served.id.bytes[15] = number;
    const TaskEnded ended = run(served);
    ASSERT_TRUE(ended.result) << ended.result.error().message;
    EXPECT_EQ(*ended.result, R"({"got":{"a":1},"note":"hello"})");
    ASSERT_EQ(ended.variables.size(), 1u);
    EXPECT_EQ(ended.variables[0].value.bytes, R"({"a":1})");
  }
}

}  // namespace
}  // namespace millrace
