// Fit: whether an instance that was read from the store can be stepped. Everything that the engine
// and the states rely on without asking, because they themselves leave instances so, is checked
// here once, where a stored instance meets its definition. Pure.
#pragma once

#include "base/result.h"
#include "model/instance.h"
#include "states/workflow.h"

namespace millrace {

/// Whether the instance, whole but for its input, is one that the engine may have left at `now` or
/// before on that workflow, its own revision. Error `instance.unfit`; the message reads as "it
/// waits for events, and state \"pay\" of type action does not".
Status check_fit(const Workflow& workflow, const Instance& instance, TimePoint now);

}  // namespace millrace
