// Hostile neighbours: how long the lifecycles and the commands of one workflow take, alone and
// beside another workflow that loads the engine as much as it can: each attack of attacks.h alone
// in another namespace, then all of them at once, in another namespace and in that of the workflow.
// Each row has a server of its own, so no attack is slowed down by what an earlier one has left.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/arguments.h"
#include "bench/attacks.h"
#include "bench/harness.h"
#include "bench/http_session.h"
#include "bench/modes.h"
#include "bench/thread_times.h"
#include "bench/time_summary.h"
#include "bench/victim.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVictimNamespace = "victim";
constexpr const char* kAttackerNamespace = "attacker";
constexpr size_t kInFlight[] = {1, 8, 64};
/// From the end of the measurement without the attack until the attack begins, in seconds, at most.
constexpr double kBetween = 3;
/// The name of the engine thread, which applies the work of all.
constexpr const char* kEngineThread = "engine";
/// How many other threads of the server a row names.
constexpr size_t kOtherThreads = 5;
/// How long the bench waits for the first committed work of an attack, in seconds.
constexpr double kFirstWork = 30;
/// No quota ends an attack early.
constexpr const char* kNoQuotas =
    R"({"quotas": {"instances": "unlimited", "storeBytes": "unlimited",)"
    R"( "historyBytes": "unlimited", "eventsPerSecond": "unlimited", "calls": "unlimited",)"
    R"( "workflows": "unlimited", "startKeys": "unlimited"}})";

struct NeighbourPlan {
  double seconds = 10;   ///< of each row, beside the attack
  std::string attack;    ///< name of the attacks; empty: all
  size_t in_flight = 0;  ///< 0: each of kInFlight
  fs::path beside;       ///< another program, whose rows come first; empty: none
};

/// The attacks of one measured.
struct Scenario {
  std::string_view name;
  std::string_view label;
  std::vector<AttackKind> kinds;
  const char* ns;
};

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> scenarios;
  for (const AttackKind& kind : attack_kinds()) {
    scenarios.push_back({kind.name, kind.label, {kind}, kAttackerNamespace});
  }
  scenarios.push_back(
      {transfer_attack().name, transfer_attack().label, {transfer_attack()}, kAttackerNamespace});
  std::vector<AttackKind> steady = attack_kinds();
  std::erase_if(steady, [](const AttackKind& kind) {
    return kind.name == "fanouts" || kind.name == "timers";
  });
  scenarios.push_back(
      {"steady", "loops, patterns, foreach and deletion", std::move(steady), kAttackerNamespace});
  scenarios.push_back({"all", "all at once", attack_kinds(), kAttackerNamespace});
  scenarios.push_back({"same", "all, in the same namespace", attack_kinds(), kVictimNamespace});
  return scenarios;
}

struct NeighbourRow {
  VictimTimes alone;
  VictimTimes beside;
  double seconds = 0;                        ///< of the attack
  std::optional<ReportedUnit> longest_unit;  ///< during the attack
  std::string engine_alone;       ///< in_percent() of the engine thread, without the attack
  std::string engine;             ///< the same during the attack
  std::string others;             ///< busiest() of the other threads during the attack
  std::string longest_turn;       ///< during the attack
  double commit_waits = 0;        ///< of commits for checkpoints, in seconds, during the attack
  double events_refused = 0;      ///< dead letters `millrace.match.budget` during the attack
  std::vector<std::string> work;  ///< of each attack
  std::vector<std::string_view> idle;  ///< attacks for which the server has committed nothing
};

/// Creates the namespace without quotas. Earlier releases refuse the setting, and have no quotas.
void make_namespace(MillraceProcess& server, const std::string& ns) {
  HttpSession session(server.url());
  if (!session.send("PUT", "/v1/ns/" + ns, kNoQuotas, "application/json").is_ok()) {
    server.ask("PUT", "/v1/ns/" + ns);
  }
}

/// The work of an attack. If the server has committed none yet, waits for the first.
double work_of(Attack& attack, AttackProgress& progress, MillraceProcess& server) {
  const Stopwatch watch;
  double work = attack.work(progress);
  while (work <= 0 && watch.seconds() < kFirstWork) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    progress.after = server.metrics();
    work = attack.work(progress);
  }
  return work;
}

