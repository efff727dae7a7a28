// Random work under random faults. Then the faults end and the results are checked. A seed
// determines everything: MILLRACE_SEED=… repeats the run of a printed seed, MILLRACE_SEEDS=… sets
// the number of seeds, and MILLRACE_STEPS=… sets the number of steps.
#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/random_simulation.h"
#include "tests/support/campaign.h"
#include "tests/support/seeds.h"

namespace millrace {
namespace {

const uint64_t kSteps = number_from_environment("MILLRACE_STEPS", 3'000);

TEST(RandomFaults, LoseNothingAndRepeatNothing) {
  Campaign campaign("random faults in simulation", "all events applied once, in order and in time");
  for (const uint64_t seed : seeds(6)) {
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
