// forbid_core_dumps(), in a child process, because it cannot be undone.
#include "os/core_dumps.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace {
namespace {

bool has_no_core_dumps() {
  rlimit limit{.rlim_cur = 1, .rlim_max = 1};
  return ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 && limit.rlim_max == 0 &&
         ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
}

TEST(CoreDumps, AreForbiddenForTheProcess) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(forbid_core_dumps() && has_no_core_dumps() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace millrace