std::string with_parts(const ReportedTurn& turn) {
  constexpr double kMilliseconds = 1000;
  return fmt::format("{:.1f} (apply {:.1f}, commit {:.1f}, perform {:.1f}; processor {:.1f})",
                     kMilliseconds * turn.all, kMilliseconds * turn.apply,
                     kMilliseconds * turn.commit, kMilliseconds * turn.perform,
                     kMilliseconds * turn.processor);
}

/// The longest turn between two readings of the metrics, with its parts. If there was a longer one
/// in the minute before, only its time is known, as an upper bound.
std::string longest_turn_between(std::string_view before, std::string_view after) {
  const auto earlier = longest_turn(before);
  const auto turn = longest_turn(after);
  if (!earlier || !turn) return "-";
  if (turn->all > earlier->all) return with_parts(*turn);
  return fmt::format("at most {:.1f}", 1000 * turn->all);
}

NeighbourRow measure_row(const Scenario& scenario, size_t in_flight, double seconds,
                         const fs::path& program) {
  const Site site;
  MillraceProcess server(site.folder() / "data", site.broker->url(), {}, program);
  server.start();
  make_namespace(server, kVictimNamespace);
  make_namespace(server, kAttackerNamespace);
  Victim victim(site, server, kVictimNamespace);
  const double alone = seconds / 2;
  std::vector<std::unique_ptr<Attack>> attacks;
  for (const AttackKind& kind : scenario.kinds) {
    attacks.push_back(kind.make(
        {.site = site, .server = server, .ns = scenario.ns, .until_begin = alone + kBetween}));
    attacks.back()->prepare();
  }

  NeighbourRow measured;
  const ThreadTimes at_first = thread_times(server.pid());
  const Stopwatch watch_alone;
  measured.alone = victim.measure(in_flight, {.seconds = alone, .is_over = {}});
  const ThreadTimes before = thread_times(server.pid());
  measured.engine_alone =
      in_percent(added_between(at_first, before), kEngineThread, watch_alone.seconds());
  AttackProgress progress{.before = server.metrics(), .after = {}};
  const Stopwatch watch;
  // The timers begin first: their begin waits for the deadline.
  for (auto attack = attacks.rbegin(); attack != attacks.rend(); ++attack) (*attack)->begin();
  const auto is_over = [&] {
    const AttackProgress now{.before = progress.before, .after = server.metrics()};
    for (const auto& attack : attacks) {
      if (!attack->is_over(now)) return false;
    }
    return true;
  };
  measured.beside = victim.measure(in_flight, {.seconds = seconds, .is_over = is_over});
  measured.seconds = watch.seconds();
  const ThreadTimes added = added_between(before, thread_times(server.pid()));
  measured.engine = in_percent(added, kEngineThread, measured.seconds);
  measured.others = busiest(added, kEngineThread, measured.seconds, kOtherThreads);
  progress.after = server.metrics();
  progress.victim_started = measured.beside.started;
  measured.longest_unit = longest_unit(progress.before, progress.after);
  measured.longest_turn = longest_turn_between(progress.before, progress.after);
  measured.commit_waits = progress.grown("millrace_store_commit_wait_seconds_total");
  measured.events_refused = progress.grown("millrace_matches_refused_total");
  for (size_t i = 0; i < attacks.size(); ++i) {
    const double work = work_of(*attacks[i], progress, server);
    measured.work.push_back(fmt::format("{:.0f} {}", work, attacks[i]->units()));
    if (work <= 0) measured.idle.push_back(scenario.kinds[i].name);
  }
  server.kill();  // ends the requests of the attacks that have no answer yet
  return measured;
}

// The table.

/// "p50 / p99 / longest", in milliseconds.
std::string times(const std::vector<double>& each) {
  const auto summary = summarize(each);
  if (!summary) return "-";
  return fmt::format("{:.2f} / {:.2f} / {:.1f}", summary->p50, summary->p99, summary->longest);
}

/// The p99 beside the attack, divided by the p99 alone.
std::string ratio(const std::vector<double>& alone, const std::vector<double>& beside) {
  const auto without = summarize(alone);
  const auto with = summarize(beside);
  if (!without || !with) return "-";
  return fmt::format("{:.1f}", with->p99 / without->p99);
}

std::string longest(const std::optional<ReportedUnit>& unit) {
  if (!unit) return "-";
  if (std::isinf(unit->seconds)) return "more than measured";
  return fmt::format("{:.2f} {}", unit->seconds * 1000, unit->kind);
}

