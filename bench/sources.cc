// A mode that measures sources: how many plain JSON messages go through a source beside the same
// data as CloudEvents of the publisher, and how long the lifecycles of another namespace take while
// a source reads a backlog.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/json.h"
#include "bench/arguments.h"
#include "bench/harness.h"
#include "bench/modes.h"
#include "bench/stream_load.h"
#include "bench/time_summary.h"
#include "bench/victim.h"
#include "broker/streams.h"

namespace millrace {
namespace {

/// The rate through a source, divided by the rate of native events, is at least this.
constexpr double kRatioAim = 0.5;
constexpr size_t kLifecyclesInFlight = 8;
/// Between two readings of the lag, in seconds.
constexpr double kBetweenLags = 3;
constexpr const char* kShop = "shop";

/// A workflow that each order starts; its instances end at once.
constexpr const char* kTakesOrder = R"(
id: takes-order
start:
  type: event
  event:
    type: order.placed
states:
  - id: done
    type: noop
)";

struct SourcesPlan {
  size_t waiting = 1'000'000;  ///< messages of the backlog; 0: no backlog is measured
  double seconds = 15;         ///< of each measurement of the lifecycles
  size_t pairs = 6;            ///< of loads; 0: no rates are measured
  size_t messages = 50'000;    ///< of each load
};

/// What the messages of one load become.
struct OrderKind {
  std::string_view label;
  const char* stream;   ///< of the plain messages
  const char* subject;  ///< of these messages
  const char* type;     ///< of the events
  const char* metric;   ///< counts the events that took effect, or were read
};
constexpr OrderKind kOrderKinds[] = {
    {"each starts an instance", "ORDERS", "shop.orders", "order.placed",
     "millrace_instances_started_total"},
    {"that match nothing", "OFFERS", "shop.offers", "order.offered", "millrace_events_total"},
};

/// The data of a message or an event, about 350 bytes.
std::string order_data(size_t number) {
  static const std::string note(200, 'x');
  return fmt::format(
      R"({{"order":"o-{}","customer":"c-{}","lines":[{{"article":"a-17","count":2,"price":19.5}},)"
      R"({{"article":"a-4","count":1,"price":7}}],"note":"{}"}})",
      number, number % 1'000, note);
}

/// The same order as a CloudEvent in the JSON format, as a publisher of events would send it.
std::string native_order(std::string_view type, std::string_view run, size_t number) {
  return fmt::format(
      R"({{"specversion":"1.0","id":"{}-{}","source":"/shop","type":"{}","subject":"c-{}",)"
      R"("datacontenttype":"application/json","data":{}}})",
      run, number, type, number % 1'000, order_data(number));
}

/// Applies a source that reads all messages of a stream. `further` are further settings, each with
/// a comma before it.
void apply_source(MillraceProcess& server, std::string_view ns, std::string_view name,
                  const OrderKind& kind, std::string_view further) {
  server.ask("PUT", fmt::format("/v1/ns/{}/sources/{}", ns, name),
             fmt::format(R"j({{"stream": "{}", "begin": "all", "mapping": )j"
                         R"j({{"type": "{}", "subject": "jq(.data.customer)"}}{}}})j",
                         kind.stream, kind.type, further));
}

// The rates.

/// Loads through a source and loads of native events, in turns on one server.
class SourceRates {
 public:
  explicit SourceRates(const SourcesPlan& plan) : plan_(plan) {
    server_.start();
    server_.apply(kTakesOrder, "takes-order");
  }

  void measure(const OrderKind& kind) {
    make_plain_stream(site_.broker->url(), kind.stream, kind.subject);
    apply_source(server_, "default", kind.stream, kind, R"(, "rate": 100000)");
    native_rate(kind);  // not counted: the first loads are slower
    source_rate(kind);
    std::vector<double> natives;
    std::vector<double> sourced;
    std::vector<double> ratios;
    for (size_t pair = 0; pair < plan_.pairs; ++pair) {
      const bool is_source_first = pair % 2 == 0;
      if (is_source_first) sourced.push_back(source_rate(kind));
      natives.push_back(native_rate(kind));
      if (!is_source_first) sourced.push_back(source_rate(kind));
      ratios.push_back(sourced.back() / natives.back());
    }
    const double ratio = percentile(ratios, 0.5);
    row(fmt::format("plain JSON through a source, {}", kind.label),
        fmt::format("{:.0f}/s", percentile(sourced, 0.5)),
        fmt::format("native events {:.0f}/s: {:.2f} (median of {} pairs, {:.2f} to {:.2f}); aim "
                    "{}: {}",
                    percentile(natives, 0.5), ratio, plan_.pairs, percentile(ratios, 0),
                    percentile(ratios, 1), kRatioAim, ratio >= kRatioAim ? "kept" : "missed"));
    std::fflush(stdout);
  }

 private:
  double source_rate(const OrderKind& kind) {
    StreamLoad load(site_.broker->url(), kind.stream);
    return rate(kind, load, kind.subject, [](size_t number) { return order_data(number); });
  }

  double native_rate(const OrderKind& kind) {
    const std::string run = fmt::format("n{}", ++runs_);
    StreamLoad load(site_.broker->url(), events_stream().name);
    return rate(kind, load, kBenchSubject,
                [&](size_t number) { return native_order(kind.type, run, number); });
  }

  /// Publishes one load, and waits until all of its events have had their effect.
  template <class Text>
  double rate(const OrderKind& kind, StreamLoad& load, std::string_view subject, const Text& text) {
    const double before = server_.metric(kind.metric);
    const Stopwatch watch;
    for (size_t i = 0; i < plan_.messages; ++i) load.publish(subject, text(i));
    load.finish();
    const auto count = static_cast<double>(plan_.messages);
    server_.wait_for(kind.metric, before + count);
    return count / watch.seconds();
  }

  const SourcesPlan plan_;
  Site site_;
  MillraceProcess server_{site_.folder() / "data", site_.broker->url()};
  size_t runs_ = 0;
};

// The backlog.

/// How a source reads a backlog: with the default rate, or as fast as it can.
struct BacklogKind {
  const char* name;  ///< of the source
  std::string_view label;
  std::string_view further;  ///< settings, as of apply_source()
  bool has_aim;              ///< the p99 of the lifecycles beside it is to be as alone
};
constexpr BacklogKind kBacklogKinds[] = {
    {"steady", "with the default rate", "", true},
    {"fast", "as fast as it can", R"(, "rate": 100000)", false},
};

/// Reads the lag of a source every few seconds, beginning with a known one.
class LagReadings {
 public:
  LagReadings(MillraceProcess& server, std::string path, uint64_t first)
      : server_(server), path_(std::move(path)), lags_({first}) {}

  /// Reads the lag if it is time for it. Returns whether the source has read everything.
  bool read_if_due() {
    if (since_.seconds() >= kBetweenLags) read();
    return lags_.back() == 0;
  }

  void read() {
    since_ = Stopwatch();
    const Json source = server_.ask("GET", path_);
    if (source.contains("lag")) lags_.push_back(source.at("lag").get<uint64_t>());
  }

  /// Whether each lag is less than the one before it, down to 0.
  bool falls_steadily() const {
    for (size_t i = 1; i < lags_.size(); ++i) {
      if (lags_[i] >= lags_[i - 1] && lags_[i - 1] > 0) return false;
    }
    return lags_.size() > 1;
  }
  /// How many messages were read between the first and the last reading.
  double read_messages() const {
    return static_cast<double>(lags_.front()) - static_cast<double>(lags_.back());
  }
  const std::vector<uint64_t>& lags() const { return lags_; }

 private:
  MillraceProcess& server_;
  const std::string path_;
  Stopwatch since_;
  std::vector<uint64_t> lags_;
};

std::string in_words(const TimeSummary& times) {
  return fmt::format("p50 {:.2f} ms, p99 {:.2f} ms, longest {:.1f} ms", times.p50, times.p99,
                     times.longest);
}

/// The lifecycles of one namespace, alone and beside sources of another one that read a backlog.
class SourceBacklog {
 public:
  explicit SourceBacklog(const SourcesPlan& plan) : plan_(plan) {
    server_.start();
    server_.ask("PUT", "/v1/ns/victim");
    server_.ask("PUT", shop(""));
    server_.ask("PUT", shop("/workflows/takes-order"), kTakesOrder);
    make_plain_stream(site_.broker->url(), kKind.stream, kKind.subject);
    for (const BacklogKind& kind : kBacklogKinds) {
      apply_source(server_, kShop, kind.name, kKind,
                   fmt::format(R"(, "paused": true{})", kind.further));
    }
    StreamLoad load(site_.broker->url(), kKind.stream);
    for (size_t i = 0; i < plan_.waiting; ++i) load.publish(kKind.subject, order_data(i));
    load.finish();
  }

  /// Returns whether all went as it must: the lag fell steadily, and each message counted once.
  bool measure() {
    Victim victim(site_, server_, "victim");
    bool is_right = true;
    for (const BacklogKind& kind : kBacklogKinds) is_right = measure(victim, kind) && is_right;
    return check_the_rest(kBacklogKinds[1]) && is_right;
  }

 private:
  static constexpr OrderKind kKind = kOrderKinds[0];

  static std::string shop(std::string_view path) { return fmt::format("/v1/ns/{}{}", kShop, path); }
  static std::string source(const BacklogKind& kind) {
    return shop(fmt::format("/sources/{}", kind.name));
  }

  bool measure(Victim& victim, const BacklogKind& kind) {
    const VictimTimes alone =
        victim.measure(kLifecyclesInFlight, {.seconds = plan_.seconds, .is_over = {}});
    LagReadings readings(server_, source(kind), plan_.waiting);
    server_.ask("POST", source(kind) + "/resume");
    const Stopwatch watch;
    const VictimTimes beside = victim.measure(
        kLifecyclesInFlight,
        {.seconds = plan_.seconds, .is_over = [&] { return readings.read_if_due(); }});
    const double seconds = watch.seconds();
    readings.read();
    server_.ask("POST", source(kind) + "/pause");
    print(kind, alone, beside);
    const bool falls = readings.falls_steadily();
    row(fmt::format("  lag of the source, every {:.0f} s", kBetweenLags),
        fmt::format("{:.0f} messages/s", readings.read_messages() / seconds),
        fmt::format("{}: {}", fmt::join(readings.lags(), ", "),
                    falls ? "falls steadily" : "DOES NOT FALL STEADILY"));
    std::fflush(stdout);
    return falls;
  }

  void print(const BacklogKind& kind, const VictimTimes& alone, const VictimTimes& beside) const {
    const auto without = summarize(alone.lifecycles);
    const auto with = summarize(beside.lifecycles);
    CHECK(without.has_value() && with.has_value(), "no lifecycle ended");
    row(fmt::format("lifecycles of another namespace, {} in flight, alone", kLifecyclesInFlight),
        in_words(*without), fmt::format("{} lifecycles", alone.lifecycles.size()));
    row(fmt::format("  beside a source with {} waiting messages, {}", plan_.waiting, kind.label),
        in_words(*with),
        fmt::format("{} lifecycles; p99 / p99 alone: {:.2f}{}{}", beside.lifecycles.size(),
                    with->p99 / without->p99,
                    kind.has_aim ? ", " + aim_verdict(*with, without->p99) : "",
                    beside.unfinished == 0
                        ? ""
                        : fmt::format("; {} lifecycles did not end", beside.unfinished)));
  }

  /// Lets a source read what is left of its backlog, and checks that each message counted once.
  bool check_the_rest(const BacklogKind& kind) {
    server_.ask("POST", source(kind) + "/resume");
    Json shown;
    Stopwatch idle;
    uint64_t position = 0;
    while (position < plan_.waiting && idle.seconds() < kLongestIdle) {
      shown = server_.ask("GET", source(kind));
      const auto now = shown.at("position").get<uint64_t>();
      if (now != position) idle = Stopwatch();
      position = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    const bool is_exact = shown.value("events", size_t{0}) == plan_.waiting;
    row(fmt::format("  messages that counted once, of {}", plan_.waiting),
        dump_json(shown.value("events", Json())), is_exact ? "all" : dump_json(shown));
    return is_exact;
  }

  /// How long the source may read nothing at the end, in seconds.
  static constexpr double kLongestIdle = 60;

  const SourcesPlan plan_;
  Site site_;
  MillraceProcess server_{site_.folder() / "data", site_.broker->url()};
};

/// The number in an environment variable, or another one if it is not set.
Result<size_t> number_in_variable(const char* variable, size_t otherwise) {
  const char* const set = std::getenv(variable);
  if (set == nullptr) return otherwise;
  const std::string_view text = set;
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return fail("bench.argument", fmt::format("{}: {} is not a number", variable, text));
}

}  // namespace

Result<int> sources(const ModeArguments& arguments) {
  SourcesPlan plan;
  plan.waiting = TRY(number_in_variable("MILLRACE_BENCH_WAITING", plan.waiting));
  TRY(read_arguments(arguments, {{"WAITING", &plan.waiting},
                                 {"--seconds", &plan.seconds},
                                 {"--pairs", &plan.pairs},
                                 {"--messages", &plan.messages}}));
  row("what", "figure", "comparison");
  row("---", "---:", "---");
  if (plan.pairs > 0 && plan.messages > 0) {
    SourceRates rates(plan);
    for (const OrderKind& kind : kOrderKinds) rates.measure(kind);
  }
  if (plan.waiting == 0) return 0;
  return SourceBacklog(plan).measure() ? 0 : 1;
}

}  // namespace millrace
