#include "os/crash_point.h"

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>

#include <unistd.h>

#include "base/check.h"

namespace millrace {
namespace {

/// What MILLRACE_CRASH asks for; without it no point is the one.
struct Plan {
  Plan() {
    const char* const text = std::getenv("MILLRACE_CRASH");
    if (text == nullptr) return;
    const std::string_view plan(text);
    const size_t colon = plan.find(':');
    const std::string_view name = plan.substr(0, colon);
    const std::string_view hit = colon == plan.npos ? std::string_view() : plan.substr(colon + 1);
    for (const CrashPointName& known : kCrashPoints) {
      if (known.name == name) point = known.point;
    }
    std::from_chars(hit.data(), hit.data() + hit.size(), passings);
    if (hit.ends_with(":fault")) signal = SIGSEGV;
    CHECK(point && passings > 0, "MILLRACE_CRASH={} names no crash point and passing", plan);
  }

  std::optional<CrashPoint> point;
  int64_t passings = 0;
  int signal = SIGKILL;
};

}  // namespace

void crash_point(CrashPoint point) {
  static const Plan plan;
  static std::atomic<int64_t> left = plan.passings;
  if (plan.point == point && --left == 0) ::raise(plan.signal);
}

}  // namespace millrace
