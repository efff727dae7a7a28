#include "bench/bench_cluster.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "bench/http_session.h"
#include "bench/lifecycle_events.h"
#include "bench/wire_client.h"
#include "bench/workflows.h"
#include "broker/log_stream.h"
#include "broker/stream_options.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr double kNodePatience = 60;  // seconds
constexpr std::chrono::milliseconds kNodeLook(2);
/// Instances that are started before the benchmark waits for them: a stream with replicas takes
/// only so many messages at a time.
constexpr size_t kStartedAtOnce = 1'000;

/// The workflow that commands start; its instances end at once.
constexpr const char* kEndsAtOnce = R"(
id: answered
states:
  - id: done
    type: noop
)";

/// Waits until `is_true` returns true. If it does not within a minute, the program ends.
template <class Condition>
void wait_until(std::string_view what, const Condition& is_true) {
  for (const Stopwatch watch; !is_true(); std::this_thread::sleep_for(kNodeLook)) {
    CHECK(watch.seconds() < kNodePatience, "{}: not after {} s", what, kNodePatience);
  }
}

std::string url_of_port(uint16_t port) { return fmt::format("http://127.0.0.1:{}", port); }

}  // namespace

BenchCluster::BenchCluster(const NatsTrio& nats, std::string name, size_t waiting)
    : nats_(nats), name_(std::move(name)), log_(log_stream(name_, {.prefix = name_}).name) {
  const fs::path key = run_.path() / "key";
  std::ofstream(key) << std::string(64, 'a');
  fs::permissions(key, fs::perms::owner_read);
  if (waiting > 0) fill_first_folder(waiting);
  make_node(0);
  founding_seconds_ = active().start();
  HttpSession session(active().url());
  const auto is_active = [&] { return session.send("GET", "/activez").is_ok(); };
  wait_until("the first node is the active", is_active);
  for (const std::string& stream : {stream_name(name_, "EVENTS"), log_}) {
    nats_.make_first_lead(stream);
  }
  wait_until("the first node appends to the log again", is_active);
  active().apply(kLifecycle, "life");
  active().apply(kEndsAtOnce, "answered");
}

LoadBroker BenchCluster::broker() const {
  return {.url = nats_.url(0), .processes = nats_.processes(), .prefix = name_};
}

/// The options that a server without a cluster has, too.
std::vector<std::string> BenchCluster::options_of_server() const {
  return {"--secret-key-file", (run_.path() / "key").string(),
          "--stream-replicas", "3",
          "--stream-prefix",   name_};
}

fs::path BenchCluster::folder_of(size_t index) const {
  return run_.path() / fmt::format("node{}", index);
}

/// Makes the folder of the first node that of a server with so many waiting instances.
void BenchCluster::fill_first_folder(size_t waiting) {
  MillraceProcess server(folder_of(0), nats_.url(0), options_of_server());
  server.start();
  server.apply(kLifecycle, "life");
  add_waiting_to(server, waiting);
  server.stop();  // so that the node need not wait until it no longer owns the streams
}

std::vector<std::string> BenchCluster::options_of(size_t index) const {
  std::vector<std::string> options = options_of_server();
  options.insert(
      options.end(),
      {"--cluster", name_, "--advertise", url_of_port(ports_.at(index).port()),
       // The log keeps all commits, so that a node with an empty folder has to apply all of them.
       "--snapshot-after", "1000000000000"});
  if (index == 0) options.emplace_back("--found");  // no effect when it starts again
  return options;
}

/// The nodes are connected to different nats-servers, as on different machines.
void BenchCluster::make_node(size_t index) {
  nodes_.at(index) =
      std::make_unique<MillraceProcess>(folder_of(index), nats_.url(index), options_of(index));
  nodes_.at(index)->listen_on(ports_.at(index).port());
}

StandbyStart BenchCluster::start_standby() {
  make_node(1 - active_);
  StandbyStart catch_up{.log = log()};
  const Stopwatch watch;
  standby().start();
  wait_until("the standby has applied the log",
             [&] { return applied_by_standby() >= catch_up.log.last; });
  catch_up.seconds = watch.seconds();
  return catch_up;
}

/// The sequence of the last message of the log that the standby has applied. The first node of the
/// answer is the one that answers.
uint64_t BenchCluster::applied_by_standby() {
  return standby().ask("GET", "/v1/cluster").at("nodes").at(0).at("position").get<uint64_t>();
}

StandbyLag BenchCluster::standby_lag() {
  const Stopwatch watch;
  const std::string metrics = standby().metrics();
  const uint64_t last = log().last;
  wait_until("the standby has applied the log", [&] { return applied_by_standby() >= last; });
  return {.commits = sum_of(metrics, "millrace_cluster_behind_commits"),
          .seconds = sum_of(metrics, "millrace_cluster_behind_seconds"),
          .applied_after = watch.seconds()};
}

double BenchCluster::take_over() {
  HttpSession session(standby().url());
  wait_until("the standby is ready", [&] { return session.send("GET", "/readyz").is_ok(); });
  const Stopwatch watch;
  active().kill();
  // Until the standby is the active, it refuses the command at once.
  wait_until("the standby acknowledges a command", [&] {
    return session.send("POST", "/v1/ns/default/workflows/answered/start", "{}", "application/json")
        .is_ok();
  });
  const double seconds = watch.seconds();
  active().start();
  active_ = 1 - active_;
  return seconds;
}

void BenchCluster::add_waiting_to(MillraceProcess& server, size_t count) {
  constexpr const char* kStarted = "millrace_instances_started_total";
  WireClient client(nats_.url(0));
  const std::string subject = broker_subject(name_, kBenchSubject);
  for (const size_t end = waiting_ + count; waiting_ < end;) {
    const size_t some = std::min(kStartedAtOnce, end - waiting_);
    const double before = server.metric(kStarted);
    for (size_t i = 0; i < some; ++i) {
      client.publish(subject, start_event("life", lifecycle_key("life", "waits", waiting_++)));
    }
    client.flush();
    wait_until("instances wait",
               [&] { return server.metric(kStarted) >= before + static_cast<double>(some); });
  }
}

}  // namespace millrace
