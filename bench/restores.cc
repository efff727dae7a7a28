// Restored servers beside event streams that do not fit the backup (docs/operating.md, "The event
// stream after a restore"). A backup is made while lifecycles run at a fixed rate. Then a server on
// the restored store runs beside a broker of its own, whose event stream is
//  - ahead of the backup: a copy of the stream from the end of the load, once with the usual
//    duplicate window and once with one that has passed,
//  - behind it: a copy of the stream from before the backup,
//  - empty: there is no stream.
// From the generated events the program counts the lifecycles that are lost and those that are
// doubled, and compares them with the events that were published after the cursor of the backup.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "bench/arguments.h"
#include "bench/fixed_rate.h"
#include "bench/harness.h"
#include "bench/lifecycle_events.h"
#include "bench/modes.h"
#include "bench/stream_copy.h"
#include "bench/wire_client.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEvents = "MILLRACE_EVENTS";
constexpr const char* kLife = "life";
constexpr const char* kRun = "restores";
/// A restored server has settled when nothing has changed for this long, in seconds.
constexpr double kQuiet = 2;
/// The shortest duplicate window that a NATS server permits, in nanoseconds: it has passed when a
/// restored server runs.
constexpr int64_t kShortWindow = 100'000'000;

struct RestorePlan {
  size_t rounds = 3;
  double rate = 1'000;  ///< lifecycles a second
  /// Seconds of load before the first copy of the stream, between that copy and the backup, and
  /// after the backup.
  double seconds = 5;
};

/// The ids of the generated events, by the number of the lifecycle.
using GeneratedIds = std::map<size_t, std::vector<std::string>>;

/// What the load, the backup and the stream of the original server were.
struct Original {
  size_t lifecycles = 0;
  fs::path backup;
  fs::path key;  ///< the file with the key of the store
  StreamCopy before;
  StreamCopy after;
  std::set<size_t> started_after;  ///< lifecycles whose start event is after the backup's cursor
  std::set<size_t> woken_after;    ///< lifecycles whose wake event is after the backup's cursor
  /// The generated events of the lifecycles whose wake event the backup has applied.
  GeneratedIds known;
};

struct Counts {
  size_t lost = 0;     ///< lifecycles without a generated event
  size_t doubled = 0;  ///< lifecycles with more than one

  bool operator==(const Counts&) const = default;
};

/// A restored server beside one event stream, and what docs/operating.md says about it.
struct Trial {
  const char* stream;
  const StreamCopy* copy;  ///< nullptr: there is no stream
  Counts expected;
  std::string losses;  ///< the kinds of losses that the restored server reports
};

void wait_for_seconds(double seconds) { std::this_thread::sleep_for(Seconds(seconds)); }

GeneratedIds generated_ids(const std::string& url) {
  GeneratedIds ids;
  read_stream(url, kEvents, done_subject(kLife), 1, [&](std::string_view event) {
    ids[number_of_key(key_in(event))].emplace_back(id_in(event));
  });
  return ids;
}

/// Sorts the lifecycles by the events that the stream has after the cursor of the backup.
void read_records(const std::string& url, uint64_t cursor, Original& original) {
  read_stream(url, kEvents, kBenchSubject, cursor + 1, [&](std::string_view event) {
    const std::string_view id = id_in(event);
    (id.front() == 's' ? original.started_after : original.woken_after).insert(number_of_key(id));
  });
  original.known = generated_ids(url);
  std::erase_if(original.known,
                [&](const auto& one) { return original.woken_after.contains(one.first); });
}

/// Runs the load on the original server and makes the backup in `folder`.
Original make_original(const RestorePlan& plan, const fs::path& folder) {
  const Site site;
  const std::string url = site.broker->url();
  MillraceProcess server(site.folder() / "data", url);
  server.start();
  server.apply(kLifecycle, kLife);
  Original original{.backup = folder / "backup", .key = folder / "secret-key"};
  fs::copy_file(site.folder() / "data" / "secret-key", original.key);

  FixedRateLoad load(url, {.run = kRun, .rate = plan.rate});
  wait_for_seconds(plan.seconds);
  original.before = copy_stream(url, kEvents);
  wait_for_seconds(plan.seconds);
  const ProgramRun backup =
      run_millrace({"backup", original.backup.string(), "--url", server.url(), "-o", "json"});
  CHECK(backup.code == 0, "the backup was not made: {}", backup.output);
  wait_for_seconds(plan.seconds);
  const RateTotals totals = load.finish();
  CHECK(totals.exactly_once(), "the original server lost {} and doubled {} lifecycles", totals.lost,
        totals.doubled);
  original.lifecycles = totals.sent;
  original.after = copy_stream(url, kEvents);
  const Result<Json> summary = parse_json(backup.output);
  CHECK(summary.has_value(), "the summary of the backup is not JSON: {}", backup.output);
  read_records(url, summary->at("cursor").at("sequence").get<uint64_t>(), original);
  return original;
}

/// Waits until the server has read its event stream and sent its messages.
void settle(MillraceProcess& server, const std::string& url) {
  std::pair<uint64_t, double> before;
  Stopwatch quiet;
  while (quiet.seconds() < kQuiet) {
    wait_for_seconds(0.1);
    const std::pair now(last_sequence(url, kEvents), server.metric("millrace_batches_total"));
    if (now != before || server.metric("millrace_outbox_bytes") > 0) quiet = Stopwatch();
    before = now;
  }
}

