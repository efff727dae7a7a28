#include "bench/victim.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bench/http_session.h"
#include "bench/lifecycle_events.h"
#include "bench/wire_client.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

constexpr const char* kVictimWorkflow = "life";
/// How long the lifecycles in flight at the end of an interval are waited for.
constexpr std::chrono::seconds kLastLifecycles(5);
/// Between an answer and the next command. Without a pause, the commands alone would be a load.
constexpr std::chrono::milliseconds kBetweenCommands(5);
constexpr std::chrono::milliseconds kLookForTheEnd(250);

/// The workflow that commands start; its instances end at once.
constexpr const char* kPing = R"(
id: ping
states:
  - id: done
    type: noop
)";

/// Keeps lifecycles in flight: when one has ended, another one starts. Both events of a lifecycle
/// are published at once.
class LifecycleClient {
 public:
  LifecycleClient(const std::string& broker, const std::string& ns, std::string run)
      : run_(std::move(run)),
        prefix_(fmt::format("{}-{}-", kVictimWorkflow, run_)),
        subject_(bench_subject(ns)),
        client_(broker, done_subject(kVictimWorkflow, ns),
                [this](std::string_view event) { hear(event); }) {}

  void begin(size_t in_flight) {
    {
      const std::lock_guard guard(lock_);
      for (size_t i = 0; i < in_flight; ++i) start();
    }
    client_.flush();
  }

  void finish(VictimTimes& times) {
    std::unique_lock guard(lock_);
    ends_ = true;
    all_ended_.wait_for(guard, kLastLifecycles, [&] { return open_.empty(); });
    times.lifecycles = std::exchange(took_, {});
    for (const auto& [number, watch] : open_) times.lifecycles.push_back(watch.seconds() * 1000);
    times.unfinished = std::exchange(open_, {}).size();
    times.started += started_;
  }

 private:
  /// Called with lock_ held.
  void start() {
    const size_t number = started_++;
    const std::string key = lifecycle_key(kVictimWorkflow, run_, number);
    open_.emplace(number, Stopwatch());
    client_.publish(subject_, start_event(kVictimWorkflow, key));
    client_.publish(subject_, wake_event(kVictimWorkflow, key));
  }

  void hear(std::string_view event) {
    if (event.empty()) return client_.flush();
    const std::string_view key = key_in(event);
    if (!key.starts_with(prefix_)) return;  // of an earlier interval
    const std::lock_guard guard(lock_);
    const auto found = open_.find(number_of_key(key));
    if (found == open_.end()) return;
    took_.push_back(found->second.seconds() * 1000);
    open_.erase(found);
    if (!ends_) return start();
    if (open_.empty()) all_ended_.notify_one();
  }

  const std::string run_;
  const std::string prefix_;  ///< of the keys
  const std::string subject_;
  std::mutex lock_;  // guards the members below, except the client
  std::condition_variable all_ended_;
  std::map<size_t, Stopwatch> open_;  ///< since the start event was published, by number
  std::vector<double> took_;
  size_t started_ = 0;
  bool ends_ = false;
  WireClient client_;  // the last member, because its thread uses the other members
};

/// Starts one small instance after the other by commands.
class CommandClient {
 public:
  CommandClient(const std::string& url, const std::string& ns)
      : path_(fmt::format("/v1/ns/{}/workflows/ping/start", ns)),
        thread_([this, url] { run(url); }) {}
  ~CommandClient() { stop(); }
  CommandClient(const CommandClient&) = delete;
  CommandClient& operator=(const CommandClient&) = delete;

  /// Waits for the answer to the command that was sent last.
  void finish(VictimTimes& times) {
    stop();
    times.commands = std::exchange(took_, {});
    times.refused = refused_;
    times.started += times.commands.size() - refused_;
  }

 private:
  void run(const std::string& url) {
    HttpSession session(url);
    while (!ends_) {
      const Stopwatch watch;
      const SessionAnswer answer = session.send("POST", path_, "{}", "application/json");
      took_.push_back(watch.seconds() * 1000);
      if (!answer.is_ok()) ++refused_;
      std::this_thread::sleep_for(kBetweenCommands);
    }
  }

  void stop() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }

  const std::string path_;
  std::atomic<bool> ends_ = false;
  std::vector<double> took_;  // this member and the next one belong to the thread until it ends
  size_t refused_ = 0;
  std::thread thread_;  // the last member, because it uses the other members
};

}  // namespace

Victim::Victim(const Site& site, MillraceProcess& server, std::string ns)
    : broker_(site.broker->url()), url_(server.url()), ns_(std::move(ns)) {
  server.ask("PUT", fmt::format("/v1/ns/{}/workflows/{}", ns_, kVictimWorkflow), kLifecycle);
  server.ask("PUT", fmt::format("/v1/ns/{}/workflows/ping", ns_), kPing);
}

VictimTimes Victim::measure(size_t in_flight, const MeasuredInterval& interval) {
  const Stopwatch watch;
  LifecycleClient lifecycles(broker_, ns_, fmt::format("run{}", ++runs_));
  CommandClient commands(url_, ns_);
  lifecycles.begin(in_flight);
  while (watch.seconds() < interval.seconds && !(interval.is_over && interval.is_over())) {
    const double left = std::max(interval.seconds - watch.seconds(), 0.0);
    std::this_thread::sleep_for(std::min<Seconds>(kLookForTheEnd, Seconds(left)));
  }
  VictimTimes times;
  lifecycles.finish(times);
  commands.finish(times);
  return times;
}

}  // namespace millrace
