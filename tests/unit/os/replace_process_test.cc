#include "os/replace_process.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/read_file.h"

namespace millrace {
namespace {

constexpr const char* kReplaced = "MILLRACE_TEST_REPLACED";
constexpr int kHighDescriptor = 100;

/// Prints for the parent how the program was started; in the process that has replaced a child.
[[noreturn]] void print_state() {
  sigset_t blocked{};
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  const bool is_open = ::fcntl(kHighDescriptor, F_GETFD) != -1;
  fmt::print("process {}, SIGTERM blocked: {}, descriptor open: {}\n", ::getpid(),
             sigismember(&blocked, SIGTERM) == 1, is_open);
  std::fflush(stdout);
  ::_exit(0);
}

[[noreturn]] void replace_child(int out) {
  ::setenv(kReplaced, "1", 1);
  ::setenv("GTEST_FILTER", "ReplaceProcess.*", 1);
  sigset_t term{};
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, kHighDescriptor);
  const Status failed = replace_process();
  ::_exit(failed ? 1 : 2);
}

TEST(ReplaceProcess, StartsTheProgramAgainInTheSameProcess) {
  if (std::getenv(kReplaced) != nullptr) print_state();
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) replace_child(ends[1]);
  ASSERT_GT(child, 0);
  const Descriptor from(ends[0]);
  ::close(ends[1]);
  const Result<std::string> printed = read_at_most(from, 100'000);
  ASSERT_TRUE(printed) << printed.error().message;
  EXPECT_THAT(*printed, testing::HasSubstr(fmt::format(
                            "process {}, SIGTERM blocked: false, descriptor open: false", child)));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace millrace