/// Counts from the generated events in the stream of the broker at `url`. A generated event of
/// `known` counts too, once if the stream has it, too.
Counts count(const std::string& url, const Original& original, const GeneratedIds& known) {
  const GeneratedIds found = generated_ids(url);
  Counts counts;
  for (size_t number = 0; number < original.lifecycles; ++number) {
    const auto here = found.find(number);
    const auto there = known.find(number);
    size_t events = here == found.end() ? 0 : here->second.size();
    if (there != known.end()) {
      for (const std::string& id : there->second) {
        const bool is_here =
            here != found.end() && std::ranges::find(here->second, id) != here->second.end();
        events += is_here ? 0 : 1;
      }
    }
    counts.lost += events == 0 ? 1 : 0;
    counts.doubled += events > 1 ? 1 : 0;
  }
  return counts;
}

/// Publishes every event of the load again, as a publisher does that cannot find out which of them
/// the broker has lost. Returns when the server has applied them.
void publish_again(MillraceProcess& server, const std::string& url, size_t lifecycles) {
  WireClient client(url);
  for (size_t number = 0; number < lifecycles; ++number) {
    const std::string key = lifecycle_key(kLife, kRun, number);
    client.publish(kBenchSubject, start_event(kLife, key));
    client.publish(kBenchSubject, wake_event(kLife, key));
  }
  client.flush();
  settle(server, url);
}

/// Prints a row of the result; returns whether it is the expected one.
bool report(const std::string& what, const Counts& counts, const Counts& expected,
            const std::string& further) {
  const bool is_expected = counts == expected;
  row(what, fmt::format("{} lost, {} doubled", counts.lost, counts.doubled),
      fmt::format("{}expected {}, {}{}", is_expected ? "" : "DIFFERS: ", expected.lost,
                  expected.doubled, further));
  return is_expected;
}

/// The kinds of the losses that the server has found in the broker.
std::string losses_of(MillraceProcess& server) {
  const Json info = server.ask("GET", "/v1/info");
  std::vector<std::string> kinds;
  for (const Json& loss : info.at("broker").at("losses")) {
    kinds.push_back(loss.at("kind").get<std::string>());
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

/// Whether the restored server did what was expected.
bool run_trial(const Original& original, const Trial& trial) {
  const Site site;
  const std::string url = site.broker->url();
  if (trial.copy != nullptr) restore_stream(url, *trial.copy);
  const fs::path data = site.folder() / "data";
  const ProgramRun restored =
      run_millrace({"restore", original.backup.string(), "--data", data.string(),
                    "--secret-key-file", original.key.string(), "--copy-key"});
  CHECK(restored.code == 0, "the backup was not restored: {}", restored.output);
  MillraceProcess server(data, url);
  const double ready = server.start();
  settle(server, url);

  // Without a copy, the generated events of the original stream count as well: the subscribers of
  // that stream have received them.
  const GeneratedIds known = trial.copy == nullptr ? original.known : GeneratedIds();
  const std::string losses = losses_of(server);
  const bool is_reported = losses == trial.losses;
  bool passed =
      report(fmt::format("restored server, event stream {}", trial.stream),
             count(url, original, known), trial.expected,
             fmt::format("; {}reported losses: {}; restored in {:.1f} s, ready in {:.1f} s",
                         is_reported ? "" : "DIFFERS: ", losses.empty() ? "none" : losses,
                         restored.seconds, ready));
  if (!trial.losses.empty()) {
    publish_again(server, url, original.lifecycles);
    passed =
        report("  after all events were published again", count(url, original, known), {}, "") &&
        passed;
  }
  return passed && is_reported;
}

bool run_round(const RestorePlan& plan) {
  const ScratchFolder folder = make_run_folder();
  const Original original = make_original(plan, folder.path());
  row(fmt::format("{} lifecycles on the original server", original.lifecycles), "each exactly once",
      fmt::format("after the cursor: {} started, {} woken", original.started_after.size(),
                  original.woken_after.size()));
  // The instances that were started after the backup are started again under the same ids, so their
  // generated events are recognized. An event that only the lost part of a stream had is lost.
  const Counts lost{.lost = original.woken_after.size(), .doubled = 0};
  StreamCopy late = original.after;
  late.config["duplicate_window"] = kShortWindow;
  const Trial trials[] = {
      {"ahead of the backup", &original.after, {}, ""},
      {"ahead, duplicate window passed", &late, {}, ""},
      {"behind the backup", &original.before, lost, "tail"},
      {"empty", nullptr, lost, "stream"},
  };
  bool passed = true;
  for (const Trial& trial : trials) passed = run_trial(original, trial) && passed;
  return passed;
}

}  // namespace

Result<int> restores(const ModeArguments& arguments) {
  RestorePlan plan;
  TRY(read_arguments(
      arguments, {{"ROUNDS", &plan.rounds}, {"--rate", &plan.rate}, {"--seconds", &plan.seconds}}));
  row("what", "figure", "comparison");
  row("---", "---:", "---");
  bool passed = true;
  for (size_t i = 0; i < plan.rounds; ++i) passed = run_round(plan) && passed;
  return passed ? 0 : 1;
}

}  // namespace millrace
