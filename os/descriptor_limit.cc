#include "os/descriptor_limit.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/resource.h>

namespace millrace {

Status raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return fail("system.descriptors",
                fmt::format("cannot read the limit of open files: {}", std::strerror(errno)));
  }
  if (limit.rlim_max < kLeastDescriptors) {
    return fail(
        "system.descriptors",
        fmt::format("this process may open {} files, and a server needs {}: raise the limit "
                    "(`ulimit -n` in the shell, LimitNOFILE= in the systemd unit)",
                    limit.rlim_max, kLeastDescriptors));
  }
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, kMostDescriptors);
  if (limit.rlim_cur >= wanted) return {};
  limit.rlim_cur = wanted;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return fail("system.descriptors", fmt::format("cannot raise the limit of open files to {}: {}",
                                                  wanted, std::strerror(errno)));
  }
  return {};
}

}  // namespace millrace
