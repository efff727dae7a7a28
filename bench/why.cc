// Why an event woke nothing, among many instances that wait for its type: how long an answer takes,
// whether it has the near miss, and what the questions cost the lifecycles beside them.
#include <atomic>
#include <cctype>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/lifecycle_events.h"
#include "bench/lifecycles.h"
#include "bench/rows.h"
#include "bench/time_summary.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

constexpr size_t kWaitingInstances = 1'000'000;
constexpr size_t kAsks = 200;

/// An event that differs from the one for which an instance waits in upper and lower case only.
std::string near_miss(size_t number) {
  std::string key = lifecycle_key("life", "w", number);
  for (char& letter : key) {
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return with_key("life.go", fmt::format("try-{}", number), key);
}

/// Asks about the near miss of that instance. Returns how long the answer took, in milliseconds.
double ask_why(MillraceProcess& server, size_t number, const std::string& query = "") {
  const Stopwatch watch;
  const Json why = server.ask("POST", "/v1/ns/default/events/try" + query, near_miss(number));
  const double took = watch.seconds() * 1'000;
  const Json& near = why["near"];
  CHECK(!near.empty() && near[0]["predicates"][0].value("hint", "") == "case",
        "the nearest listener is no near miss: {}", dump_json(why));
  return took;
}

void print_times(std::string_view what, std::vector<double> times) {
  const auto summary = summarize(std::move(times));
  CHECK(summary.has_value());
  row(fmt::format("{}, {} waiting", what, kWaitingInstances),
      fmt::format("p99 {:.1f} ms", summary->p99),
      fmt::format("p50 {:.1f} ms, max {:.1f} ms", summary->p50, summary->longest));
}

void print_asks(MillraceProcess& server) {
  std::vector<double> oldest;
  std::vector<double> any;
  std::vector<double> by_value;
  for (size_t i = 0; i < kAsks; ++i) {
    oldest.push_back(ask_why(server, 0));
    any.push_back(ask_why(server, i * (kWaitingInstances / kAsks)));
    by_value.push_back(
        ask_why(server, 0, fmt::format("?attribute=key&value={}", lifecycle_key("life", "w", 0))));
  }
  print_times("why, a near miss of the oldest instance", std::move(oldest));
  print_times("why, a near miss of any instance", std::move(any));
  print_times("why, asked for by its value", std::move(by_value));
}

}  // namespace

void why() {
  const Site site;
  MillraceProcess server(site.folder() / "data", site.broker->url(), {"--dedupe-window", "1s"});
  server.start();
  server.apply(kLifecycle, "life");
  run_lifecycles(
      site, server.pid(),
      {.run = "w", .in_flight = 512, .count = 1, .waiting = kWaitingInstances, .filled = [&] {
         print_asks(server);
       }});
  const LifecyclePlan plan{.run = "alone", .in_flight = 512, .count = 60'000};
  const Lifecycles alone = run_lifecycles(site, server.pid(), plan);
  std::atomic<bool> ends = false;
  size_t asked = 0;
  std::thread asking([&] {
    for (; !ends; ++asked) {
      server.ask("POST", "/v1/ns/default/events/try", near_miss(asked % kAsks));
    }
  });
  const Lifecycles beside =
      run_lifecycles(site, server.pid(), {.run = "beside", .in_flight = 512, .count = 60'000});
  ends = true;
  asking.join();
  row(fmt::format("lifecycles beside {:.0f} questions a second",
                  static_cast<double>(asked) / beside.seconds),
      fmt::format("{:.0f}/s", beside.rate()),
      fmt::format("without questions {:.0f}/s: {:.2f}", alone.rate(),
                  beside.rate() / alone.rate()));
}

}  // namespace millrace
