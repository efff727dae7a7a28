// A mode that measures states with `lookback`: the time from the event that starts an instance
// until the instance has taken an event that came before, beside events that others look for.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/arguments.h"
#include "bench/harness.h"
#include "bench/modes.h"
#include "bench/time_summary.h"
#include "bench/wire_client.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

constexpr double kFirstOfferAimMs = 100;
/// The part of the events that start an instance; the others are early events.
constexpr double kPartOfEntries = 0.1;
constexpr double kLongestWait = 60;

struct LookbackPlan {
  size_t entries = 10'000;   ///< instances that come to the state with `lookback`
  double rate = 5'000;       ///< events in a second
  size_t history = 500'000;  ///< events of the window that come before all others
  double lead = 2;           ///< seconds of early events until the first instance starts
};

/// Sends the events at a fixed rate, whether or not millrace keeps up, and measures each instance
/// from the time at which its event should have been sent.
class EarlyLoad {
 public:
  /// `run` distinguishes the keys of two loads.
  EarlyLoad(const std::string& url, std::string run, LookbackPlan plan)
      : run_(std::move(run)),
        begin_(fmt::format("\"early-{}-", run_)),
        plan_(plan),
        client_(url, "millrace.events.default.early.done",
                [this](std::string_view event) { hear(event); }) {}

  /// Sends everything, and waits for the instances. Returns their times in milliseconds.
  std::vector<double> run() {
    size_t early = 0;
    size_t entries = 0;
    const double early_rate = plan_.rate * (1 - kPartOfEntries);
    while (entries < plan_.entries) {
      const double now = watch_.seconds();
      for (; static_cast<double>(early) < now * early_rate; ++early) send("paid", early);
      for (; entries < plan_.entries && due_at(entries) <= now; ++entries) send("start", entries);
      client_.flush();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const double ends = watch_.seconds() + kLongestWait;
    while (done_ < plan_.entries && watch_.seconds() < ends) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const std::lock_guard lock(lock_);
    return took_;
  }

 private:
  double due_at(size_t entry) const {
    return plan_.lead + static_cast<double>(entry) / (plan_.rate * kPartOfEntries);
  }

  void send(std::string_view kind, size_t number) {
    const std::string key = fmt::format("early-{}-{}", run_, number);
    client_.publish(kBenchSubject,
                    with_key(fmt::format("early.{}", kind), fmt::format("{}-{}", kind, key), key));
  }

  void hear(std::string_view event) {
    const size_t at = event.rfind(begin_);
    if (at == std::string_view::npos) return;
    const size_t entry = std::strtoull(event.data() + at + begin_.size(), nullptr, 10);
    const std::lock_guard lock(lock_);
    took_.push_back((watch_.seconds() - due_at(entry)) * 1e3);
    ++done_;
  }

  const std::string run_;
  const std::string begin_;  ///< what the data of a generated event begins with
  const LookbackPlan plan_;
  const Stopwatch watch_;
  std::atomic<size_t> done_ = 0;
  std::mutex lock_;  // guards took_
  std::vector<double> took_;
  WireClient client_;  // after the members above, because its thread uses them
};

/// Publishes the events that come before all others, and waits until they are applied.
void send_history(const Site& site, MillraceProcess& process, const LookbackPlan& plan) {
  WireClient client(site.broker->url());
  for (size_t i = 0; i < plan.history; ++i) {
    client.publish(kBenchSubject, with_key("early.paid", fmt::format("history-{}", i),
                                           fmt::format("history-{}", i)));
  }
  client.flush();
  process.wait_for("millrace_events_total", static_cast<double>(plan.history));
}

}  // namespace

Result<int> lookback(const ModeArguments& arguments) {
  LookbackPlan plan;
  TRY(read_arguments(arguments, {{"ENTRIES", &plan.entries},
                                 {"--rate", &plan.rate},
                                 {"--history", &plan.history},
                                 {"--lead", &plan.lead}}));
  const Site site;
  MillraceProcess process(site.folder() / "data", site.broker->url());
  process.start();
  process.apply(kEarly, "early");
  send_history(site, process, plan);
  row("what", "figure", "aim of the 99th percentile");
  row("---", "---:", "---");
  const std::string url = site.broker->url();
  // The first search reads the whole window from the event stream; what comes later is fed.
  LookbackPlan only = plan;
  only.entries = 1;
  const std::vector<double> first = EarlyLoad(url, "first", only).run();
  CHECK(first.size() == 1, "the first instance did not find its early event");
  row(fmt::format("lookback: PT5M, first search, {} events in the window", plan.history),
      fmt::format("{:.0f} ms", first.front()));
  if (plan.entries == 0) return 0;
  const std::vector<double> times = EarlyLoad(url, "all", plan).run();
  const std::string what =
      fmt::format("lookback: PT5M, {} entries beside {:.0f} events/s", plan.entries, plan.rate);
  row("early events found", fmt::format("{}", times.size()), fmt::format("of {}", plan.entries));
  if (times.size() != plan.entries) return 1;
  const TimeSummary summary = summarize(times).value();
  row(what, fmt::format("p50 {:.1f} ms, p99 {:.1f} ms", summary.p50, summary.p99),
      beside_aim(summary, kFirstOfferAimMs));
  row("  longest", fmt::format("{:.1f} ms", summary.longest));
  return 0;
}

}  // namespace millrace
