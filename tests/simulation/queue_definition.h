// Random definitions for the reference model of queues. Nothing here reads a clock.
#pragma once

#include "tests/model/random.h"
#include "tests/simulation/queue_model.h"

namespace millrace::queue_model {

/// A definition of the theme of that seed; eight seeds in a row have the eight themes.
Definition random_definition(uint64_t seed, reference::Random& random);

}  // namespace millrace::queue_model
