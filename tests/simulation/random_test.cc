// Random work under random faults. Then the faults end and the results are checked. A seed
// determines everything: MILLRACE_SEED=… repeats the run of a printed seed, MILLRACE_SEEDS=… sets
// the number of seeds, and MILLRACE_STEPS=… sets the number of steps.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/random_simulation.h"
#include "tests/support/campaign.h"

namespace millrace {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const uint64_t kSteps = from_environment("MILLRACE_STEPS", 3'000);

/// The seed in MILLRACE_SEED; if it is not set, `count` seeds from 1 on.
std::vector<uint64_t> seeds(uint64_t count) {
  if (const uint64_t seed = from_environment("MILLRACE_SEED", 0); seed != 0) return {seed};
  std::vector<uint64_t> all(from_environment("MILLRACE_SEEDS", count));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

TEST(RandomFaults, LoseNothingAndRepeatNothing) {
  Campaign campaign("random faults in simulation", "all events applied once, in order and in time");
  for (const uint64_t seed : seeds(10)) {
    campaign.run(fmt::format("MILLRACE_SEED={}", seed), [&] {
      Simulation simulation(seed);
      simulation.run(static_cast<int>(kSteps));
      simulation.run_to_rest();
      simulation.check();
    });
    if (testing::Test::HasFailure()) return;
  }
}

using Rows = std::map<std::string, std::string>;

/// The first rows in which `first` and `second` differ, shortened, because all rows would be
/// megabytes of text.
std::string first_differences(const Rows& first, const Rows& second) {
  constexpr size_t kMost = 5;
  std::vector<std::string> keys;
  for (const auto& row : first) {
    const auto other = second.find(row.first);
    if (other == second.end() || other->second != row.second) keys.push_back(row.first);
  }
  for (const auto& row : second) {
    if (!first.contains(row.first)) keys.push_back(row.first);
  }
  std::sort(keys.begin(), keys.end());
  const auto shown = [](const Rows& rows, const std::string& key) {
    constexpr size_t kBytes = 300;
    const auto found = rows.find(key);
    return found == rows.end() ? "none" : testing::PrintToString(found->second.substr(0, kBytes));
  };
  std::string text;
  for (size_t i = 0; i < std::min(keys.size(), kMost); ++i) {
    text += fmt::format("{}\n  first run:  {}\n  second run: {}\n", testing::PrintToString(keys[i]),
                        shown(first, keys[i]), shown(second, keys[i]));
  }
  if (keys.size() > kMost) text += fmt::format("and {} more rows\n", keys.size() - kMost);
  return text;
}

TEST(RandomFaults, LeaveTheSameBytesForTheSameSeed) {
  for (const uint64_t seed : seeds(2)) {
    SCOPED_TRACE(fmt::format("MILLRACE_SEED={}", seed));
    std::array<Rows, 2> rows;
    for (auto& one : rows) {
      Simulation simulation(seed);
      simulation.run(static_cast<int>(kSteps));
      one = simulation.rows();
    }
    EXPECT_GT(rows[0].size(), 100U);
    EXPECT_EQ(first_differences(rows[0], rows[1]), "");
  }
}

}  // namespace
}  // namespace millrace
