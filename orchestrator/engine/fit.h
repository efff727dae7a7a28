// Fit: checks that an instance read from the store can be stepped. The engine and the states rely
// on properties that hold for every instance that they have stepped, and do not check them again.
// check_fit() checks these properties once, when a stored instance is loaded with its definition.
// Pure.
#pragma once

#include "base/result.h"
#include "model/instance.h"
#include "states/workflow.h"

namespace millrace {

/// Checks that the engine can have left the instance in this form at `now` or earlier. `workflow`
/// is the definition of its revision; the instance's input is not needed. Error `instance.unfit`;
/// its message reads like "it waits for events, and state \"pay\" of type action does not".
Status check_fit(const Workflow& workflow, const Instance& instance, TimePoint now);

}  // namespace millrace
