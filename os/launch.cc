#include "os/launch.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Executes the program in the child. The function makes only calls that are safe between fork and
/// exec.
[[noreturn]] void execute(pid_t parent, const LaunchOptions& options, char* const* argv,
                          char* const* envp) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died before the prctl() call
  ::setsid();                             // keeps a Ctrl-C at the terminal from the child
  if (options.input >= 0) ::dup2(options.input, STDIN_FILENO);
  if (options.output >= 0) ::dup2(options.output, STDOUT_FILENO);
  if (options.errors >= 0) ::dup2(options.errors, STDERR_FILENO);
  // Libraries leave descriptors open that the child must not inherit.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const int kept : options.kept) ::fcntl(kept, F_SETFD, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execve(argv[0], argv, envp);
  ::_exit(127);
}

int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<LaunchedProcess> launch(LaunchOptions options) {
  const auto failed = [&](int why) {
    return fail("process.start",
                fmt::format("{}: {}", options.command.front(), std::strerror(why)));
  };
  const std::vector<char*> argv = pointers(options.command);
  std::vector<char*> variables;
  if (options.environment) variables = pointers(*options.environment);
  char* const* const envp = options.environment ? variables.data() : environ;

  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) execute(parent, options, argv.data(), envp);
  if (child < 0) return failed(errno);
  LaunchedProcess process{
      .pid = child, .pidfd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)))};
  if (process.pidfd) return process;
  const int why = errno;  // such as EMFILE; without a pidfd the child's end could not be noticed
  kill_process(process);
  return failed(why);
}

std::optional<int> wait_for_end(const LaunchedProcess& process, Duration at_most) {
  pollfd ended{.fd = process.pidfd.fd(), .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, static_cast<int>(at_most.count())) <= 0) return std::nullopt;
  return reap(process.pid);
}

void kill_process(const LaunchedProcess& process) {
  ::kill(process.pid, SIGKILL);
  reap(process.pid);
}

}  // namespace millrace
