// ./dev bench: one table of what millrace does on this machine, each figure beside a limit that was
// measured in the same run. `bench NAME` prints the rows of one name.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "broker/streams.h"
#include "expressions/workers/pool.h"
#include "expressions/workers/worker.h"

namespace millrace {
namespace {

constexpr const char* kSubject = "millrace.events.default.bench";

constexpr const char* kLifecycle = R"(
id: life
start:
  type: event
  event:
    type: life.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: life.go
      context:
        key: jq(.["life.start"].key)
    timeout: PT1H
    transition: tell
  - id: tell
    type: generateEvent
    event:
      type: life.done
      source: bench
      data: jq(.["life.start"].key)
)";

/// The same, with an expression that takes a worker.
constexpr const char* kThinking = R"(
id: thinking
start:
  type: event
  event:
    type: thinking.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: thinking.go
      context:
        key: jq(.["thinking.start"].key | ltrimstr("no"))
    timeout: PT1H
    transition: tell
  - id: tell
    type: generateEvent
    event:
      type: thinking.done
      source: bench
      data: jq(.["thinking.start"].key)
)";

constexpr const char* kLooping = R"(
id: {0}
start:
  type: event
  event:
    type: {0}.start
states:
  - id: loop
    type: noop
    transform: jq(last(range(1e18)))
)";

constexpr const char* kWaiter = R"(
id: waiter
start:
  type: event
  event:
    type: wait.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: wait.go
      context:
        key: jq(.["wait.start"].key)
    timeout: P30D
)";

/// All of them wait for the same event.
constexpr const char* kCrowd = R"(
id: crowd
start:
  type: event
  event:
    type: crowd.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: crowd.go
)";

std::string with_key(std::string_view type, std::string_view id, std::string_view key) {
  return fmt::format(
      R"({{"specversion":"1.0","id":"{}","source":"bench","type":"{}","key":"{}",)"
      R"("datacontenttype":"application/json","data":{{"key":"{}","filler":"{}"}}}})",
      id, type, key, key, std::string(300, 'x'));
}

/// How fast a bare client pulls the same messages: the limit for reading events.
double raw_pull(const std::string& url, size_t count) {
  Client client(url);
  jsCtx* js = nullptr;
  CHECK(natsConnection_JetStream(&js, client.handle(), nullptr) == NATS_OK);
  std::mutex lock;
  std::condition_variable done;
  size_t seen = 0;
  const auto inbox = std::string("bench.raw.inbox");
  client.subscribe(inbox, [&](std::string_view data) {
    if (data.empty()) return;
    const std::lock_guard guard(lock);
    if (++seen == count) done.notify_one();
  });
  jsConsumerConfig config;
  jsConsumerConfig_Init(&config);
  config.DeliverSubject = inbox.c_str();
  config.AckPolicy = js_AckNone;
  const Stopwatch watch;
  jsConsumerInfo* info = nullptr;
  CHECK(js_AddConsumer(&info, js, std::string(kEventsStream).c_str(), &config, nullptr, nullptr) ==
        NATS_OK);
  std::unique_lock guard(lock);
  done.wait(guard, [&] { return seen >= count; });
  const double seconds = watch.seconds();
  jsConsumerInfo_Destroy(info);
  jsCtx_Destroy(js);
  return static_cast<double>(count) / seconds;
}

void unmatched() {
  Site site;
  constexpr size_t kCount = 300'000;
  MillraceProcess process(site.folder / "data", site.broker->url());
  process.start();  // makes the stream
  process.apply(kLifecycle, "life");
  process.kill();
  Client client(site.broker->url());
  for (size_t i = 0; i < kCount; ++i) {
    client.publish(kSubject, event_text("nobody.cares", std::to_string(i), "k"));
    if (i % 1000 == 0) client.flush();
  }
  client.flush();
  const double raw = raw_pull(site.broker->url(), kCount);
  const Stopwatch watch;
  process.start();
  process.wait_for("millrace_events_total", kCount);
  const double rate = kCount / watch.seconds();
  row("events that match nothing, 512 B, a backlog of 300 000", fmt::format("{:.0f}/s", rate),
      fmt::format("bare push consumer {:.0f}/s: {:.2f}", raw, rate / raw));
}

/// What `count` lifecycles took.
struct Lifecycles {
  double seconds = 0;
  std::vector<double> each;  ///< in milliseconds

  std::string rate() const {
    return fmt::format("{:.0f}/s", static_cast<double>(each.size()) / seconds);
  }
  std::string percentiles() const {
    return fmt::format("p50 {:.2f} ms, p99 {:.2f} ms", percentile(each, 0.5),
                       percentile(each, 0.99));
  }
};

