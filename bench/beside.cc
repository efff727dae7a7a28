// Compares the lifecycles of this millrace with those of another millrace program, which
// MILLRACE_BENCH_BESIDE names. Servers of both programs run at the same time, each with its own
// broker, and get short loads in turns. So a machine whose speed changes from minute to minute has
// the same speed for both loads of a pair.
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/lifecycles.h"
#include "bench/rows.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

constexpr size_t kPairs = 40;  // pairs of loads; MILLRACE_BENCH_PAIRS sets another number

size_t pairs() {
  const char* const text = std::getenv("MILLRACE_BENCH_PAIRS");
  const size_t pairs = text == nullptr ? kPairs : std::strtoull(text, nullptr, 10);
  CHECK(pairs >= 10, "MILLRACE_BENCH_PAIRS is {}; expected 10 or more", text);
  return pairs;
}

/// One of the two running millrace programs, with its broker and its data folder.
struct Contender {
  explicit Contender(const std::filesystem::path& program)
      : process(site.folder() / "data", site.broker->url(), {}, program) {
    process.start();
    process.apply(kLifecycle, "life");
  }

  Lifecycles run(size_t in_flight, size_t count) {
    return run_lifecycles(
        site, process.pid(),
        {.run = fmt::format("r{}", ++runs), .in_flight = in_flight, .count = count});
  }

  Site site;
  MillraceProcess process;
  size_t runs = 0;
};

/// The median of the samples, and the interval that contains 95 % of the medians of resampled
/// samples.
std::string summary(const std::vector<double>& samples) {
  std::minstd_rand random;
  std::vector<double> medians;
  for (int i = 0; i < 4'000; ++i) {
    std::vector<double> resampled;
    for (size_t j = 0; j < samples.size(); ++j) {
      resampled.push_back(samples[random() % samples.size()]);
    }
    medians.push_back(percentile(std::move(resampled), 0.5));
  }
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", percentile(samples, 0.5),
                     percentile(medians, 0.025), percentile(medians, 0.975));
}

void compare(Contender& ours, Contender& other, size_t in_flight, size_t count) {
  ours.run(in_flight, count);  // not counted: the first load is slower
  other.run(in_flight, count);
  std::vector<double> rates;
  std::vector<double> costs;
  for (size_t i = 0; i < pairs(); ++i) {
    const bool ours_first = i % 2 == 0;
    const Lifecycles first = (ours_first ? ours : other).run(in_flight, count);
    const Lifecycles second = (ours_first ? other : ours).run(in_flight, count);
    const auto& [mine, its] = ours_first ? std::tie(first, second) : std::tie(second, first);
    rates.push_back(mine.rate() / its.rate());
    costs.push_back(mine.engine_cost / its.engine_cost);
  }
  row(fmt::format("lifecycles, {} in flight: rate / rate of the other, {} pairs", in_flight,
                  rates.size()),
      summary(rates), "processor time " + summary(costs));
}

}  // namespace

void beside() {
  const char* const program = std::getenv("MILLRACE_BENCH_BESIDE");
  if (program == nullptr) {
    row("lifecycles beside another millrace", "-", "MILLRACE_BENCH_BESIDE is not set");
    return;
  }
  Contender ours{std::filesystem::path()};
  Contender other{std::filesystem::path(program)};
  compare(ours, other, 1, 600);
  compare(ours, other, 64, 10'000);
  compare(ours, other, 512, 20'000);
}

}  // namespace millrace
