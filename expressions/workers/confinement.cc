#include "expressions/workers/confinement.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace millrace {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr rlim_t kMaxMemory = rlim_t{512} << 20;

void limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  setrlimit(resource, &both);
}

/// An allowlist of system calls. After the first error nothing more is added, and load() returns
/// that error.
class Filter {
 public:
  Filter() : filter_(seccomp_init(SCMP_ACT_ERRNO(EPERM))) {}
  ~Filter() { seccomp_release(filter_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  template <class... Conditions>
  void allow(int call, Conditions... conditions) {
    if (error_ == 0) {
      error_ =
          seccomp_rule_add(filter_, SCMP_ACT_ALLOW, call, sizeof...(conditions), conditions...);
    }
  }

  Status load() {
    if (error_ == 0) error_ = seccomp_load(filter_);
    if (error_ == 0) return {};
    return fail("jq.confine",
                fmt::format("cannot restrict the system calls: {}", std::strerror(-error_)));
  }

 private:
  scmp_filter_ctx filter_;
  int error_ = 0;
};

}  // namespace

void limit_worker() {
  // A jq program in a loop would not notice that the socket is closed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  if (kSanitized) return;  // sanitizers reserve terabytes, and check memory through a pipe
  limit(RLIMIT_AS, kMaxMemory);
  limit(RLIMIT_NOFILE, 0);
}

Status refuse_system_calls() {
  if (kSanitized) return {};
  Filter filter;
  // Allowed for the socket, and for the message that libc writes to /dev/null before it aborts.
  for (const int call : {SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(write)}) {
    filter.allow(call);
  }
  // Allowed for memory, but not for executable memory.
  for (const int call : {SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise)}) {
    filter.allow(call);
  }
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    filter.allow(call, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  }
  // Allowed for reading the time on machines where the kernel does not provide the time in memory
  // (vDSO).
  for (const int call : {SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time)}) {
    filter.allow(call);
  }
  filter.allow(SCMP_SYS(getrandom));  // libjq seeds its hashes
  filter.allow(SCMP_SYS(futex));      // libjq seeds them with pthread_once
  // Allowed for the end of the process, also by abort().
  for (const int call : {SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigprocmask),
                         SCMP_SYS(getpid), SCMP_SYS(gettid)}) {
    filter.allow(call);
  }
  filter.allow(SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(getpid())),
               SCMP_A2(SCMP_CMP_EQ, SIGABRT));
  // Allowed for resuming after a stop signal.
  for (const int call : {SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigreturn)}) filter.allow(call);
  return filter.load();
}

}  // namespace millrace
