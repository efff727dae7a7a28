// FewDescriptors: while an object of this class exists, this process can open only a few more file
// descriptors.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"

namespace millrace {

class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    CHECK(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(lowest >= 0);
    ::close(lowest);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(lowest) + more;
    CHECK(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace millrace
