#include "os/child_process.h"

#include <csignal>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"

namespace millrace {
namespace {

struct Ended {
  int code = -1;
  std::string output;
  std::string errors;
};

Ended run(const std::string& script, const std::string& input = "") {
  Ended ended;
  auto process = ChildProcess::start({.command = {"/bin/sh", "-c", script},
                                      .input = input,
                                      .output = [&](std::string_view b) { ended.output += b; },
                                      .errors = [&](std::string_view b) { ended.errors += b; }});
  EXPECT_TRUE(process);
  EXPECT_TRUE(eventually([&] {
    const std::optional<int> code = (*process)->poll();
    if (code) ended.code = *code;
    return code.has_value();
  }));
  return ended;
}

TEST(ChildProcess, ReturnsTheOutputAndTheExitCodeOfTheProgram) {
  const Ended ended = run("echo one; echo two >&2; exit 3");
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.output, "one\n");
  EXPECT_EQ(ended.errors, "two\n");
  EXPECT_EQ(run("kill -9 $$").code, 137);
}

TEST(ChildProcess, ReturnsOutputOfAnySize) {
  EXPECT_EQ(run("head -c 10000000 /dev/zero").output.size(), 10'000'000u);
}

TEST(ChildProcess, ReadsAFileAsItsInputOrHasAnEmptyInput) {
  const Folder folder;
  const std::string path = folder.path() / "input";
  std::ofstream(path) << "hello";
  EXPECT_EQ(run("cat", path).output, "hello");
  EXPECT_EQ(run("cat").output, "");
}

TEST(ChildProcess, FailsToStartIfTooFewDescriptorsAreFree) {
  bool started = false;
  for (rlim_t more = 0; !started && more < 32; ++more) {
    const FewDescriptors few(more);
    auto process = ChildProcess::start(
        {.command = {"/bin/sh", "-c", "sleep 60"}, .input = "", .output = {}, .errors = {}});
    started = process.has_value();
    if (started) continue;
    EXPECT_EQ(process.error().code, "process.start");
    EXPECT_NE(process.error().message.find("Too many open files"), std::string::npos)
        << process.error().message;
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1)
        << "with " << more << " free descriptors a child process remains";
  }
  EXPECT_TRUE(started);
}

TEST(ChildProcess, ReportsAMissingInputFileAsAnErrorAndAMissingProgramAsAnExitCode) {
  auto no_input = ChildProcess::start({.command = {"/bin/true"}, .input = "/nowhere/at/all"});
  ASSERT_FALSE(no_input);
  EXPECT_EQ(no_input.error().code, "process.start");
  auto no_program = ChildProcess::start({.command = {"/nowhere/at/all"}});
  ASSERT_TRUE(no_program);
  EXPECT_TRUE(eventually([&] { return (*no_program)->poll().has_value(); }));
  EXPECT_EQ((*no_program)->poll(), 127);
}

TEST(ChildProcess, InheritsNoDescriptorsAndNoSignalSettings) {
  const int open_to_all = ::open("/dev/null", O_RDONLY);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  const Ended ended = run("ls /proc/self/fd | wc -l; kill -TERM $$; echo survived");
  ::pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  ::close(open_to_all);
  EXPECT_EQ(ended.output, "4\n");  // the three standard streams, and the folder itself
  EXPECT_EQ(ended.code, 128 + SIGTERM);
}

TEST(ChildProcess, EndsWhenTheThreadThatStartedItEndsOrItsObjectIsDestroyed) {
  std::unique_ptr<ChildProcess> process;
  std::thread([&] {
    bool is_up = false;
    process = *ChildProcess::start({.command = {"/bin/sh", "-c", "echo up; exec sleep 1000"},
                                    .output = [&](std::string_view) { is_up = true; }});
    EXPECT_TRUE(eventually([&] { return !process->poll() && is_up; }));
  }).join();
  EXPECT_TRUE(eventually([&] { return process->poll().has_value(); }));
  EXPECT_EQ(process->poll(), 128 + SIGKILL);

  const size_t before = children_of(::getpid()).size();
  process = *ChildProcess::start({.command = {"/bin/sleep", "1000"}});
  EXPECT_EQ(children_of(::getpid()).size(), before + 1);
  process = nullptr;
  EXPECT_EQ(children_of(::getpid()).size(), before);
}

}  // namespace
}  // namespace millrace
