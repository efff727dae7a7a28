#include "bench/lifecycles.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>

#include <fmt/format.h>
#include <unistd.h>

#include "base/check.h"
#include "bench/bare_loop.h"
#include "bench/lifecycle_events.h"
#include "bench/rows.h"
#include "bench/wire_client.h"
#include "bench/workflows.h"
#include "broker/stream_options.h"

namespace millrace {
namespace {

/// After this time without the end of a lifecycle, an event is lost: a broker of several
/// nats-servers that elects a leader may lose events that no program waits for.
constexpr std::chrono::seconds kMostSilence(60);

/// The load of one call of run_lifecycles.
class Load {
 public:
  Load(const LoadBroker& broker, LifecyclePlan plan)
      : plan_(std::move(plan)),
        subject_(broker_subject(broker.prefix, kBenchSubject)),
        began_(plan_.waiting + plan_.count),
        client_(broker.url, broker_subject(broker.prefix, done_subject(plan_.workflow)),
                [this](std::string_view event) { hear(event); }) {}

  /// Starts the instances that only wait, and returns once the last of them has been woken.
  void fill() {
    if (plan_.waiting == 0) return;
    std::unique_lock guard(lock_);
    for (size_t i = 0; i < plan_.waiting; ++i) start();
    wake(plan_.waiting - 1);
    client_.flush();
    finished_.wait(guard, [&] { return !took_.empty(); });
    took_.clear();
    for (size_t i = 0; i + 1 < plan_.waiting; ++i) waiting_.push_back(i);
  }

  /// Runs the load and returns the time of each lifecycle, in milliseconds.
  std::vector<double> run() {
    std::unique_lock guard(lock_);
    for (size_t i = 0; i < std::min(plan_.in_flight, plan_.count); ++i) go_on();
    client_.flush();
    const auto is_over = [&] { return took_.size() >= plan_.count; };
    for (size_t ended = 0; !finished_.wait_for(guard, kMostSilence, is_over);) {
      CHECK(took_.size() > ended, "{} of {} lifecycles ended, and no further one for {} s", ended,
            plan_.count, kMostSilence.count());
      ended = took_.size();
    }
    return took_;
  }

 private:
  // The functions below are called with lock_ held, except hear(), which takes lock_.

  std::string key(size_t number) const { return lifecycle_key(plan_.workflow, plan_.run, number); }
  void start() { client_.publish(subject_, start_event(plan_.workflow, key(started_++))); }
  void wake(size_t number) {
    began_[number] = Stopwatch();
    client_.publish(subject_, wake_event(plan_.workflow, key(number)));
  }
  /// Starts an instance and wakes a random waiting instance, possibly the new one.
  void go_on() {
    waiting_.push_back(started_);
    start();
    std::swap(waiting_[random_() % waiting_.size()], waiting_.back());
    wake(waiting_.back());
    waiting_.pop_back();
    ++woken_;
  }

  void hear(std::string_view event) {
    if (event.empty()) return client_.flush();
    const size_t number = number_of_key(key_in(event));
    const std::lock_guard guard(lock_);
    took_.push_back(began_.at(number).seconds() * 1000);
    if (woken_ > 0 && woken_ < plan_.count) go_on();
    if (woken_ == 0 || took_.size() >= plan_.count) finished_.notify_one();
  }

  const LifecyclePlan plan_;
  const std::string subject_;  ///< of the events that the load publishes
  std::mutex lock_;
  std::condition_variable finished_;
  /// By number: runs since the event that wakes the instance was sent.
  std::vector<Stopwatch> began_;
  std::vector<size_t> waiting_;  ///< numbers of instances that were started and not woken
  std::vector<double> took_;
  size_t started_ = 0;
  size_t woken_ = 0;
  std::minstd_rand random_;
  WireClient client_;  // the last member, because its thread uses the other members
};

void lifecycle(size_t in_flight, size_t count) {
  const LifecyclePlan plan{.in_flight = in_flight, .count = count};
  const LifecyclePlan warm{.run = "warm", .in_flight = in_flight, .count = count / 10};
  Lifecycles bare;
  {
    const Site site;
    const BareLoop loop(site.folder() / "bare", site.broker->url());
    run_lifecycles(site, loop.pid(), warm);
    bare = run_lifecycles(site, loop.pid(), plan);
  }
  const Site site;
  MillraceProcess process(site.folder() / "data", site.broker->url());
  process.start();
  process.apply(kLifecycle, "life");
  run_lifecycles(site, process.pid(), warm);
  print(fmt::format("durable lifecycle (start, wait, wake, end), {} in flight", in_flight),
        run_lifecycles(site, process.pid(), plan), bare);
}

}  // namespace

std::string Lifecycles::percentiles() const {
  return fmt::format("p50 {:.2f} ms, p99 {:.2f} ms", percentile(each, 0.5), percentile(each, 0.99));
}

std::string Lifecycles::costs() const {
  return fmt::format("{:.0f} us, broker {:.0f}, load {:.0f}", engine_cost, broker_cost, load_cost);
}

Lifecycles run_lifecycles(const LoadBroker& broker, int engine, const LifecyclePlan& plan) {
  Load load(broker, plan);
  load.fill();
  if (plan.filled) plan.filled();
  const auto used = [&] {
    double of_broker = 0;
    for (const int process : broker.processes) of_broker += processor_seconds(process);
    return std::array{processor_seconds(engine), of_broker, processor_seconds(::getpid())};
  };
  const auto before = used();
  Lifecycles took;
  const Stopwatch watch;
  took.each = load.run();
  took.seconds = watch.seconds();
  const auto after = used();
  const auto cost = [&](size_t of) {
    return (after[of] - before[of]) * 1e6 / static_cast<double>(plan.count);
  };
  took.engine_cost = cost(0);
  took.broker_cost = cost(1);
  took.load_cost = cost(2);
  return took;
}

Lifecycles run_lifecycles(const Site& site, int engine, const LifecyclePlan& plan) {
  return run_lifecycles({.url = site.broker->url(), .processes = {site.broker->pid()}}, engine,
                        plan);
}

void print(std::string_view what, const Lifecycles& took, const Lifecycles& bare) {
  row(what, fmt::format("{:.0f}/s", took.rate()),
      fmt::format("bare loop {:.0f}/s: {:.2f}", bare.rate(), took.rate() / bare.rate()));
  row("  time of one lifecycle", took.percentiles(), "bare loop " + bare.percentiles());
  row("  processor time of one lifecycle", took.costs(), "bare loop " + bare.costs());
}

void lifecycles() {
  lifecycle(1, 3'000);
  lifecycle(64, 60'000);
  lifecycle(512, 120'000);
}

}  // namespace millrace
