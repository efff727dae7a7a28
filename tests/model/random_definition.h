// Random definitions that a loader accepts and the model knows.
#pragma once

#include "tests/model/case.h"
#include "tests/model/random.h"

namespace millrace::reference {

// A time that is rarely a round number, so that two deadlines are rarely at the same time: the
// documents do not define an order for that.
Ms time_of_step(Random& r);

Definition random_definition(Random& r);

// A definition whose runs have several attempts with one deadline for all of these attempts.
Definition random_definition_of_runs(Random& r);

}  // namespace millrace::reference
