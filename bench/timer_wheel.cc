// Measures the timer wheel with a million timers. The comparison is a std::multimap behind the same
// interface.
#include <map>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "orchestrator/timers/wheel.h"

namespace millrace {
namespace {

constexpr size_t kPending = 1'000'000;
constexpr size_t kReplaced = 1'000'000;
constexpr int64_t kSpan = 3'600'000;  // an hour, in milliseconds
constexpr int64_t kTurn = 10;         // the time of one batch, in milliseconds

/// A multimap with the interface of the wheel.
class Ordered {
 public:
  using Handle = std::multimap<TimePoint, TimerKey>::iterator;

  Handle arm(TimePoint deadline, TimerKey key) { return timers_.emplace(deadline, key); }
  void cancel(Handle handle) { timers_.erase(handle); }
  void advance(TimePoint now, std::vector<Due>& due) {
    const auto end = timers_.upper_bound(now);
    for (auto timer = timers_.begin(); timer != end; ++timer) {
      due.push_back({timer->first, timer->second});
    }
    timers_.erase(timers_.begin(), end);
  }

 private:
  std::multimap<TimePoint, TimerKey> timers_;
};

struct Figures {
  double armed = 0;     ///< timers a second
  double replaced = 0;  ///< timers a second that are cancelled and armed again
  double fired = 0;     ///< timers a second
  double bytes = 0;     ///< bytes of memory for each timer
};

template <class Timers>
Figures measure() {
  std::mt19937_64 random(1);
  const auto deadline = [&] { return from_millis(1 + static_cast<int64_t>(random() % kSpan)); };
  std::vector<typename Timers::Handle> handles(kPending);
  std::vector<Due> due;
  Figures figures;

  const size_t before = heap_bytes();
  Timers timers;
  const Stopwatch arming;
  for (size_t i = 0; i < kPending; ++i) handles[i] = timers.arm(deadline(), i);
  figures.armed = kPending / arming.seconds();
  figures.bytes = static_cast<double>(heap_bytes() - before) / kPending;

  const Stopwatch replacing;
  for (size_t i = 0; i < kReplaced; ++i) {
    auto& handle = handles[random() % kPending];
    timers.cancel(handle);
    handle = timers.arm(deadline(), i);
  }
  figures.replaced = kReplaced / replacing.seconds();

  size_t fired = 0;
  const Stopwatch firing;
  for (int64_t now = 0; now <= kSpan; now += kTurn) {
    due.clear();
    timers.advance(from_millis(now), due);
    fired += due.size();
  }
  figures.fired = kPending / firing.seconds();
  CHECK(fired == kPending, "{} timers fired", fired);
  return figures;
}

/// For each figure, the best result of several measurements.
template <class Timers>
Figures best() {
  Figures best;
  for (int run = 0; run < 5; ++run) {
    const Figures one = measure<Timers>();
    best = {std::max(best.armed, one.armed), std::max(best.replaced, one.replaced),
            std::max(best.fired, one.fired), one.bytes};
  }
  return best;
}

}  // namespace

void timer_wheel() {
  const Figures wheel = best<Wheel>();
  const Figures ordered = best<Ordered>();
  const auto compared = [](const char* what, double ours, double theirs) {
    row(what, fmt::format("{:.2f} M/s", ours / 1e6),
        fmt::format("std::multimap {:.2f} M/s: {:.1f}", theirs / 1e6, ours / theirs));
  };
  compared("timers armed, up to 1 000 000 of them", wheel.armed, ordered.armed);
  compared("timers cancelled and armed again, of 1 000 000", wheel.replaced, ordered.replaced);
  compared("timers fired, of 1 000 000 in an hour, 10 ms a batch", wheel.fired, ordered.fired);
  row("memory of a timer", fmt::format("{:.0f} B", wheel.bytes),
      fmt::format("std::multimap {:.0f} B", ordered.bytes));
}

}  // namespace millrace
