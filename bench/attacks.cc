#include "bench/attacks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "bench/http_session.h"
#include "bench/lifecycle_events.h"
#include "bench/wire_client.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr const char* kStartedMetric = "millrace_instances_started_total";
constexpr const char* kWokenMetric = "millrace_instances_woken_total";
constexpr const char* kDeletedMetric = "millrace_instances_deleted_total";
constexpr const char* kFiredMetric = "millrace_timers_fired_total";
constexpr const char* kLateMetric = "millrace_matches_late_total";

/// A part of each attack: requests to the server, and threads that end with the object.
class Attacker {
 public:
  explicit Attacker(const AttackSite& site) : site_(site) {}
  ~Attacker() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;

  MillraceProcess& server() { return site_.server; }
  std::string broker() const { return site_.site.broker->url(); }
  const std::string& ns() const { return site_.ns; }
  double until_begin() const { return site_.until_begin; }
  std::string path(std::string_view rest) const {
    return fmt::format("/v1/ns/{}/{}", site_.ns, rest);
  }

  void apply(const std::string& id, const std::string& text) {
    server().ask("PUT", path("workflows/" + id), text);
  }
  /// Starts an instance and returns its id.
  std::string start(const std::string& workflow, const std::string& input = "{}") {
    return server()
        .ask("POST", path(fmt::format("workflows/{}/start", workflow)), input)
        .at("id")
        .get<std::string>();
  }
  /// Sends a request whose answer may come late, and does not wait for the answer.
  void send_later(const std::string& rest, const std::string& body = {}) {
    threads_.emplace_back([url = server().url(), to = path(rest), body] {
      HttpSession session(url);
      const SessionAnswer answer =
          session.send("POST", to, body, body.empty() ? "" : "application/json");
      if (answer.status != 0 && !answer.is_ok()) {
        fmt::print(stderr, "POST {}: status {}, {}\n", to, answer.status, answer.body);
      }
    });
  }
  /// Runs `step` again and again on a thread, `rate` times a second at most.
  template <class Step>
  void repeat(double rate, Step step) {
    const auto pause =
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(1 / rate));
    threads_.emplace_back([this, pause, step = std::move(step)]() mutable {
      for (SteadyTime next = std::chrono::steady_clock::now(); !ends_;) {
        step();
        next = std::max(next + pause, std::chrono::steady_clock::now());
        std::this_thread::sleep_until(next);
      }
    });
  }

 private:
  const AttackSite site_;
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
};

/// Publishes `count` events of one type, and waits until `metric` has grown by that number.
void publish_all(Attacker& attacker, std::string_view type, size_t count,
                 const std::string& metric) {
  const double before = attacker.server().metric(metric);
  WireClient client(attacker.broker());
  for (size_t i = 0; i < count; ++i) {
    client.publish(bench_subject(attacker.ns()), with_key(type, fmt::format("{}{}", type, i), "k"));
  }
  client.flush();
  attacker.server().wait_for(metric, before + static_cast<double>(count));
}

// Instances that loop over much data.

class Loops final : public Attack {
 public:
  explicit Loops(const AttackSite& site) : attacker_(site) {}

  void prepare() override {
    attacker_.apply("loop", R"(
id: loop
states:
  - id: again
    type: noop
    transform: 'jq({n: (.n + 1), list: (.list + [])})'
    transition: again
)");
    // The instances start in a paused workflow, so that they begin together.
    attacker_.server().ask("POST", attacker_.path("workflows/loop/pause"));
    std::string input = R"({"n":0,"list":[100000)";
    for (int number = 100'001; input.size() < kDataBytes; ++number) {
      input += fmt::format(",{}", number);
    }
    input += "]}";
    for (size_t i = 0; i < kInstances; ++i) ids_.push_back(attacker_.start("loop", input));
  }

  void begin() override { attacker_.send_later("workflows/loop/resume"); }