/// Remarks on a row: what did not end, for what all had to wait, and attacks that did nothing.
std::string remarks(const NeighbourRow& measured) {
  std::vector<std::string> all;
  if (measured.beside.unfinished > 0) {
    all.push_back(fmt::format("{} lifecycles did not end", measured.beside.unfinished));
  }
  if (measured.beside.refused > 0) {
    all.push_back(fmt::format("{} commands refused", measured.beside.refused));
  }
  if (measured.events_refused > 0) {
    all.push_back(
        fmt::format("{:.0f} events refused because of undecided matches", measured.events_refused));
  }
  if (measured.commit_waits > 0) {
    all.push_back(fmt::format("commits waited {:.2f} s for checkpoints", measured.commit_waits));
  }
  if (!measured.idle.empty()) {
    all.push_back(fmt::format("NO WORK was committed for: {}", fmt::join(measured.idle, ", ")));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

void print_head() {
  fmt::print(
      "Times are p50 / p99 / longest, in ms. Of threads: the part of the time in which they run, "
      "and in which they wait for a processor, in %.\n\n"
      "| program | attack | in flight | lifecycle alone | beside it | p99 ratio | command alone "
      "| beside it | longest unit, at most, ms | longest turn, ms | engine thread alone "
      "| beside it | other threads beside it | work of the attacker | remarks |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | --- | "
      "--- "
      "| --- |\n");
}

void print(std::string_view program, const Scenario& scenario, size_t in_flight,
           const NeighbourRow& measured) {
  fmt::print(
      "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} in {:.1f} s | {} |\n",
      program, scenario.label, in_flight, times(measured.alone.lifecycles),
      times(measured.beside.lifecycles),
      ratio(measured.alone.lifecycles, measured.beside.lifecycles), times(measured.alone.commands),
      times(measured.beside.commands), longest(measured.longest_unit), measured.longest_turn,
      measured.engine_alone, measured.engine, measured.others, fmt::join(measured.work, ", "),
      measured.seconds, remarks(measured));
  std::fflush(stdout);
}

// The arguments.

Result<NeighbourPlan> plan_of(const ModeArguments& arguments) {
  NeighbourPlan plan;
  TRY(read_arguments(arguments, {{"SECONDS", &plan.seconds},
                                 {"--attack", &plan.attack},
                                 {"--in-flight", &plan.in_flight},
                                 {"--beside", &plan.beside}}));
  const char* const beside = std::getenv("MILLRACE_BENCH_BESIDE");
  if (plan.beside.empty() && beside != nullptr) plan.beside = beside;
  std::error_code ignored;
  if (!plan.beside.empty() && !fs::is_regular_file(plan.beside, ignored)) {
    return fail("bench.argument", fmt::format("--beside: {} is not a file; name a program millrace",
                                              plan.beside.string()));
  }
  return plan;
}

Result<std::vector<Scenario>> scenarios_of(const NeighbourPlan& plan) {
  std::vector<Scenario> all = all_scenarios();
  if (plan.attack.empty()) return all;
  std::vector<std::string_view> names;
  for (Scenario& scenario : all) {
    if (scenario.name == plan.attack) return std::vector<Scenario>{std::move(scenario)};
    names.push_back(scenario.name);
  }
  return fail("bench.argument", fmt::format("--attack: {} is not the name of an attack; expected "
                                            "one of {}",
                                            plan.attack, fmt::join(names, ", ")));
}

}  // namespace

Result<int> neighbours(const ModeArguments& arguments) {
  const NeighbourPlan plan = TRY(plan_of(arguments));
  const std::vector<Scenario> scenarios = TRY(scenarios_of(plan));
  std::vector<size_t> in_flight(std::begin(kInFlight), std::end(kInFlight));
  if (plan.in_flight > 0) in_flight = {plan.in_flight};
  print_head();
  for (const Scenario& scenario : scenarios) {
    for (const size_t count : in_flight) {
      if (!plan.beside.empty()) {
        print("before", scenario, count, measure_row(scenario, count, plan.seconds, plan.beside));
      }
      print(plan.beside.empty() ? "this" : "after", scenario, count,
            measure_row(scenario, count, plan.seconds, {}));
    }
  }
  return 0;
}

}  // namespace millrace
