// Random workflows for the model of the limits of calls (call_limit_model.h): what they say, and
// their definitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/random.h"
#include "tests/simulation/call_limit_model.h"

namespace millrace::call_limit_model {

/// How many workflows a case has.
inline constexpr size_t kWorkflows = 3;

/// The definition of the workflow with that number.
std::string yaml_of(size_t workflow, const Limits& limits);

/// The workflows of a seed; some of them call the same service. Each theme, `seed % kThemes`, has
/// other limits: 0 slots, 1 slots with timeouts, 2 throttles, 3 both, 4 anything.
inline constexpr uint64_t kThemes = 5;
std::vector<Limits> random_case(uint64_t seed, reference::Random& random);

}  // namespace millrace::call_limit_model
