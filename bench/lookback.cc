// Measures states with `lookback`: the time from the event that starts an instance until the
// instance has taken an event that came before, beside events that others look for.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "bench/time_summary.h"
#include "bench/wire_client.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

constexpr size_t kEntries = 10'000;
/// Events in a second: the early ones, and those that start an instance.
constexpr double kEarlyRate = 4'500;
constexpr double kEntryRate = 500;
/// Seconds until the first instance starts.
constexpr double kLead = 2;
constexpr double kLongestWait = 60;

/// Sends the events at a fixed rate, whether or not millrace keeps up, and measures each instance
/// from the time at which its event should have been sent.
class EarlyLoad {
 public:
  explicit EarlyLoad(const std::string& url)
      : client_(url, "millrace.events.default.early.done",
                [this](std::string_view event) { hear(event); }) {}

  /// Sends everything, and waits for the instances. Returns their times in milliseconds.
  std::vector<double> run() {
    size_t early = 0;
    size_t entries = 0;
    while (entries < kEntries) {
      const double now = watch_.seconds();
      for (; static_cast<double>(early) < now * kEarlyRate; ++early) {
        client_.publish(kBenchSubject, with_key("early.paid", fmt::format("paid-{}", early),
                                                fmt::format("early-{}", early)));
      }
      for (; entries < kEntries && due_at(entries) <= now; ++entries) {
        client_.publish(kBenchSubject, with_key("early.start", fmt::format("start-{}", entries),
                                                fmt::format("early-{}", entries)));
      }
      client_.flush();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const double ends = watch_.seconds() + kLongestWait;
    while (done_ < kEntries && watch_.seconds() < ends) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const std::lock_guard lock(lock_);
    return took_;
  }

 private:
  static double due_at(size_t entry) { return kLead + static_cast<double>(entry) / kEntryRate; }

  void hear(std::string_view event) {
    constexpr std::string_view kBegin = "\"early-";
    const size_t at = event.rfind(kBegin);
    if (at == std::string_view::npos) return;
    const size_t entry = std::strtoull(event.data() + at + kBegin.size(), nullptr, 10);
    const std::lock_guard lock(lock_);
    took_.push_back((watch_.seconds() - due_at(entry)) * 1e3);
    ++done_;
  }

  const Stopwatch watch_;
  std::atomic<size_t> done_ = 0;
  std::mutex lock_;  // guards took_
  std::vector<double> took_;
  WireClient client_;  // after the members above, because its thread uses them
};

}  // namespace

void lookback() {
  const Site site;
  MillraceProcess process(site.folder() / "data", site.broker->url());
  process.start();
  process.apply(kEarly, "early");
  EarlyLoad load(site.broker->url());
  const std::vector<double> times = load.run();
  CHECK(times.size() == kEntries, "{} of {} early events were found", times.size(), kEntries);
  const TimeSummary summary = summarize(times).value();
  row(fmt::format("lookback: PT5M, {} entries beside {:.0f} events/s, p50", kEntries,
                  kEarlyRate + kEntryRate),
      fmt::format("{:.1f} ms", summary.p50));
  row("  p99", fmt::format("{:.1f} ms", summary.p99));
  row("  longest", fmt::format("{:.1f} ms", summary.longest));
}

}  // namespace millrace