/// Keeps `in_flight` lifecycles of the workflow going until `count` have ended. `run` keeps their
/// keys apart from those of other calls.
Lifecycles run_lifecycles(const Site& site, const std::string& workflow, const std::string& run,
                          size_t in_flight, size_t count) {
  Client sender(site.broker->url());
  Client hearer(site.broker->url());
  std::mutex lock;
  std::condition_variable finished;
  std::unordered_map<std::string, Stopwatch> running;
  Lifecycles took;
  size_t started = 0;
  const auto start_one = [&] {  // under the lock
    const std::string key = fmt::format("{}-{}-{}", workflow, run, started++);
    running[key] = Stopwatch();
    sender.publish(kSubject, with_key(workflow + ".start", "s" + key, key));
    sender.publish(kSubject, with_key(workflow + ".go", "g" + key, key));
  };
  hearer.subscribe(fmt::format("millrace.events.default.{}.done", workflow),
                   [&](std::string_view data) {
                     const auto event = parse_json(data);
                     const std::lock_guard guard(lock);
                     const auto found = running.find((*event)["data"].get<std::string>());
                     if (found == running.end()) return;
                     took.each.push_back(found->second.seconds() * 1000);
                     running.erase(found);
                     if (started < count) start_one();
                     if (running.empty()) finished.notify_one();
                   });
  const Stopwatch watch;
  std::unique_lock guard(lock);
  for (size_t i = 0; i < std::min(in_flight, count); ++i) start_one();
  finished.wait(guard, [&] { return running.empty(); });
  took.seconds = watch.seconds();
  return took;
}

void lifecycle(size_t in_flight, size_t count) {
  Site site;
  MillraceProcess process(site.folder / "data", site.broker->url());
  process.start();
  process.apply(kLifecycle, "life");
  const Lifecycles took = run_lifecycles(site, "life", "k", in_flight, count);
  row(fmt::format("durable lifecycle (start, wait, wake, end), {} in flight", in_flight),
      took.rate(), took.percentiles());
}

