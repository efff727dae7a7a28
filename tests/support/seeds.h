// Seeds: the seeds of random tests, from the environment. MILLRACE_SEED=… repeats the run of a
// printed seed, MILLRACE_SEEDS=… sets the number of seeds.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace millrace {

/// The number in a variable of the environment; `otherwise` if the variable is not set.
inline uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The seed in MILLRACE_SEED; if it is not set, `count` seeds from 1 on.
inline std::vector<uint64_t> seeds(uint64_t count) {
  if (const uint64_t seed = number_from_environment("MILLRACE_SEED", 0); seed != 0) return {seed};
  std::vector<uint64_t> all(number_from_environment("MILLRACE_SEEDS", count));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

}  // namespace millrace
