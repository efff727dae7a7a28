// Random definitions that a loader accepts and the model knows.
#pragma once

#include "tests/model/case.h"
#include "tests/model/random.h"

namespace millrace::reference {

// Odd milliseconds, so that two deadlines rarely have one time, where the documents do not define
// the order.
Ms time_of_step(Random& r);

Definition random_definition(Random& r);

// Attempts with a deadline for all of them, in runs.
Definition random_definition_of_runs(Random& r);

}  // namespace millrace::reference
