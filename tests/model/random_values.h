// Random definitions with times that the data, the attempt or the run decides, and with next runs.
#pragma once

#include "tests/model/case.h"
#include "tests/model/random.h"

namespace millrace::reference {

// Each loop of these definitions comes to an action that is not skipped, so that no loop spins.
Definition random_definition_of_values(Random& r);

// Adds the values that these definitions read to what a worker or a sender gives.
void add_values(Random& r, Outcome& outcome);

}  // namespace millrace::reference
