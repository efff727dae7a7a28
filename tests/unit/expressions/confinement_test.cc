// Confinement of a jq worker: the test tries each system call in a child process.
#include "expressions/workers/confinement.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers: no confinement

namespace millrace {
namespace {

/// The errno of the attempt in a confined process, 0 if it succeeded; -1 if the process was not
/// confined or was killed.
int attempted_inside(long (*attempt)()) {
  const pid_t child = fork();
  if (child == 0) {
    limit_worker();
    if (!refuse_system_calls()) _exit(255);
    errno = 0;
    _exit(attempt() < 0 ? errno : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 255) return -1;
  return WEXITSTATUS(status);
}

TEST(Confinement, KeepsAJqWorkerFromFilesTheNetworkAndOtherProcesses) {
  struct Row {
    const char* what;
    long (*attempt)();
  };
  for (const auto& [what, attempt] : std::initializer_list<Row>{
           {"reading a file", [] { return long{open("/etc/passwd", O_RDONLY)}; }},
           {"writing a file", [] { return long{open("/tmp/x", O_WRONLY | O_CREAT, 0600)}; }},
           {"looking for a file",
            [] {
              struct stat found {};
              return long{stat("/etc/passwd", &found)};
            }},
           {"removing a file", [] { return long{unlink("/tmp/x")}; }},
           {"creating a folder", [] { return long{mkdir("/tmp/x", 0700)}; }},
           {"creating a network socket", [] { return long{socket(AF_INET, SOCK_STREAM, 0)}; }},
           {"creating a local socket", [] { return long{socket(AF_UNIX, SOCK_STREAM, 0)}; }},
           {"connecting",
            [] {
              const sockaddr_in address{.sin_family = AF_INET};
              return long{connect(0, reinterpret_cast<const sockaddr*>(&address), sizeof address)};
            }},
           {"running a program",
            [] {
              char* const nothing[] = {nullptr};
              return long{execve("/bin/true", nothing, nothing)};
            }},
           {"forking", [] { return long{fork()}; }},
           {"sending a signal to its parent", [] { return long{kill(getppid(), 0)}; }},
           {"tracing", [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
           {"creating a user namespace", [] { return long{unshare(CLONE_NEWUSER)}; }},
           {"mapping executable memory",
            [] {
              const void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return page == MAP_FAILED ? -1L : 0L;
            }},
       }) {
    EXPECT_EQ(attempted_inside(attempt), EPERM) << what;
  }
}

TEST(Confinement, AllowsWhatAnEvaluationNeeds) {
  EXPECT_EQ(attempted_inside([] {
              const std::string large(size_t{64} << 20, 'x');
              timespec now{};
              return large.back() == 'x' ? long{clock_gettime(CLOCK_REALTIME, &now)} : -1L;
            }),
            0);
}

TEST(Confinement, LetsAnAbortEndTheProcessBySigabrt) {
  const pid_t child = fork();
  if (child == 0) {
    limit_worker();
    if (refuse_system_calls()) abort();
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

TEST(Confinement, LimitsTheMemoryOfAJqWorker) {
  EXPECT_EQ(attempted_inside([] {
              const void* const all = mmap(nullptr, size_t{1} << 30, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return all == MAP_FAILED ? -1L : 0L;
            }),
            ENOMEM);
}

}  // namespace
}  // namespace millrace

#endif
