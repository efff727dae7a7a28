// Measures starts that wait for a slot: what a start costs the engine thread, from the event that
// asks for it to its end, while few starts and while many starts wait.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/engine_rig.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "bench/workflows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

constexpr size_t kKeys = 1'000;
constexpr size_t kBatch = 500;
constexpr int kRounds = 60;

/// A workflow with one slot for each key.
constexpr const char* kQueued = R"(
id: queued
concurrency: {limit: 1, key: 'jq(.["queued.start"].key)'}
start:
  type: event
  event:
    type: queued.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: queued.go
      context:
        key: jq(.["queued.start"].key)
)";

/// A store in which the same number of starts waits before each round.
class QueuedStarts {
 public:
  /// `waiting` is a multiple of kKeys. As many instances as there are keys hold the slots.
  explicit QueuedStarts(size_t waiting) : expected_(kKeys + waiting) {
    rig_.apply(kQueued);
    rig_.apply(kLifecycle);
    while (made_ < expected_) add_starts(kBatch);
    rig_.run_until_idle();
  }

  /// Adds starts of half of the keys, and ends the instances that hold the slots of these keys.
  /// Returns the processor time of the engine thread for one of them, in microseconds.
  double start_and_end() {
    rig_.turning = 0;
    const size_t first = made_;
    add_starts(kBatch);
    for (size_t i = 0; i < kBatch; ++i) send("queued.go", key_of(first + i));
    rig_.run_until_idle();
    return rig_.turning / static_cast<double>(kBatch) * 1e6;
  }

  /// Lifecycles of a workflow without limits. The result is as that of start_and_end().
  double lifecycles() {
    rig_.turning = 0;
    const size_t first = ids_;
    for (const char* const type : {"life.start", "life.go"}) {
      for (size_t i = 0; i < kBatch; ++i) send(type, fmt::format("l{}", first + i));
      rig_.run_until_idle();
    }
    return rig_.turning / static_cast<double>(kBatch) * 1e6;
  }

  /// Checks that each round has ended as many instances as it has started.
  void check() {
    const auto snapshot = Snapshot::take(rig_.store());
    CHECK(snapshot.has_value(), "{}", snapshot.error().message);
    size_t live = 0;
    const Status read = each_live(*snapshot, [&](const Instance&) { ++live; });
    CHECK(read.has_value(), "{}", read.error().message);
    CHECK(live == expected_, "{} instances instead of {}", live, expected_);
  }

 private:
  static std::string key_of(size_t number) { return fmt::format("k{}", number % kKeys); }

  void send(std::string_view type, const std::string& key) {
    rig_.add(type, fmt::format("e{}", ++ids_), key);
  }

  void add_starts(size_t count) {
    for (size_t i = 0; i < count; ++i) send("queued.start", key_of(made_++));
    rig_.turn();
  }

  const size_t expected_;
  EngineRig rig_;
  size_t made_ = 0;
  size_t ids_ = 0;
};

void print_pair(const std::string& what, const std::vector<double>& few,
                const std::vector<double>& many) {
  std::vector<double> ratios;
  for (size_t i = 0; i < few.size(); ++i) ratios.push_back(many[i] / few[i]);
  row(what, fmt::format("{:.1f} us", percentile(many, 0.5)),
      fmt::format("with 1 000 waiting {:.1f} us: {:.2f}", percentile(few, 0.5),
                  percentile(ratios, 0.5)));
}

}  // namespace

void queues() {
  constexpr size_t kFew = 1'000;
  // A round adds kBatch starts to the quota of 100 000.
  constexpr size_t kMany = 99'000;
  QueuedStarts few(kFew);
  QueuedStarts many(kMany);
  std::vector<double> starts[2];
  std::vector<double> lifecycles[2];
  for (int i = 0; i < kRounds; ++i) {
    starts[0].push_back(few.start_and_end());
    starts[1].push_back(many.start_and_end());
    lifecycles[0].push_back(few.lifecycles());
    lifecycles[1].push_back(many.lifecycles());
  }
  few.check();
  many.check();
  print_pair("engine thread, a start that waits, and its end, 99 000 waiting", starts[0],
             starts[1]);
  print_pair("  a lifecycle of another workflow beside them", lifecycles[0], lifecycles[1]);
}

}  // namespace millrace
