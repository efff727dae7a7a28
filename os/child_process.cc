#include "os/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace {
namespace {

/// So much of a stream is read in one look at most, so that one that floods us stops nobody else.
constexpr int kReadsInALook = 16;

struct Pipe {
  Descriptor read;
  Descriptor write;
};

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool has_ended(int pidfd) {
  pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) > 0;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(Start start) {
  const auto failed = [&] {
    return fail("process.start",
                fmt::format("{}: {}", start.command.front(), std::strerror(errno)));
  };
  const std::string& from = start.input.empty() ? "/dev/null" : start.input;
  const Descriptor input(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  std::optional<Pipe> output = make_pipe();
  std::optional<Pipe> errors = make_pipe();
  if (!input || !output || !errors) return failed();
  std::vector<char*> argv;
  for (std::string& part : start.command) argv.push_back(part.data());
  argv.push_back(nullptr);

  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {  // only calls that are safe between fork and exec
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it died before the line above
    ::setsid();                             // a Ctrl-C at the terminal is ours to hand on
    ::dup2(input.fd(), STDIN_FILENO);
    ::dup2(output->write.fd(), STDOUT_FILENO);
    ::dup2(errors->write.fd(), STDERR_FILENO);
    // Libraries leave descriptors open that are not meant for anybody else.
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  if (child < 0) return failed();
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!pidfd) {  // out of descriptors, say: its end could not be noticed
    const int why = errno;
    end(child);
    errno = why;
    return failed();
  }
  std::unique_ptr<ChildProcess> process(new ChildProcess(child, std::move(pidfd)));
  process->output_ = {std::move(output->read), std::move(start.output)};
  process->errors_ = {std::move(errors->read), std::move(start.errors)};
  return process;
}

ChildProcess::~ChildProcess() {
  if (!code_) end(pid_);
}

void ChildProcess::wait_for(std::vector<pollfd>& list) const {
  for (const Descriptor* const file : {&pidfd_, &output_.file, &errors_.file}) {
    if (*file) list.push_back({.fd = file->fd(), .events = POLLIN, .revents = 0});
  }
}

std::optional<int> ChildProcess::look() {
  if (code_) return code_;
  const bool over = has_ended(pidfd_.fd());  // asked first: what is read then is the whole
  output_.read();
  errors_.read();
  // Something that it has left behind may hold the streams open: what is not in them by now is not
  // its own.
  if (!over) return std::nullopt;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

void ChildProcess::Stream::read() {
  std::array<char, 65536> bytes;
  for (int i = 0; file && i < kReadsInALook; ++i) {
    const ssize_t count = ::read(file.fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return file.reset();
    if (heard) heard(std::string_view(bytes.data(), static_cast<size_t>(count)));
  }
}

}  // namespace millrace
