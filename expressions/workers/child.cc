#include "expressions/workers/child.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>

namespace millrace {
namespace {

/// The file actions and attributes for posix_spawn.
class SpawnPlan {
 public:
  explicit SpawnPlan(int childs_end) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, childs_end, kChildFd);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, kChildFd + 1);

    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
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

Result<Child> start_child(const std::string& program, const char* verb, int socket_type) {
  int ends[2];
  if (socketpair(AF_UNIX, socket_type | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail("jq.start",
                fmt::format("cannot create a socket for a {}: {}", verb, std::strerror(errno)));
  }
  Child child{.socket = Descriptor(ends[0])};
  const Descriptor childs_end(ends[1]);
  const SpawnPlan plan(childs_end.fd());
  std::string name = "millrace";
  std::string part = verb;
  char* arguments[] = {name.data(), part.data(), nullptr};
  char* environment[] = {nullptr};
  const int error = posix_spawn(&child.pid, program.c_str(), plan.actions(), plan.attributes(),
                                static_cast<char**>(arguments), static_cast<char**>(environment));
  if (error != 0) {
    errno = error;
    return fail("jq.start",
                fmt::format("cannot start the {} {}: {}", verb, program, std::strerror(error)));
  }
  return child;
}

void leave_signals_to_the_program() {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) std::signal(number, SIG_IGN);
}

}  // namespace millrace
