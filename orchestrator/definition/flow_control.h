// Flow control of a workflow: reads the keys `concurrency`, `throttle` and `priority` of a
// definition. Pure.
#pragma once

#include "states/state_fields.h"
#include "states/workflow.h"

namespace millrace {

/// Reads `concurrency`, `throttle` and `priority` into the workflow. Precondition:
/// Workflow::singular is set. Findings: `definition.both_keys` for `singular` beside `concurrency`,
/// `definition.query` for a query that the engine cannot evaluate when it commits a start, and
/// those of the fields.
void read_flow_control(Fields& fields, LoadContext& context, Workflow& workflow);

}  // namespace millrace
