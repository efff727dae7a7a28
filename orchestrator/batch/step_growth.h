// StepGrowth: how many bytes a step adds to the rows of its namespace, and whether a namespace that
// has far more bytes than its quota has room for the step. Pure.
#pragma once

#include <cstdint>

#include "model/instance.h"
#include "orchestrator/engine/engine.h"
#include "orchestrator/engine/stimulus.h"

namespace millrace {

/// The most bytes, about, that a step may add which ends an instance of such a namespace.
inline constexpr uint64_t kMostAtEnd = 1024;

/// About how many bytes the step adds: by its history records and effects, and by the data and the
/// calls that `after` has beyond those of `before`. 0: it adds nothing.
uint64_t growth_of(const Instance& before, const Instance& after, const StepResult& result);

/// Whether the step from `before` to `after` may be applied: it adds nothing, or it ends the
/// instance and adds little. To pause or cancel an instance is always permitted, and so are the
/// steps of an instance that is being cancelled; each instance can have only few of them.
bool fits_far_beyond(const Instance& before, const Stimulus& stimulus, const Instance& after,
                     const StepResult& result);

}  // namespace millrace
