// Measures how much a faulty workflow, or an event for very many instances, slows other workflows
// down.
#include <fmt/format.h>

#include "bench/harness.h"
#include "bench/lifecycles.h"
#include "bench/rows.h"
#include "bench/workflows.h"

namespace millrace {

/// Lifecycles alone, and at the same time as two workflows whose jq programs never end.
void isolation() {
  constexpr size_t kInFlight = 100;
  constexpr size_t kCount = 10'000;
  Site site;
  MillraceProcess process(site.folder() / "data", site.broker->url());
  process.start();
  process.apply(kLifecycle, "life");
  process.apply(kThinking, "thinking");
  const auto measure = [&](const std::string& when) {
    for (const char* workflow : {"life", "thinking"}) {
      const Lifecycles took = run_lifecycles(
          site, process.pid(),
          {.workflow = workflow, .run = when, .in_flight = kInFlight, .count = kCount});
      row(fmt::format("lifecycle {}, 100 in flight, {}",
                      workflow == std::string_view("life") ? "in the fast lane" : "by jq workers",
                      when),
          fmt::format("{:.0f}/s", took.rate()), took.percentiles());
    }
  };
  measure("alone");
  PlainClient client(site.broker->url());
  for (const char* looping : {"loop1", "loop2"}) {
    process.apply(fmt::format(fmt::runtime(kLooping), looping), looping);
    for (int i = 0; i < 10; ++i) {
      client.publish(kBenchSubject, with_key(fmt::format("{}.start", looping),
                                             fmt::format("{}-{}", looping, i), "k"));
    }
  }
  client.flush();
  measure("beside two workflows that loop");
}

/// One event that wakes 100 000 instances, and the lifecycles of another workflow at the same time.
void crowd() {
  constexpr size_t kCount = 100'000;
  Site site;
  MillraceProcess process(site.folder() / "data", site.broker->url());
  process.start();
  process.apply(kLifecycle, "life");
  process.apply(kCrowd, "crowd");
  PlainClient client(site.broker->url());
  for (size_t i = 0; i < kCount; ++i) {
    client.publish(kBenchSubject, with_key("crowd.start", fmt::format("c{}", i), "k"));
    if (i % 1000 == 0) client.flush();
  }
  client.flush();
  process.wait_for("millrace_instances_started_total", kCount);
  const Lifecycles alone = run_lifecycles(site, process.pid(), {.run = "alone", .count = 1'000});
  row("lifecycle, 1 in flight, beside 100 000 waiting", fmt::format("{:.0f}/s", alone.rate()),
      alone.percentiles());

  const double woken = process.metric("millrace_instances_woken_total");
  const Stopwatch watch;
  client.publish(kBenchSubject, with_key("crowd.go", "go", "k"));
  client.flush();
  std::vector<double> took;
  int runs = 0;
  do {
    const auto some =
        run_lifecycles(site, process.pid(), {.run = fmt::format("beside{}", runs++), .count = 20})
            .each;
    took.insert(took.end(), some.begin(), some.end());
  } while (process.metric("millrace_fan_out_pending") > 0);
  process.wait_for("millrace_instances_woken_total", woken + kCount + took.size());
  row("one event wakes 100 000 instances", fmt::format("{:.1f} s", watch.seconds()),
      fmt::format("{:.0f} instances/s", kCount / watch.seconds()));
  row("lifecycle, 1 in flight, during this wake", fmt::format("{} lifecycles", took.size()),
      fmt::format("p50 {:.2f} ms, p99 {:.2f} ms, longest {:.2f} ms", percentile(took, 0.5),
                  percentile(took, 0.99), percentile(took, 1)));
}

}  // namespace millrace
