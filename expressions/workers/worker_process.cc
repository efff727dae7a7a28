#include "expressions/workers/worker_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expressions/workers/worker.h"

namespace millrace {
namespace {

/// What posix_spawn is told.
class SpawnPlan {
 public:
  explicit SpawnPlan(int worker_end) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, worker_end, kJqWorkerFd);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, kJqWorkerFd + 1);

    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    // A group of its own: Ctrl-C is for us, the workers are needed while we wind down.
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<WorkerProcess> WorkerProcess::start(std::span<const std::string> command) {
  if (command.empty()) return fail("jq.worker_start", "no command to start a jq worker with");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail("jq.worker_start",
                fmt::format("no socket for a jq worker: {}", std::strerror(errno)));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);

  std::vector<std::string> arguments(command.begin(), command.end());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  // libc looks for a time zone and libjq for ~/.jq; both are told where there is nothing.
  char time_zone[] = "TZ=UTC0";
  char home[] = "HOME=/dev/null";
  char* environment[] = {time_zone, home, nullptr};

  pid_t pid = -1;
  const SpawnPlan plan(ends[1]);
  const int error = posix_spawn(&pid, argv[0], plan.actions(), plan.attributes(), argv.data(),
                                static_cast<char**>(environment));
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return fail("jq.worker_start",
                fmt::format("cannot start the jq worker {}: {}", command[0], std::strerror(error)));
  }
  return WorkerProcess(ends[0], pid);
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), pid_(std::exchange(other.pid_, -1)) {}

WorkerProcess::~WorkerProcess() { end(); }

int WorkerProcess::end() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (pid_ < 0) return -1;
  // A process that is ending already keeps the status it ends with.
  kill(pid_, SIGKILL);
  int status = -1;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno == EINTR) continue;
    status = -1;
    break;
  }
  pid_ = -1;
  return status;
}

}  // namespace millrace