  double work(const AttackProgress&) override {
    double transitions = 0;
    for (const std::string& id : ids_) {
      const Json instance = attacker_.server().ask("GET", attacker_.path("instances/" + id));
      transitions += instance.at("data").at("n").get<double>();
    }
    return transitions;
  }
  std::string_view units() const override { return "transitions"; }

 private:
  static constexpr size_t kInstances = 20;
  static constexpr size_t kDataBytes = 1'000'000;
  std::vector<std::string> ids_;
  Attacker attacker_;
};

// Waits for events that a pattern selects, and events with which the patterns backtrack.

class Patterns final : public Attack {
 public:
  explicit Patterns(const AttackSite& site) : attacker_(site) {}

  void prepare() override {
    for (size_t i = 0; i < kWaits; ++i) {
      const std::string id = fmt::format("match-{}", i);
      attacker_.apply(id, fmt::format(R"(
id: {}
states:
  - id: wait
    type: consumeEvent
    event:
      type: match.go
      context:
        key: '^(?=((a|a)+)+k{}$)a'
)",
                                      id, i));
      attacker_.start(id);
    }
  }

  void begin() override {
    for (size_t client = 0; client < kClients; ++client) {
      attacker_.repeat(kRate, [this, client, number = size_t{0},
                               session = std::make_unique<HttpSession>(attacker_.server().url()),
                               path = attacker_.path("events")]() mutable {
        const std::string event = fmt::format(
            R"({{"specversion":"1.0","id":"match-{}-{}","source":"bench","type":"match.go",)"
            R"("key":"{}"}})",
            client, number++, kValue);
        session->send("POST", path, event, "application/cloudevents+json");
      });
    }
  }

  /// Matches that were undecided when their event was applied: a pattern that is decided at once
  /// is no attack.
  double work(const AttackProgress& progress) override { return progress.grown(kLateMetric); }
  std::string_view units() const override { return "late matches"; }

 private:
  static constexpr size_t kWaits = 150;
  static constexpr size_t kClients = 2;
  /// Events a second of each client. All events are read from one stream in its order, so more
  /// events than a server can read at all would measure the stream and not the patterns.
  static constexpr double kRate = 250;
  /// Has all characters that a pattern requires, so that no pattern is refused before it is tried.
  static constexpr const char* kValue = "aaaaaaaaaaaaaaaaaaaaaaaaaaaak1234567890b";
  Attacker attacker_;
};

// One foreach of many subflow calls after the other.

class ForeachCalls final : public Attack {
 public:
  explicit ForeachCalls(const AttackSite& site) : attacker_(site) {}

  void prepare() override {
    attacker_.apply("part", R"(
id: part
states:
  - id: done
    type: noop
)");
    attacker_.apply("each", R"(
id: each
functions:
  - {id: part, type: subflow, workflow: part}
states:
  - id: each
    type: foreach
    array: jq([range(10000)])
    action: {function: part}
    transform: {again: true}
    transition: each
)");
  }

  void begin() override { attacker_.send_later("workflows/each/start", "{}"); }

  double work(const AttackProgress& progress) override {
    const double others = static_cast<double>(progress.victim_started) + 1;  // 1: the caller
    return std::max(progress.grown(kStartedMetric) - others, 0.0);
  }
  std::string_view units() const override { return "subflows"; }

 private:
  Attacker attacker_;
};

// The deletion of ended instances.

class Deletion final : public Attack {
 public:
  explicit Deletion(const AttackSite& site) : attacker_(site) {}

  void prepare() override {
    attacker_.apply("short", R"(
id: short
start: {type: event, event: {type: short.start}}
states:
  - id: done
    type: noop
)");
    publish_all(attacker_, "short.start", kInstances, "millrace_instances_ended_total");
  }

  void begin() override {
    attacker_.send_later("instances/delete", R"({"workflow":"short","status":["complete"]})");
  }

  bool is_over(const AttackProgress& progress) const override {
    return progress.grown(kDeletedMetric) >= static_cast<double>(kInstances);
  }
  double work(const AttackProgress& progress) override { return progress.grown(kDeletedMetric); }
  std::string_view units() const override { return "deletions"; }

