// Random definitions whose states note compensations, and whose ends make them.
#pragma once

#include "tests/model/case.h"
#include "tests/model/random.h"

namespace millrace::reference {

Definition random_definition_of_compensations(Random& r);

// Changes a step so that the case has more cancels, and commands about compensations.
void add_undoing(Random& r, Step& step);

}  // namespace millrace::reference
