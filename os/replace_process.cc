#include "os/replace_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <linux/close_range.h>
#include <unistd.h>

#include "os/read_file.h"

namespace millrace {
namespace {

/// The most bytes of a command line; Linux permits fewer.
constexpr size_t kMostBytes = size_t{16} << 20;

}  // namespace

Status replace_process() {
  std::string line = TRY(read_file("/proc/self/cmdline", kMostBytes));
  std::vector<char*> arguments;
  for (size_t at = 0; at < line.size(); at += std::strlen(line.data() + at) + 1) {
    arguments.push_back(line.data() + at);
  }
  arguments.push_back(nullptr);
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  sigset_t none{};
  sigemptyset(&none);
  sigset_t before{};
  pthread_sigmask(SIG_SETMASK, &none, &before);
  ::execv("/proc/self/exe", arguments.data());
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return fail("process.replace", fmt::format("the process could not start its program again: {}",
                                             std::strerror(error)));
}

}  // namespace millrace
