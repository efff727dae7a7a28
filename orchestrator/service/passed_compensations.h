// Which compensations of an ended instance an operator has passed over (`instance compensate
// --past`). Any thread.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

/// Adds {"passedCompensations":[NUMBER…]} in the order in which they were passed over, since the
/// instance was last retried or restarted, from the newest rows of its history; nothing if there
/// are none, or their records are not kept. `instance` is complete. Errors: those of the view.
Status add_passed_compensations(const View& view, const Instance& instance,
                                const Workflow& workflow, Json& item);

}  // namespace millrace