void lifecycles() {
  lifecycle(1, 3'000);
  lifecycle(64, 60'000);
  lifecycle(512, 120'000);
}

/// What workflows whose jq never ends cost the others.
void isolation() {
  constexpr size_t kInFlight = 100;
  constexpr size_t kCount = 10'000;
  Site site;
  MillraceProcess process(site.folder / "data", site.broker->url());
  process.start();
  process.apply(kLifecycle, "life");
  process.apply(kThinking, "thinking");
  const auto measure = [&](const std::string& when) {
    for (const char* workflow : {"life", "thinking"}) {
      const Lifecycles took = run_lifecycles(site, workflow, when, kInFlight, kCount);
      row(fmt::format("lifecycle {}, 100 in flight, {}",
                      workflow == std::string_view("life") ? "in the fast lane" : "by jq workers",
                      when),
          took.rate(), took.percentiles());
    }
  };
  measure("alone");
  Client client(site.broker->url());
  for (const char* looping : {"loop1", "loop2"}) {
    process.apply(fmt::format(fmt::runtime(kLooping), looping), looping);
    for (int i = 0; i < 10; ++i) {
      client.publish(kSubject, with_key(fmt::format("{}.start", looping),
                                        fmt::format("{}-{}", looping, i), "k"));
    }
  }
  client.flush();
  measure("beside two that loop");
}

/// A question to a worker on 1 KB, that it answers at once.
void workers() {
  auto launcher = JqLauncher::start();
  CHECK(launcher.has_value(), "{}", launcher.error().message);
  auto pool = JqPool::start(*std::move(launcher), {});
  CHECK(pool.has_value(), "{}", pool.error().message);
  const Evaluation question{
      .queries = {
          {".a | length", std::make_shared<const std::string>(fmt::format(
                              R"({{"a":[1,2,3],"filler":"{}"}})", std::string(1000, 'x')))}}};
  std::mutex lock;
  std::condition_variable answered;
  const auto ask = [&](size_t in_flight, size_t count) {
    std::vector<double> took;  // in microseconds
    size_t asked = 0;
    const Stopwatch watch;
    std::unique_lock guard(lock);
    while (took.size() < count) {
      for (; asked < count && asked - took.size() < in_flight; ++asked) {
        (*pool)->submit(asked, question, [&, since = Stopwatch()](uint64_t, const auto& results) {
          CHECK(results.at(0).has_value());
          const std::lock_guard inner(lock);
          took.push_back(since.seconds() * 1e6);
          answered.notify_one();
        });
      }
      answered.wait(guard);
    }
    row(fmt::format("round trip to a jq worker, 1 KB, {} in flight", in_flight),
        fmt::format("{:.0f}/s", static_cast<double>(count) / watch.seconds()),
        fmt::format("p50 {:.0f} us, p99 {:.0f} us", percentile(took, 0.5), percentile(took, 0.99)));
  };
  ask(1, 50'000);
  ask(64, 200'000);
}

/// One event that wakes 100 000 instances, and what others feel of it.
void crowd() {
  constexpr size_t kCount = 100'000;
  Site site;
  MillraceProcess process(site.folder / "data", site.broker->url());
  process.start();
  process.apply(kLifecycle, "life");
  process.apply(kCrowd, "crowd");
  Client client(site.broker->url());
  for (size_t i = 0; i < kCount; ++i) {
    client.publish(kSubject, with_key("crowd.start", fmt::format("c{}", i), "k"));
    if (i % 1000 == 0) client.flush();
  }
  client.flush();
  process.wait_for("millrace_instances_started_total", kCount);
  const Lifecycles alone = run_lifecycles(site, "life", "alone", 1, 1'000);
  row("lifecycle, 1 in flight, beside 100 000 waiting", alone.rate(), alone.percentiles());

  const double woken = process.metric("millrace_instances_woken_total");
  const Stopwatch watch;
  client.publish(kSubject, with_key("crowd.go", "go", "k"));
  client.flush();
  std::vector<double> took;
  int runs = 0;
  do {
    const auto some = run_lifecycles(site, "life", fmt::format("beside{}", runs++), 1, 20).each;
    took.insert(took.end(), some.begin(), some.end());
  } while (process.metric("millrace_fan_out_pending") > 0);
  process.wait_for("millrace_instances_woken_total", woken + kCount + took.size());
  row("one event wakes 100 000 instances", fmt::format("{:.1f} s", watch.seconds()),
      fmt::format("{:.0f} instances/s", kCount / watch.seconds()));
  row("lifecycle, 1 in flight, meanwhile", fmt::format("{} of them", took.size()),
      fmt::format("p50 {:.2f} ms, p99 {:.2f} ms, longest {:.2f} ms", percentile(took, 0.5),
                  percentile(took, 0.99), percentile(took, 1)));
}

void waiting() {
  constexpr size_t kCount = 100'000;
  Site site;
  MillraceProcess process(site.folder / "data", site.broker->url());
  process.start();
  process.apply(kWaiter, "waiter");
  Client client(site.broker->url());
  // The same events, matching nobody, first: what reading them costs is there before and after.
  for (size_t i = 0; i < kCount; ++i) {
    client.publish(kSubject, with_key("nobody.cares", fmt::format("n{}", i), "k"));
    if (i % 1000 == 0) client.flush();
  }
  client.flush();
  process.wait_for("millrace_events_total", kCount);
  const int64_t before = process.anonymous_memory();
  const Stopwatch watch;
  for (size_t i = 0; i < kCount; ++i) {
    client.publish(kSubject, with_key("wait.start", fmt::format("w{}", i), fmt::format("k{}", i)));
    if (i % 1000 == 0) client.flush();
  }
  client.flush();
  process.wait_for("millrace_instances_started_total", kCount);
  row("instances that begin to wait", fmt::format("{:.0f}/s", kCount / watch.seconds()));
  const int64_t after = process.anonymous_memory();
  row("anonymous memory for each of 100 000 waiting, since the start",
      fmt::format("{:.0f} B", static_cast<double>(after - before) / kCount));
  process.kill();
  const double restart = process.start();
  row("kill -9 to ready, 100 000 waiting", fmt::format("{:.2f} s", restart));
  row("anonymous memory for each after the restart",
      fmt::format("{:.0f} B", static_cast<double>(process.anonymous_memory() - before) / kCount));
  client.publish(kSubject, with_key("wait.go", "go", "k77777"));
  process.wait_for("millrace_instances_woken_total", 1);
}

struct Benchmark {
  const char* name;
  void (*run)();
};
constexpr Benchmark kBenchmarks[] = {{"unmatched", unmatched}, {"lifecycles", lifecycles},
                                     {"waiting", waiting},     {"workers", workers},
                                     {"isolation", isolation}, {"crowd", crowd}};

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  if (const auto code = millrace::run_as_jq_process(argc, argv)) return *code;
  const std::string only = argc > 1 ? argv[1] : "";
  millrace::row("what", "figure", "beside it");
  millrace::row("---", "---:", "---");
  bool found = only.empty();
  for (const auto& one : millrace::kBenchmarks) {
    if (!only.empty() && only != one.name) continue;
    found = true;
    one.run();
  }
  if (!found) {
    fmt::print(stderr, "there is no benchmark {}; there are", only);
    for (const auto& one : millrace::kBenchmarks) fmt::print(stderr, " {}", one.name);
    fmt::print(stderr, "\n");
    return 2;
  }
}
