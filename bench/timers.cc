// Measures timers: a million durable timers, and many timers that are due at the same time.
#include <algorithm>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/engine_rig.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "bench/workflows.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/store/rows/event_rows.h"

namespace millrace {
namespace {

constexpr size_t kPending = 1'000'000;
constexpr size_t kBatch = 1'000;

TimePoint wall_clock() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

/// Delayed events, the simplest durable timers: each delayed event is a row of the store and a
/// timer in the timer wheel.
class DurableTimers {
 public:
  DurableTimers() {
    auto opened = Environment::open(folder_.path() / "data");
    CHECK(opened.has_value(), "{}", opened.error().message);
    environment_ = *std::move(opened);
    tx_.emplace(*environment_);
  }

  /// Arms `count` timers in one batch: the first timer is due at `first`, each further timer
  /// `apart` later.
  void arm(size_t count, TimePoint first, std::chrono::duration<double, std::milli> apart) {
    for (size_t i = 0; i < count; ++i) {
      const TimePoint at =
          first + std::chrono::duration_cast<Duration>(static_cast<double>(i) * apart);
      write_delayed(*tx_, ++last_, {.ns = NamespaceNumber(1), .at = at, .event = event_});
      waiting_.arm_delayed(last_, at);
    }
    commit();
  }

  /// Fires all timers that are due at `now`, in batches of at most kBatch, and returns them.
  const std::vector<TimerInput>& fire(TimePoint now) {
    due_.clear();
    waiting_.advance(now, due_);
    size_t in_batch = 0;
    for (const TimerInput& timer : due_) {
      CHECK(timer.deadline <= now, "a timer fired early");
      const uint64_t number = std::get<TimerInput::OfDelayedEvent>(timer.owner).number;
      const auto record = read_delayed(*tx_, number);
      CHECK(record.has_value() && record->has_value());
      erase_delayed(*tx_, number);
      if (++in_batch % kBatch == 0) commit();
    }
    commit();
    return due_;
  }

  size_t pending() const { return waiting_.timers(); }

 private:
  void commit() {
    const Status done = tx_->commit();
    CHECK(done.has_value(), "{}", done.error().message);
  }

  ScratchFolder folder_ = make_run_folder();
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
  BatchCount batches_;
  WaitIndex waiting_{batches_};
  std::vector<TimerInput> due_;
  std::string event_ = with_key("later", "1", "k");
  uint64_t last_ = 0;
};

void durable() {
  DurableTimers timers;
  const TimePoint start = wall_clock();
  const TimePoint later = start + std::chrono::hours(1);
  const Stopwatch arming;
  for (size_t i = 0; i < kPending; i += kBatch) {
    timers.arm(kBatch, later + Duration(static_cast<int64_t>(i / 100)),
               std::chrono::duration<double, std::milli>(0.01));
  }
  const double armed = kPending / arming.seconds();
  row("durable timers armed, batches of 1 000, up to 1 000 000", fmt::format("{:.0f}/s", armed));

  const Stopwatch firing;
  size_t fired = 0;
  for (TimePoint at = later; fired < kPending / 4; at += Duration(10)) {
    fired += timers.fire(at).size();
  }
  row("durable timers fired, batches of 1 000, of 1 000 000",
      fmt::format("{:.0f}/s", static_cast<double>(fired) / firing.seconds()));
}

/// Fires 10 000 timers a second, on the real clock.
void punctual() {
  constexpr size_t kCount = 50'000;
  DurableTimers timers;
  timers.arm(kCount, wall_clock() + std::chrono::seconds(1),
             std::chrono::duration<double, std::milli>(0.1));
  std::vector<double> late;
  while (timers.pending() > 0) {
    const auto& due = timers.fire(wall_clock());
    const TimePoint done = wall_clock();
    for (const TimerInput& timer : due) {
      late.push_back(static_cast<double>((done - timer.deadline).count()));
    }
    if (due.empty()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  row("timers at 10 000 a second, delay until on disk",
      fmt::format("p50 {:.0f} ms, p99 {:.0f} ms", percentile(late, 0.5), percentile(late, 0.99)),
      "never early (checked)");
}

/// Measures timeouts that a `catch` handles. After each timeout the instance generates an event.
void caught() {
  constexpr size_t kCount = 10'000;
  EngineRig rig;
  rig.apply(kTimeout);
  for (size_t i = 0; i < kCount; ++i) {
    rig.add("late.start", fmt::format("l{}", i), fmt::format("k{}", i));
    if (i % 1'000 == 999) rig.turn();
  }
  rig.run_until_idle();
  rig.advance(std::chrono::hours(2));
  const Stopwatch watch;
  rig.run_until_idle();
  const double seconds = watch.seconds();
  CHECK(rig.timeouts_reported() == kCount, "{} of {} timeouts generated an event",
        rig.timeouts_reported(), kCount);
  row("10 000 timeouts fire; each is caught and generates an event",
      fmt::format("{:.0f}/s", kCount / seconds));
}

/// Measures groups of an eventsAnd start: a first event opens a group; then a second event
/// completes the group, or the lifespan of the first event ends.
void groups() {
  constexpr size_t kCount = 1'000'000;
  EngineRig rig;
  rig.apply(kPair);
  const Stopwatch opening;
  for (size_t i = 0; i < kCount; ++i) {
    rig.add("pair.left", fmt::format("p{}", i), fmt::format("k{}", i));
    if (i % 1'000 == 999) rig.turn();
  }
  rig.run_until_idle();
  row("eventsAnd groups opened, up to 1 000 000",
      fmt::format("{:.0f}/s", kCount / opening.seconds()));
  const Stopwatch closing;
  for (size_t i = 0; i < 100'000; ++i) {
    rig.add("pair.right", fmt::format("q{}", i), fmt::format("k{}", i * 7919 % kCount));
    if (i % 1'000 == 999) rig.turn();
  }
  rig.run_until_idle();
  row("groups completed in random order, of 1 000 000",
      fmt::format("{:.0f}/s", 100'000 / closing.seconds()));
  rig.advance(std::chrono::hours(2));
  const Stopwatch ending;
  rig.run_until_idle();
  row("lifespans ended, of 900 000 open groups",
      fmt::format("{:.0f}/s", 900'000 / ending.seconds()));
}

}  // namespace

void timers() {
  durable();
  punctual();
  caught();
  groups();
}

}  // namespace millrace
