#include "os/child_process.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace millrace {
namespace {

/// At most this many reads of one stream in each poll(), so that a child that floods its output
/// does not delay the other work of the thread.
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
  LaunchedProcess launched = TRY(launch({.command = std::move(start.command),
                                         .environment = std::move(start.environment),
                                         .input = input.fd(),
                                         .output = output->write.fd(),
                                         .errors = errors->write.fd()}));
  std::unique_ptr<ChildProcess> process(new ChildProcess(std::move(launched)));
  process->output_ = {std::move(output->read), std::move(start.output)};
  process->errors_ = {std::move(errors->read), std::move(start.errors)};
  return process;
}

ChildProcess::~ChildProcess() {
  if (!code_) kill_process(process_);
}

void ChildProcess::wait_for(std::vector<pollfd>& list) const {
  for (const Descriptor* const file : {&process_.pidfd, &output_.file, &errors_.file}) {
    if (*file) list.push_back({.fd = file->fd(), .events = POLLIN, .revents = 0});
  }
}

std::optional<int> ChildProcess::poll() {
  if (code_) return code_;
  // The end of the child is checked before the streams are read: a child that has ended has written
  // all its output into the streams. A process that the child left behind may hold the streams
  // open, so poll() does not wait until they are closed; output that comes later is not the child's
  // own.
  code_ = wait_for_end(process_, Duration(0));
  output_.read();
  errors_.read();
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
