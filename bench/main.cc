// ./dev bench: prints a table of results on this machine. Most figures have a comparison that was
// measured in the same run. `bench NAME` prints only the rows of one benchmark, or runs one mode
// (modes.h) with the arguments after its name.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/bare_loop.h"
#include "bench/harness.h"
#include "bench/modes.h"
#include "bench/rows.h"
#include "expressions/workers/worker.h"

namespace {

/// A benchmark and, with arguments after the name, a mode.
constexpr std::string_view kCluster = "cluster";

struct Benchmark {
  std::string_view name;
  void (*run)();
};
constexpr Benchmark kBenchmarks[] = {
    {"matching", millrace::matching},     {"unmatched", millrace::unmatched},
    {"store", millrace::store},           {"engine", millrace::engine_path},
    {"lifecycles", millrace::lifecycles}, {"wheel", millrace::timer_wheel},
    {"timers", millrace::timers},         {"expressions", millrace::expressions},
    {"waiting", millrace::waiting},       {"workers", millrace::workers},
    {"tasks", millrace::tasks},           {"isolation", millrace::isolation},
    {"crowd", millrace::crowd},           {"queues", millrace::queues},
    {"beside", millrace::beside},         {kCluster, millrace::cluster_log},
};

struct Mode {
  std::string_view name;
  const char* arguments;
  millrace::Result<int> (*run)(const millrace::ModeArguments& arguments);
};
constexpr Mode kModes[] = {
    {"soak", "[MINUTES] [--rate LIFECYCLES] [--backups SECONDS] [--out DIR]", millrace::soak},
    {"restores", "[ROUNDS] [--rate LIFECYCLES] [--seconds SECONDS]", millrace::restores},
    {"deletions", "[INSTANCES] [LIFECYCLES]", millrace::deletions},
    {"neighbours", "[SECONDS] [--attack NAME] [--in-flight LIFECYCLES] [--beside PROGRAM]",
     millrace::neighbours},
    {"lists",
     "[INSTANCES] [--records RECORDS] [--requests REQUESTS] [--beside READERS] "
     "[--lifecycles LIFECYCLES]",
     millrace::lists},
    {"why", "[INSTANCES] [--asks QUESTIONS] [--lifecycles LIFECYCLES] [--rate QUESTIONS]",
     millrace::why},
    {"watching", "[PAIRS] [--streams STREAMS] [--lifecycles LIFECYCLES] [--in-flight LIFECYCLES]",
     millrace::watching},
    {"lookback", "[ENTRIES] [--rate EVENTS] [--history EVENTS] [--lead SECONDS]",
     millrace::lookback},
    {"sources", "[WAITING] [--seconds SECONDS] [--pairs PAIRS] [--messages MESSAGES]",
     millrace::sources},
    {kCluster, "[SECONDS] [--rounds ROUNDS] [--waiting INSTANCES] [--lifecycles LIFECYCLES]",
     millrace::cluster},
};

int run_mode(const Mode& mode, const millrace::ModeArguments& arguments) {
  const millrace::Result<int> code = mode.run(arguments);
  if (code) return *code;
  fmt::print(stderr, "bench {}: {} [{}]\nusage: bench {} {}\n", mode.name, code.error().message,
             code.error().code, mode.name, mode.arguments);
  return 2;
}

void print_names() {
  fmt::print(stderr, "expected one of:");
  for (const Benchmark& one : kBenchmarks) fmt::print(stderr, " {}", one.name);
  for (const Mode& mode : kModes) {
    if (mode.name == kCluster) continue;  // it is among the benchmarks
    fmt::print(stderr, " {}", mode.name);
  }
  fmt::print(stderr, "\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = millrace::run_as_jq_process(argc, argv)) return *code;
  millrace::run_if_bare_loop(argc, argv);
  const std::string only = argc > 1 ? argv[1] : "";
  for (const Mode& mode : kModes) {
    if (only == mode.name) return run_mode(mode, millrace::ModeArguments(argv + 2, argv + argc));
  }
  millrace::row("what", "figure", "comparison");
  millrace::row("---", "---:", "---");
  bool found = only.empty();
  for (const Benchmark& one : kBenchmarks) {
    if (!only.empty() && only != one.name) continue;
    found = true;
    one.run();
  }
  if (!found) {
    fmt::print(stderr, "unknown benchmark {}; ", only);
    print_names();
    return 2;
  }
}
