// ./dev bench: prints a table of results on this machine. Most figures have a comparison that was
// measured in the same run. `bench NAME` prints only the rows of one benchmark.
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "bench/bare_loop.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "expressions/workers/worker.h"

namespace {

struct Benchmark {
  const char* name;
  void (*run)();
};
constexpr Benchmark kBenchmarks[] = {
    {"matching", millrace::matching},     {"unmatched", millrace::unmatched},
    {"store", millrace::store},           {"engine", millrace::engine_path},
    {"lifecycles", millrace::lifecycles}, {"wheel", millrace::timer_wheel},
    {"timers", millrace::timers},         {"expressions", millrace::expressions},
    {"waiting", millrace::waiting},       {"workers", millrace::workers},
    {"tasks", millrace::tasks},           {"isolation", millrace::isolation},
    {"crowd", millrace::crowd},           {"beside", millrace::beside},
};

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = millrace::run_as_jq_process(argc, argv)) return *code;
  millrace::run_if_bare_loop(argc, argv);
  const std::string only = argc > 1 ? argv[1] : "";
  millrace::row("what", "figure", "comparison");
  millrace::row("---", "---:", "---");
  bool found = only.empty();
  for (const Benchmark& one : kBenchmarks) {
    if (!only.empty() && only != one.name) continue;
    found = true;
    one.run();
  }
  if (!found) {
    fmt::print(stderr, "unknown benchmark {}; expected one of:", only);
    for (const Benchmark& one : kBenchmarks) fmt::print(stderr, " {}", one.name);
    fmt::print(stderr, "\n");
    return 2;
  }
}
