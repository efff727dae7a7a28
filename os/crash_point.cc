#include "os/crash_point.h"

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>

#include <unistd.h>

#include "base/check.h"

namespace millrace {
namespace {

/// The crash that MILLRACE_CRASH requests; without that variable `point` is empty.
struct Plan {
  Plan() {
    const char* const text = std::getenv("MILLRACE_CRASH");
    if (text == nullptr) return;
    const std::string_view plan(text);
    const size_t colon = plan.find(':');
    const std::string_view name = plan.substr(0, colon);
    const std::string_view hit = colon == plan.npos ? std::string_view() : plan.substr(colon + 1);
    find(kCrashPoints, name);
    find(kClusterCrashPoints, name);
    std::from_chars(hit.data(), hit.data() + hit.size(), passings);
    if (hit.ends_with(":fault")) signal = SIGSEGV;
    if (hit.ends_with(":stop")) signal = SIGSTOP;
    CHECK(point && passings > 0,
          "MILLRACE_CRASH={}: expected NAME:HIT, the name of a crash point and a number from 1",
          plan);
  }

  void find(std::span<const CrashPointName> points, std::string_view name) {
    for (const CrashPointName& known : points) {
      if (known.name == name) point = known.point;
    }
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
