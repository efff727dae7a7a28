#include "tests/support/process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "os/programs.h"
#include "tests/support/file_bytes.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr Duration kLook{5};

struct ProcessState {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
};

/// All running processes. Zombies are left out, because there may be no process that reaps them.
std::vector<ProcessState> running_processes() {
  std::vector<ProcessState> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error); entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = file_bytes(entry->path() / "stat");
    // `pid (name) state parent group …`; the name may contain blanks and brackets.
    std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    char state = 'Z';
    ProcessState process{.pid = std::atoi(name.c_str())};
    rest >> state >> process.parent >> process.group;
    if (state != 'Z' && state != 'X') found.push_back(process);
  }
  return found;
}

/// A file in memory that has the text; the descriptor is at the start of the file.
Descriptor input_file(const std::string& text) {
  Descriptor file(::memfd_create("input", MFD_CLOEXEC));
  CHECK(file && ::write(file.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::lseek(file.fd(), 0, SEEK_SET);
  return file;
}

/// The two ends of a stream. A write to an end whose other end is closed can be made without a
/// SIGPIPE.
std::pair<Descriptor, Descriptor> make_stream_ends() {
  int ends[2];
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe make_pipe() {
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  return {.read = Descriptor(ends[0]), .write = Descriptor(ends[1])};
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> list;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) list.push_back(text);
  }
  for (const auto& [name, value] : changes) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

}  // namespace

bool eventually(const std::function<bool()>& condition, Duration at_most) {
  const auto deadline = steady_clock::now() + at_most;
  while (!condition()) {
    if (steady_clock::now() >= deadline) return false;
    ::poll(nullptr, 0, static_cast<int>(kLook.count()));
  }
  return true;
}

std::vector<pid_t> processes_with(std::string_view text) {
  std::vector<pid_t> found;
  for (const ProcessState& process : running_processes()) {
    std::string command = file_bytes(fmt::format("/proc/{}/cmdline", process.pid));
    std::replace(command.begin(), command.end(), '\0', ' ');
    if (command.find(text) != std::string::npos) found.push_back(process.pid);
  }
  return found;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const ProcessState& process : running_processes()) {
    if (process.parent == parent) found.push_back(process.pid);
  }
  return found;
}

Process::Process(const ProcessSettings& settings) {
  std::vector<std::string> command = settings.command;
  // If the program is missing, the child ends with the exit code that a shell has in this case.
  if (const std::string program = find_program(command.front()); !program.empty()) {
    command.front() = program;
  }
  Descriptor input;
  if (settings.keeps_input_open) {
    std::tie(input, input_) = make_stream_ends();
    CHECK(write(settings.input));
  } else {
    input = input_file(settings.input);
  }
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  Result<LaunchedProcess> process = launch({.command = std::move(command),
                                            .environment = environment_with(settings.environment),
                                            .input = input.fd(),
                                            .output = output.write.fd(),
                                            .errors = errors.write.fd()});
  CHECK(process.has_value(), "{}", process.error().message);
  process_ = *std::move(process);
  output_.file = std::move(output.read);
  errors_.file = std::move(errors.read);
  output_reader_ = std::thread([this] { read(output_); });
  error_reader_ = std::thread([this] { read(errors_); });
}

Process::~Process() {
  if (!code_) ::kill(pid(), SIGKILL);  // kills only this process, which may have no group yet
  ::kill(-pid(), SIGKILL);
  wait();
  output_reader_.join();
  error_reader_.join();
}

void Process::signal(int number) const {
  CHECK(!code_, "the process has ended");
  ::kill(pid(), number);
}

bool Process::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t size = ::send(input_.fd(), text.data(), text.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    text.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

std::optional<int> Process::wait(Duration at_most) {
  if (!code_) code_ = wait_for_end(process_, at_most);
  return code_;
}

void Process::read(Stream& stream) {
  char bytes[16384];
  while (true) {
    const ssize_t size = ::read(stream.file.fd(), bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    if (size <= 0) {
      stream.ended = true;
      return;
    }
    stream.text.append(bytes, static_cast<size_t>(size));
  }
}

std::string Process::output() const {
  const std::lock_guard lock(mutex_);
  return output_.text;
}

std::string Process::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_.text;
}

std::optional<std::string> Process::error_line(std::string_view text) {
  std::optional<std::string> line;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [&] {
    const std::string& all = errors_.text;
    const size_t at = all.find(text);
    const size_t end = at == std::string::npos ? at : all.find('\n', at);
    if (end == std::string::npos) return errors_.ended;
    const size_t begin = all.rfind('\n', at) + 1;  // npos + 1: the first line
    line = all.substr(begin, end - begin);
    return true;
  });
  return line;
}

void Process::wait_for_streams() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return output_.ended && errors_.ended; });
}

bool Process::group_ends() const {
  return eventually([this] {
    const std::vector<ProcessState> all = running_processes();
    return std::none_of(all.begin(), all.end(),
                        [this](const ProcessState& one) { return one.group == pid(); });
  });
}

ProcessEnd run_process(const ProcessSettings& settings) {
  Process process(settings);
  const std::optional<int> code = process.wait();
  CHECK(code.has_value(), "{} did not end", fmt::join(settings.command, " "));
  // A process that still runs may keep the streams open. But the output of the program itself is
  // complete.
  const bool nothing_left = process.group_ends();
  CHECK(nothing_left, "{} left a running process", fmt::join(settings.command, " "));
  process.wait_for_streams();
  return {.code = *code, .output = process.output(), .errors = process.errors()};
}

}  // namespace millrace