 private:
  static constexpr size_t kInstances = 100'000;
  Attacker attacker_;
};

// Events that wake many instances each.

class FanOuts final : public Attack {
 public:
  explicit FanOuts(const AttackSite& site) : attacker_(site) {}

  void prepare() override {
    attacker_.apply("crowd", R"(
id: crowd
start: {type: event, event: {type: crowd.start}}
states:
  - id: wait
    type: consumeEvent
    event: {type: crowd.go}
    transform: {again: true}
    transition: wait
)");
    publish_all(attacker_, "crowd.start", kInstances, kStartedMetric);
  }

  void begin() override {
    attacker_.repeat(kRate, [number = size_t{0}, subject = bench_subject(attacker_.ns()),
                             client = std::make_unique<WireClient>(attacker_.broker())]() mutable {
      client->publish(subject, with_key("crowd.go", fmt::format("crowd.go{}", number++), "k"));
      client->flush();
    });
  }

  double work(const AttackProgress& progress) override {
    const auto others = static_cast<double>(progress.victim_started);
    return std::max(progress.grown(kWokenMetric) - others, 0.0);
  }
  std::string_view units() const override { return "instances woken"; }

 private:
  static constexpr size_t kInstances = 1'000;
  static constexpr double kRate = 20;  ///< events a second
  Attacker attacker_;
};

// Many timers with one deadline.

/// The timers are set one after the other, and no duration depends on data. So there are many
/// workflows, whose delays are the shorter the later their instances start.
class Timers final : public Attack {
 public:
  explicit Timers(const AttackSite& site) : attacker_(site) {}

  void prepare() override {
    const double until_deadline = kArming + attacker_.until_begin();
    for (size_t slot = 0; slot < kWorkflows; ++slot) {
      attacker_.apply(fmt::format("timer-{}", slot),
                      fmt::format(R"(
id: timer-{0}
start: {{type: event, event: {{type: timer-{0}.start}}}}
states:
  - id: wait
    type: delay
    duration: PT{1:.2f}S
)",
                                  slot, until_deadline - static_cast<double>(slot) * kSlot));
    }
    WireClient client(attacker_.broker());
    const SteadyTime began = std::chrono::steady_clock::now();
    for (size_t slot = 0; slot < kWorkflows; ++slot) {
      std::this_thread::sleep_until(after(began, static_cast<double>(slot) * kSlot));
      for (size_t i = 0; i < kOfEachWorkflow; ++i) {
        client.publish(bench_subject(attacker_.ns()),
                       with_key(fmt::format("timer-{}.start", slot),
                                fmt::format("timer-{}-{}", slot, i), "k"));
      }
      client.flush();
    }
    deadline_ = after(began, until_deadline);
  }

  void begin() override { std::this_thread::sleep_until(after(deadline_, -kBeforeDeadline)); }

  bool is_over(const AttackProgress& progress) const override {
    return progress.grown(kFiredMetric) >= static_cast<double>(kWorkflows * kOfEachWorkflow);
  }
  double work(const AttackProgress& progress) override { return progress.grown(kFiredMetric); }
  std::string_view units() const override { return "timers fired"; }

 private:
  static constexpr size_t kWorkflows = 160;
  static constexpr size_t kOfEachWorkflow = 625;  // 100 000 in all
  static constexpr double kSlot = 0.05;           ///< seconds in which one workflow is started
  static constexpr double kArming = kSlot * kWorkflows;
  static constexpr double kBeforeDeadline = 0.2;

  static SteadyTime after(SteadyTime time, double seconds) {
    return time + std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(seconds));
  }

  SteadyTime deadline_;
  Attacker attacker_;
};

// Calls of a service that reads 64 MiB of files and writes as many, one call after the other.

