// Measures the processor time of the engine thread for a durable lifecycle, and the time for
// reading an event.
#include <fmt/format.h>

#include "base/check.h"
#include "bench/engine_rig.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

void run(size_t batch, size_t rounds) {
  EngineRig rig;
  rig.apply(kLifecycle);
  rig.turning = 0;
  for (size_t round = 0; round < rounds; ++round) {
    const auto add = [&](std::string_view type) {
      for (size_t i = 0; i < batch; ++i) {
        const std::string key = fmt::format("{}-{}", round, i);
        rig.add(type, fmt::format("{}-{}", type, key), key);
      }
    };
    add("life.start");
    rig.add_echoes();
    rig.turn();
    add("life.go");
    rig.turn();
    CHECK(rig.published() == batch, "{} of {} lifecycles ended", rig.published(), batch);
  }
  row(fmt::format("engine thread, one lifecycle, {} at a time", batch),
      fmt::format("{:.1f} us", rig.turning / static_cast<double>(batch * rounds) * 1e6),
      fmt::format("reading an event {:.2f} us",
                  rig.decoding / static_cast<double>(rig.events) * 1e6));
}

}  // namespace

void engine_path() {
  run(64, 150);
  run(512, 30);
}

}  // namespace millrace
