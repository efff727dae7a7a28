#include "os/core_dumps.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace millrace {

Status forbid_core_dumps() {
  // The limit counts for files only: a program that the system starts for a crash gets the core
  // dump whatever the limit is, unless the process is not dumpable.
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  if (::setrlimit(RLIMIT_CORE, &none) == 0 && ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) return {};
  return fail("process.core_dumps",
              fmt::format("core dumps cannot be turned off: {}; allow prctl and setrlimit, or use "
                          "--core-dumps on",
                          std::strerror(errno)));
}

}  // namespace millrace
