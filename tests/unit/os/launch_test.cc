#include "os/launch.h"

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/patience.h"

namespace millrace {
namespace {

/// A file in memory.
Descriptor memory_file() { return Descriptor(::memfd_create("test", MFD_CLOEXEC)); }

std::string text_of(const Descriptor& file) {
  std::string text(4'096, '\0');
  const ssize_t size = ::pread(file.fd(), text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

LaunchOptions shell(const std::string& script) { return {.command = {"/bin/sh", "-c", script}}; }

TEST(Launch, PassesTheGivenStreamsAndOnlyTheGivenEnvironmentToTheProgram) {
  const Descriptor input = memory_file();
  ASSERT_EQ(::write(input.fd(), "in", 2), 2);
  ::lseek(input.fd(), 0, SEEK_SET);
  const Descriptor output = memory_file();
  LaunchOptions options = shell("cat; echo \" $NAME:$HOME\"");
  options.environment = {"NAME=value"};
  options.input = input.fd();
  options.output = output.fd();
  const Result<LaunchedProcess> process = launch(options);
  ASSERT_TRUE(process);
  EXPECT_EQ(wait_for_end(*process, kPatience), 0);
  EXPECT_EQ(text_of(output), "in value:\n");
}

TEST(Launch, PassesOnlyTheKeptDescriptorsToTheProgram) {
  const Descriptor kept = memory_file();
  const int left_open = ::dup(kept.fd());  // without O_CLOEXEC
  const Descriptor owned(left_open);
  LaunchOptions options = shell("[ ! -e /proc/self/fd/" + std::to_string(left_open) +
                                " ] && echo hello >&" + std::to_string(kept.fd()));
  options.kept = {kept.fd()};
  const Result<LaunchedProcess> process = launch(options);
  ASSERT_TRUE(process);
  EXPECT_EQ(wait_for_end(*process, kPatience), 0);
  EXPECT_EQ(text_of(kept), "hello\n");
}

TEST(Launch, StartsAProcessThatBlocksNoSignalAndLeadsASession) {
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const Result<LaunchedProcess> process =
      launch(shell("[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] || exit 1; kill -TERM $$"));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(process);
  EXPECT_EQ(wait_for_end(*process, kPatience), 128 + SIGTERM);
}

TEST(Launch, ReportsTheExitCodeAsAShellDoes) {
  const Result<LaunchedProcess> runs = launch(shell("exec sleep 1000"));
  ASSERT_TRUE(runs);
  EXPECT_EQ(wait_for_end(*runs, Duration(0)), std::nullopt);
  ::kill(runs->pid, SIGKILL);
  EXPECT_EQ(wait_for_end(*runs, kPatience), 128 + SIGKILL);
  const Result<LaunchedProcess> missing = launch({.command = {"/missing/program"}});
  ASSERT_TRUE(missing);
  EXPECT_EQ(wait_for_end(*missing, kPatience), 127);
}

TEST(Launch, StartsNothingWithoutAFreeDescriptor) {
  const FewDescriptors none(0);
  const Result<LaunchedProcess> process = launch(shell("exit 0"));
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, "process.start");
}

}  // namespace
}  // namespace millrace
