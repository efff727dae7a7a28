// The same on the real podman, where it can run here: with an image made of this system's shell,
// so that nothing is fetched.
#include <fstream>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/programs.h"
#include "functions/container.h"
#include "tests/support/process.h"
#include "tests/unit/functions/told_tasks.h"
#include "tests/unit/store/folder.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// Of this process: others may run the same test.
const std::string kData = fmt::format("podman-test-{}", ::getpid());
const std::string kImage = fmt::format("localhost/millrace-test-{}:latest", ::getpid());

/// A server on port 8080 in a few lines: answers with what it is sent, and leaves a variable.
constexpr const char* kServer = R"(
  socket(S, 2, 1, 6); setsockopt(S, 1, 2, pack("l", 1));
  bind(S, pack("S n a4 x8", 2, 8080, "\0\0\0\0")) or die $!; listen(S, 5) or die $!;
  while (accept(C, S)) {
    my ($size, $folder) = (0, "");
    while (my $line = <C>) {
      $size = $1 if $line =~ /^Content-Length: (\d+)/i;
      $folder = $1 if $line =~ /^Direktiv-TempDir: (\S+)/i;
      last if $line =~ /^\r?\n$/;
    }
    next if $size == 0;
    read(C, my $body, $size);
    open(F, "<", "$folder/note"); my $note = <F>; close(F);
    open(F, ">", "$folder/out/instance/seen"); print F $body; close(F);
    my $answer = "{\"got\":$body,\"note\":\"$note\"}";
    print C "HTTP/1.1 200 OK\r\nContent-Length: " . length($answer) . "\r\n\r\n$answer"; close(C);
  })";

ProcessEnd podman(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "podman");
  return run_process({.command = arguments});
}

/// The files that a program needs, itself included.
std::vector<fs::path> closure_of(const fs::path& program) {
  std::vector<fs::path> files = {program};
  std::istringstream words(run_process({.command = {"ldd", program}}).output);
  for (std::string word; words >> word;) {
    if (word.starts_with('/')) files.push_back(word);
  }
  return files;
}

void make_image(const fs::path& folder) {
  const fs::path root = folder / "root";
  for (const char* const name : {"tmp", "direktiv-data", "mnt/shared", "proc", "dev", "sys"}) {
    fs::create_directories(root / name);
  }
  for (const char* const program : {"/bin/sh", "/bin/cat", "/bin/sleep", "/usr/bin/perl"}) {
    for (const fs::path& file : closure_of(program)) {
      const fs::path copy = root / file.relative_path();
      fs::create_directories(copy.parent_path());
      fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    }
  }
  const std::string tar = folder / "root.tar";
  ASSERT_EQ(run_process({.command = {"tar", "-C", root, "-cf", tar, "."}}).code, 0);
  const ProcessEnd imported = podman({"import", tar, kImage});
  ASSERT_EQ(imported.code, 0) << imported.errors;
}

/// One request on a thread of its own, which is all that is asked here.
class PlainCaller final : public HttpCaller {
 public:
  ~PlainCaller() override {
    for (std::thread& thread : threads_) thread.join();
  }

  void call(HttpCall call) override {
    threads_.emplace_back([call = std::move(call)] { call.done(answer_of(call)); });
  }
  void stop(const InstanceId&) override {}

 private:
  static std::string answer_of(const HttpCall& call) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::atoi(call.url.c_str() + 17)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string request =
        fmt::format("POST / HTTP/1.1\r\nContent-Length: {}\r\nDirektiv-TempDir: {}\r\n\r\n{}",
                    call.task.input.size(), call.folder, call.task.input);
    EXPECT_EQ(::write(socket, request.data(), request.size()), ssize_t(request.size()));
    std::string text;
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(socket, bytes, sizeof bytes)) > 0;) {
      text.append(bytes, static_cast<size_t>(count));
    }
    ::close(socket);
    return text.substr(std::min(text.size(), text.find("\r\n\r\n") + 4));
  }

  std::vector<std::thread> threads_;
};

class PodmanTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (find_program("podman").empty()) {
      missing_ = "podman is not installed";
      return;
    }
    const Folder folder;
    make_image(folder.path());
    const ProcessEnd tried = podman({"run", "--rm", kImage, "/bin/sh", "-c", "echo works"});
    if (tried.output != "works\n") missing_ = "podman runs nothing here: " + tried.errors;
  }
  static void TearDownTestSuite() {
    if (!find_program("podman").empty()) podman({"rmi", "--force", kImage});
  }

  void SetUp() override {
    if (!missing_.empty()) GTEST_SKIP() << missing_;
    settings_.runtime = "podman";
    settings_.folder = folder_.path() / "functions";
    settings_.data_id = kData;
    runner_ = std::make_unique<ContainerRunner>(settings_, caller_, clock_, told_);
  }
  void TearDown() override {
    if (!missing_.empty()) return;
    runner_.reset();
    EXPECT_EQ(left(), "");
  }

  static Task task(uint8_t number, const std::string& script, bool isolated = true) {
    InstanceId id;
    id.bytes[15] = number;
    return {.id = id,
            .space = "space",
            .target = Container{.isolated = isolated,
                                .image = kImage,
                                .cmd = fmt::format("/bin/sh -c '{}'", script)},
            .input = R"({"a":1})",
            .files = {{"note", FileType::kPlain, "hello"}}};
  }

  TaskEnded run(const Task& task) {
    runner_->run(task);
    return told_.end_of(task.id);
  }

  /// Containers of this test.
  static std::string left() {
    return podman({"ps", "--all", "--quiet", fmt::format("--filter=label=millrace.data={}", kData)})
        .output;
  }

  static inline std::string missing_;
  Folder folder_;
  ContainerSettings settings_;
  SystemClock clock_;
  ToldTasks told_;
  PlainCaller caller_;
  std::unique_ptr<ContainerRunner> runner_;
};

TEST_F(PodmanTest, AnIsolatedFunctionAnswersByTheProtocol) {
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
  EXPECT_THAT(told_.output(greet.id), testing::ElementsAre("complaint", "hello", "only output"));
}

TEST_F(PodmanTest, AnIsolatedFunctionThatKnowsNothingOfItAnswersByItsStreams) {
  const TaskEnded ended = run(task(1, "echo complaint >&2; cat"));
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, R"({"a":1})");
}

TEST_F(PodmanTest, TheContainerMayDoLittle) {
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

TEST_F(PodmanTest, TheMemoryOfItsSizeIsAllThatItGets) {
  const TaskEnded ended = run(task(1, R"(perl -e "my @x; push @x, q(x) x 1000000 while 1")"));
  ASSERT_FALSE(ended.result);
  EXPECT_EQ(ended.result.error().code, kFunctionUnavailable);
}

TEST_F(PodmanTest, FailuresSayWhy) {
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

TEST_F(PodmanTest, OneThatIsStoppedIsGone) {
  const Task hang = task(1, "trap : TERM INT; while :; do sleep 1; done");
  runner_->run(hang);
  ASSERT_TRUE(eventually([&] { return left() != ""; }));
  runner_->stop(hang.id);
  EXPECT_TRUE(eventually([&] { return left() == ""; }));
}

TEST_F(PodmanTest, WhatACrashLeavesIsRemovedAtTheNextStart) {
  const ProcessEnd started =
      podman({"run", "--detach", "--rm", "--stop-timeout=0",
              fmt::format("--label=millrace.data={}", kData), kImage, "/bin/sleep", "1000"});
  ASSERT_EQ(started.code, 0) << started.errors;
  runner_ = nullptr;
  runner_ = std::make_unique<ContainerRunner>(settings_, caller_, clock_, told_);
  EXPECT_TRUE(eventually([&] { return left() == ""; }));
}

TEST_F(PodmanTest, AReusableFunctionIsCalledByHttp) {
  Task served = task(1, "", false);
  std::string quoted = kServer;
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
