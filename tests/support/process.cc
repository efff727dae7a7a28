#include "tests/support/process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr Duration kLook{5};

/// What can be read of it: a process may end while its file is open, which an iterator over the
/// buffer throws for.
std::string read_text(const fs::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

struct ProcessState {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
};

/// Everything that runs; zombies are left out, since nothing may be there to reap them.
std::vector<ProcessState> running_processes() {
  std::vector<ProcessState> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error); entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = read_text(entry->path() / "stat");
    // `pid (name) state parent group …`; the name may hold blanks and brackets.
    std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    char state = 'Z';
    ProcessState process{.pid = std::atoi(name.c_str())};
    rest >> state >> process.parent >> process.group;
    if (state != 'Z' && state != 'X') found.push_back(process);
  }
  return found;
}

/// A file in memory that holds the text, read from its start.
int input_file(const std::string& text) {
  const int fd = ::memfd_create("input", MFD_CLOEXEC);
  CHECK(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
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
    std::string command = read_text(fmt::format("/proc/{}/cmdline", process.pid));
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
  std::vector<std::string> arguments = settings.command;
  std::vector<std::string> variables = environment_with(settings.environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  const int input = input_file(settings.input);
  int output[2];
  int errors[2];
  CHECK(::pipe2(output, O_CLOEXEC) == 0 && ::pipe2(errors, O_CLOEXEC) == 0);

  const pid_t parent = ::getpid();
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) {  // only calls that are safe between fork and exec
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    ::dup2(input, STDIN_FILENO);
    ::dup2(output[1], STDOUT_FILENO);
    ::dup2(errors[1], STDERR_FILENO);
    ::execvpe(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);  // whoever is first; the group exists from here on
  ::close(input);
  ::close(output[1]);
  ::close(errors[1]);
  output_.fd = output[0];
  errors_.fd = errors[0];
  output_reader_ = std::thread([this] { read(output_); });
  error_reader_ = std::thread([this] { read(errors_); });
}

Process::~Process() {
  ::kill(-pid_, SIGKILL);
  wait();
  output_reader_.join();
  error_reader_.join();
  ::close(output_.fd);
  ::close(errors_.fd);
}

void Process::signal(int number) const {
  CHECK(!code_, "the process has ended and been waited for");
  ::kill(pid_, number);
}

std::optional<int> Process::wait(Duration at_most) {
  if (code_) return code_;
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  CHECK(pidfd >= 0);
  pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
  const bool has_ended = ::poll(&ended, 1, static_cast<int>(at_most.count())) > 0;
  ::close(pidfd);
  if (!has_ended) return std::nullopt;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

void Process::read(Stream& stream) {
  char bytes[16384];
  while (true) {
    const ssize_t size = ::read(stream.fd, bytes, sizeof bytes);
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
  changed_.wait_for(lock, std::chrono::seconds(30), [&] {
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
                        [this](const ProcessState& one) { return one.group == pid_; });
  });
}

ProcessEnd run_process(const ProcessSettings& settings) {
  Process process(settings);
  const std::optional<int> code = process.wait(Duration(60'000));
  CHECK(code.has_value(), "{} does not end", fmt::join(settings.command, " "));
  // What it left running may keep the streams open; all that it wrote itself is in them by now.
  const bool nothing_left = process.group_ends();
  CHECK(nothing_left, "{} left something running", fmt::join(settings.command, " "));
  process.wait_for_streams();
  return {.code = *code, .output = process.output(), .errors = process.errors()};
}

}  // namespace millrace
