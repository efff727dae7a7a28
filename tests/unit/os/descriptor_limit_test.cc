// raise_descriptor_limit: an unprivileged process that has lowered its hard limit cannot raise it
// again, so each case has its own process.
#include "os/descriptor_limit.h"

#include <cstdlib>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace {
namespace {

/// The result of raise_descriptor_limit(), and the limits after it.
struct Raised {
  std::string error;  ///< code and message; empty if there is no error
  rlim_t soft = 0;
  rlim_t hard = 0;
};

Raised raise_from(rlim_t soft, rlim_t hard) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = soft, .rlim_max = hard};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(1);
    const Status done = raise_descriptor_limit();
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    std::string text = std::to_string(now.rlim_cur) + " " + std::to_string(now.rlim_max) + " ";
    if (!done) text += done.error().code + ": " + done.error().message;
    const bool is_written = ::write(ends[1], text.data(), text.size()) >= 0;
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4'096, '\0');
  const ssize_t size =
      ::read(ends[0], text.data(), text.size());  // one read gets all bytes of the one write
  ::close(ends[0]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the limit of the system is too low for this test";
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  Raised raised;
  char* rest = text.data();
  raised.soft = std::strtoull(rest, &rest, 10);
  raised.hard = std::strtoull(rest, &rest, 10);
  if (*rest == ' ') raised.error = rest + 1;
  return raised;
}

TEST(DescriptorLimit, IsRaisedAsFarAsTheSystemAllows) {
  const Raised raised = raise_from(100, 1'000);
  EXPECT_EQ(raised.error, "");
  EXPECT_EQ(raised.soft, 1'000U);
  EXPECT_EQ(raised.hard, 1'000U);
}

TEST(DescriptorLimit, IsAcceptedIfTheHardLimitIsTheMinimum) {
  const Raised raised = raise_from(10, kLeastDescriptors);
  EXPECT_EQ(raised.error, "");
  EXPECT_EQ(raised.soft, kLeastDescriptors);
}

TEST(DescriptorLimit, IsRefusedWithACorrectionIfTheHardLimitIsBelowTheMinimum) {
  const Raised raised = raise_from(100, kLeastDescriptors - 1);
  EXPECT_THAT(raised.error, testing::StartsWith("system.descriptors: this process may open 255 "
                                                "files, and a server needs 256"));
  EXPECT_THAT(raised.error, testing::HasSubstr("ulimit -n"));
  EXPECT_EQ(raised.soft, 100U) << "the limit is unchanged";
}

TEST(DescriptorLimit, StaysUnchangedIfItEqualsTheHardLimit) {
  const Raised raised = raise_from(1'000, 1'000);
  EXPECT_EQ(raised.error, "");
  EXPECT_EQ(raised.soft, 1'000U);
}

}  // namespace
}  // namespace millrace
