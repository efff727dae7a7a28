// Random definitions for the reference model of queues. Nothing here reads a clock.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "tests/model/random.h"
#include "tests/simulation/queue_model.h"

namespace millrace::queue_model {

/// How many themes there are. So many seeds in a row have one theme each.
inline constexpr uint64_t kThemes = 10;

/// The timeouts of batches, in seconds.
inline constexpr std::initializer_list<int> kBatchTimeouts = {13, 103, 409};

/// A definition of the theme of that seed: `seed % kThemes`.
Definition random_definition(uint64_t seed, reference::Random& random);

}  // namespace millrace::queue_model