class Transfers final : public Attack {
 public:
  explicit Transfers(const AttackSite& site)
      : service_([this](const auto& request, auto& connection) {
          if (request.method != "POST") return connection.answer(200);
          return connection.answer(transfer(request) ? 200 : 500, "true");
        }),
        attacker_(site) {}

  void prepare() override {
    attacker_.server().ask("PUT", "/v1/ns/" + attacker_.ns(),
                           fmt::format(R"({{"quotas": {{"storeBytes": "unlimited"}},)"
                                       R"( "services": {{"mover": {{"url": "{}"}}}}}})",
                                       service_.url()));
    std::string files;
    for (size_t i = 0; i < kFiles; ++i) {
      files += fmt::format("\n    - {{key: in-{0}, as: in-{0}, scope: workflow}}", i);
    }
    attacker_.apply("move", fmt::format(R"(
id: move
functions:
  - id: mover
    type: knative-namespace
    service: mover
    files:{}
states:
  - id: call
    type: action
    action: {{function: mover}}
    transform: {{again: true}}
    transition: call
)",
                                        files));
    HttpSession session(attacker_.server().url());
    for (size_t i = 0; i < kFiles; ++i) {
      const std::string path = attacker_.path(fmt::format("workflows/move/variables/in-{}", i));
      CHECK(session.send("PUT", path, bytes_, "application/octet-stream").is_ok(), "{}", path);
    }
  }

  void begin() override { attacker_.send_later("workflows/move/start", "{}"); }

  double work(const AttackProgress&) override {
    const size_t calls = calls_;
    return calls == 0 ? 0 : static_cast<double>(calls - 1);  // the newest call has not ended
  }
  std::string_view units() const override { return "transfers of 64 MiB each way"; }

 private:
  static constexpr size_t kFiles = 16;
  static constexpr size_t kFileBytes = size_t{4} << 20;

  /// Reads and writes the files of a call. Returns whether all requests were answered.
  bool transfer(const HttpPeer::Request& task) {
    ++calls_;
    const std::string url = task.header("Millrace-Files");
    const size_t path = url.find("/v1/");
    if (path == std::string::npos) return false;
    HttpSession session(url.substr(0, path));
    const std::string files = url.substr(path);
    const std::string key = "Millrace-Key: " + task.header("Millrace-Key");
    for (size_t i = 0; i < kFiles; ++i) {
      const SessionAnswer file =
          session.send("GET", fmt::format("{}/in-{}", files, i), "", "", key);
      if (!file.is_ok() || file.body.size() != kFileBytes) return false;
    }
    for (size_t i = 0; i < kFiles; ++i) {
      const std::string out = fmt::format("{}/out/workflow/out-{}", files, i);
      if (!session.send("PUT", out, bytes_, "application/octet-stream", key).is_ok()) return false;
    }
    return true;
  }

  const std::string bytes_ = std::string(kFileBytes, 'm');
  std::atomic<size_t> calls_ = 0;
  HttpPeer service_;
  Attacker attacker_;
};

template <class Kind>
std::unique_ptr<Attack> make_attack(const AttackSite& site) {
  return std::make_unique<Kind>(site);
}

}  // namespace

const std::vector<AttackKind>& attack_kinds() {
  // The timers come last, because their deadline follows from the time of their preparation.
  static const std::vector<AttackKind> kinds = {
      {"loops", "20 loops over 1 MB", make_attack<Loops>},
      {"patterns", "150 backtracking patterns", make_attack<Patterns>},
      {"foreach", "foreach of 10 000 subflows", make_attack<ForeachCalls>},
      {"deletion", "100 000 instances deleted", make_attack<Deletion>},
      {"fanouts", "events that wake 1 000", make_attack<FanOuts>},
      {"timers", "100 000 timers due at once", make_attack<Timers>},
  };
  return kinds;
}

const AttackKind& transfer_attack() {
  static const AttackKind kind = {"transfers", "calls with 64 MiB of files each way",
                                  make_attack<Transfers>};
  return kind;
}

}  // namespace millrace
