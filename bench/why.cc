// A mode that measures why an event woke nothing, among many instances that wait for its type: how
// long an answer takes, asked of the event and of the instance, whether it has the near miss of the
// oldest instance, and what the questions cost the lifecycles beside them.
#include <atomic>
#include <cctype>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/arguments.h"
#include "bench/harness.h"
#include "bench/http_session.h"
#include "bench/lifecycle_events.h"
#include "bench/lifecycles.h"
#include "bench/modes.h"
#include "bench/time_summary.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

constexpr double kWhyAimMs = 50;
/// The lifecycles that are measured beside the questions, and how often.
constexpr size_t kAskedPairs = 3;

struct WhyPlan {
  size_t instances = 1'000'000;
  size_t asks = 200;
  size_t lifecycles = 60'000;
  double rate = 20;  ///< questions a second beside the lifecycles
};

std::string waiting_key(size_t number) { return lifecycle_key("life", "w", number); }

/// An event that differs from the one for which an instance waits in upper and lower case only.
std::string near_miss(size_t number) {
  std::string key = waiting_key(number);
  for (char& letter : key) {
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return with_key("life.go", fmt::format("miss-{}", number), key);
}

class WhyBench {
 public:
  WhyBench(const Site& site, MillraceProcess& server, const WhyPlan& plan)
      : site_(site), server_(server), plan_(plan), session_(server.url()) {}

  void measure_answers() {
    const std::string oldest = oldest_instance();
    const std::string event = fmt::format("/events/{}/why", send_near_miss());
    const std::string by_value = fmt::format("attribute=key&value={}", waiting_key(0));
    measure("why of an event", "near", [&](size_t) { return get(event); });
    measure("  asked for the instance", "near",
            [&](size_t) { return get(event + "?instance=" + oldest); });
    measure("  asked for the value", "near", [&](size_t) { return get(event + "?" + by_value); });
    const std::string instance = fmt::format("/instances/{}/why", oldest);
    measure("why of an instance, one event", "events",
            [&](size_t) { return get(instance + "?event=" + sequence_); });
    measure("why of an instance, the newest events", "events",
            [&](size_t) { return get(instance); });
    measure("an event tried, any of the instances", "near", [&](size_t ask) {
      return send("POST", "/events/try", near_miss(ask * (plan_.instances / plan_.asks)));
    });
    measure("listeners of a value", "", [&](size_t) { return get("/listeners?" + by_value); });
  }

  /// Asks at the rate of the plan until the object is destroyed.
  class Asking {
   public:
    explicit Asking(WhyBench& bench) : thread_([this, &bench] { ask(bench); }) {}
    ~Asking() {
      ends_ = true;
      thread_.join();
    }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    void ask(WhyBench& bench) {
      const Stopwatch watch;
      for (size_t asked = 0; !ends_; ++asked) {
        bench.send("POST", "/events/try", near_miss(asked % bench.plan_.asks));
        const double due = static_cast<double>(asked + 1) / bench.plan_.rate;
        const double early = due - watch.seconds();
        if (early > 0) std::this_thread::sleep_for(Seconds(early));
      }
    }

    std::atomic<bool> ends_ = false;
    std::thread thread_;
  };

 private:
  Json send(const std::string& method, const std::string& path, const std::string& body = "") {
    const SessionAnswer answer = session_.send(method, "/v1/ns/default" + path, body,
                                               body.empty() ? "" : "application/cloudevents+json");
    CHECK(answer.is_ok(), "{} {}: status {}, {}", method, path, answer.status, answer.body);
    Result<Json> json = parse_json(answer.body);
    CHECK(json.has_value(), "{} {}: {}", method, path, json.error().message);
    return *std::move(json);
  }
  Json get(const std::string& path) { return send("GET", path); }

  std::string oldest_instance() {
    const Json listeners =
        get(fmt::format("/listeners?kind=instance&attribute=key&value={}", waiting_key(0)));
    CHECK(listeners["items"].size() == 1, "the first instance does not wait: {}",
          dump_json(listeners));
    return listeners["items"][0]["instance"];
  }

  /// Sends the near miss of the oldest instance, and waits until it is applied.
  std::string send_near_miss() {
    const std::string event = near_miss(0);
    PlainClient client(site_.broker->url());
    client.publish(kBenchSubject, event);
    client.flush();
    const std::string_view id = id_in(event);
    while (sequence_.empty()) {
      const Json events = get("/events?type=life.go&limit=1");
      const Json& items = events["items"];
      if (!items.empty() && items[0]["id"] == id && items[0]["applied"] == true) {
        sequence_ = dump_json(items[0]["sequence"]);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return sequence_;
  }

  /// Prints how long the answers took. `list` is the member of an answer whose first item must be
  /// the near miss; empty: nothing is checked.
  void measure(const std::string& what, const std::string& list,
               const std::function<Json(size_t ask)>& ask) {
    std::vector<double> times;
    for (size_t i = 0; i < plan_.asks; ++i) {
      const Stopwatch watch;
      const Json answer = ask(i);
      times.push_back(watch.seconds() * 1'000);
      if (list.empty()) continue;
      const Json& found = answer[list];
      CHECK(!found.empty() && !found[0]["predicates"].empty() &&
                found[0]["predicates"][0].value("hint", "") == "case",
            "{}: the nearest is no near miss: {}", what, dump_json(answer));
    }
    const TimeSummary summary = *summarize(std::move(times));
    row(fmt::format("{}, {} waiting", what, plan_.instances),
        fmt::format("p50 {:.1f} ms, p99 {:.1f} ms", summary.p50, summary.p99),
        beside_aim(summary, kWhyAimMs));
  }

  const Site& site_;
  MillraceProcess& server_;
  const WhyPlan& plan_;
  HttpSession session_;
  std::string sequence_;  ///< of the near miss of the oldest instance
};

/// Prints the lifecycles beside the questions, and without them.
void measure_beside_questions(const Site& site, MillraceProcess& server, WhyBench& bench,
                              const WhyPlan& plan) {
  const RatesInTurns rates = rates_in_turns(site, server.pid(), kAskedPairs, plan.lifecycles, [&] {
    return std::make_unique<WhyBench::Asking>(bench);
  });
  row(fmt::format("lifecycles beside {:.0f} questions a second", plan.rate),
      fmt::format("{:.0f}/s", rates.beside),
      fmt::format("without questions {:.0f}/s: {:.3f} (median of {} pairs)", rates.alone,
                  rates.ratio, kAskedPairs));
}

}  // namespace

Result<int> why(const ModeArguments& arguments) {
  WhyPlan plan;
  TRY(read_arguments(arguments, {{"INSTANCES", &plan.instances},
                                 {"--asks", &plan.asks},
                                 {"--lifecycles", &plan.lifecycles},
                                 {"--rate", &plan.rate}}));
  if (plan.asks == 0 || plan.asks > plan.instances) {
    return fail("bench.argument", fmt::format("--asks: {}; expected 1 to {}, the number of "
                                              "instances",
                                              plan.asks, plan.instances));
  }
  const Site site;
  MillraceProcess server(site.folder() / "data", site.broker->url(), {"--dedupe-window", "1s"});
  server.start();
  server.apply(kLifecycle, "life");
  row("what", "figure", "aim of the 99th percentile, or comparison");
  row("---", "---:", "---");
  WhyBench bench(site, server, plan);
  run_lifecycles(
      site, server.pid(),
      {.run = "w", .in_flight = 1, .count = 0, .waiting = plan.instances + 1, .filled = [&] {
         bench.measure_answers();
       }});
  if (plan.lifecycles > 0) measure_beside_questions(site, server, bench, plan);
  return 0;
}

}  // namespace millrace
