#include "expressions/workers/launcher.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "expressions/workers/child.h"

namespace millrace {
namespace {

// The messages: one per packet, in native byte order, since both ends are the same binary.

struct Order {
  enum class Kind : uint8_t { kStart, kStartInBackground, kKill };
  Kind kind = Kind::kKill;
  uint32_t worker = 0;
};

/// The packet of a Notice. The socket of the notice is sent as the descriptor of the packet.
struct Report {
  JqLauncher::Notice::Kind kind = JqLauncher::Notice::Kind::kEnded;
  uint32_t worker = 0;
  int number = 0;
};

/// A packet, with space for one descriptor that is sent with it.
template <class T>
class Packet {
 public:
  explicit Packet(T* content) : part_{content, sizeof *content} {
    message_.msg_iov = &part_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_;
    message_.msg_controllen = sizeof control_;
  }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  void attach(int fd) {
    cmsghdr* header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  void attach_nothing() { message_.msg_controllen = 0; }

  Descriptor attached() {
    const cmsghdr* header = CMSG_FIRSTHDR(&message_);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return Descriptor(fd);
  }

  msghdr* message() { return &message_; }

 private:
  iovec part_;
  msghdr message_{};
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(int))]{};
};

class LauncherProcess {
 public:
  explicit LauncherProcess(Descriptor program) : program_(std::move(program)) {
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, nullptr);
    worker_ended_ = Descriptor(signalfd(-1, &ended, SFD_CLOEXEC));
  }

  /// Serves until millrace closes its end of the socket.
  void serve() {
    while (true) {
      pollfd fds[] = {{program_.fd(), POLLIN, 0}, {worker_ended_.fd(), POLLIN, 0}};
      if (poll(fds, std::size(fds), -1) < 0) continue;
      if (fds[1].revents != 0) reap();
      if (fds[0].revents == 0) continue;
      Order order;
      const ssize_t size = recv(program_.fd(), &order, sizeof order, 0);
      if (size < 0 && errno == EINTR) continue;
      if (size != sizeof order) return end_workers();
      obey(order);
    }
  }

 private:
  void obey(const Order& order) {
    if (order.kind == Order::Kind::kKill) {
      const auto known = pids_.find(order.worker);
      if (known != pids_.end()) kill(known->second, SIGKILL);
      return;
    }
    const bool is_background = order.kind == Order::Kind::kStartInBackground;
    Result<Child> child = start_child(
        "/proc/self/exe", is_background ? kBackgroundWorkerVerb : kWorkerVerb, SOCK_STREAM);
    if (!child) {
      return report({JqLauncher::Notice::Kind::kNotStarted, order.worker, errno}, {});
    }
    // The niceness is added to that of the millrace process, so that jq workers have a lower
    // priority than millrace even if it runs under `nice`.
    setpriority(PRIO_PROCESS, static_cast<id_t>(child->pid),
                getpriority(PRIO_PROCESS, 0) +
                    (is_background ? kBackgroundJqWorkerNiceness : kJqWorkerNiceness));
    pids_[order.worker] = child->pid;
    report({JqLauncher::Notice::Kind::kStarted, order.worker, child->pid}, child->socket);
  }

  void reap() {
    signalfd_siginfo ignored;
    if (read(worker_ended_.fd(), &ignored, sizeof ignored) < 0) return;
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto known = std::find_if(pids_.begin(), pids_.end(),
                                      [pid](const auto& one) { return one.second == pid; });
      if (known == pids_.end()) continue;
      report({JqLauncher::Notice::Kind::kEnded, known->first, status}, {});
      pids_.erase(known);
    }
  }

  /// Sends a notice. Errors are ignored: if the millrace process has ended, serve() notices that
  /// when it reads the next order.
  void report(Report report, const Descriptor& worker) {
    Packet packet(&report);
    if (worker) {
      packet.attach(worker.fd());
    } else {
      packet.attach_nothing();
    }
    while (sendmsg(program_.fd(), packet.message(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
  }

  void end_workers() {
    for (const auto& [worker, pid] : pids_) kill(pid, SIGKILL);
    while (wait(nullptr) > 0 || errno == EINTR) {
    }
  }

  Descriptor program_;
  Descriptor worker_ended_;
  std::map<uint32_t, pid_t> pids_;  // by the jq worker's number
};

tl::unexpected<Error> launcher_gone() {
  return fail("jq.launcher", "the launcher of the jq workers has ended");
}

/// Sends an order without waiting: a launcher whose socket cannot take a few bytes is treated as
/// ended.
Status send_order(const Descriptor& launcher, Order order) {
  const ssize_t sent = send(launcher.fd(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != sizeof order) return launcher_gone();
  return {};
}

}  // namespace

Result<JqLauncher> JqLauncher::start(std::string program) {
  Child child = TRY(start_child(program, kLauncherVerb, SOCK_SEQPACKET));
  return JqLauncher(std::move(program), child.pid, std::move(child.socket));
}

JqLauncher::JqLauncher(JqLauncher&& other) noexcept
    : program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)) {}

JqLauncher::~JqLauncher() {
  if (pid_ < 0) return;
  socket_.reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status JqLauncher::start_worker(uint32_t worker, bool background) {
  return send_order(socket_,
                    {background ? Order::Kind::kStartInBackground : Order::Kind::kStart, worker});
}

Status JqLauncher::kill_worker(uint32_t worker) {
  return send_order(socket_, {Order::Kind::kKill, worker});
}

Result<std::optional<JqLauncher::Notice>> JqLauncher::next() {
  Report report;
  Packet packet(&report);
  ssize_t size = -1;
  do {
    size = recvmsg(socket_.fd(), packet.message(), MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return std::nullopt;
  if (size != sizeof report) return launcher_gone();
  return Notice{report.kind, report.worker, report.number, packet.attached()};
}

int run_jq_launcher(Descriptor program) {
  leave_signals_to_the_program();
  LauncherProcess(std::move(program)).serve();
  return 0;
}

}  // namespace millrace
