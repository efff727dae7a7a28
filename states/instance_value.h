// The value of `$instance`, the variable by which the jq programs of a definition name the instance
// that they run for. docs/language.md describes its members.
#pragma once

#include "base/lazy_json.h"
#include "base/result.h"
#include "model/instance.h"
#include "model/lookup.h"
#include "states/workflow.h"

namespace millrace {

/// The facts about the instance in its current state, as an object: `id`, `namespace`, `workflow`,
/// `revision`, `run`, `state`, `attempt`, `startedAt`, `key`, `parent`, `event`. It is the same
/// whenever a visit is repeated. Errors: a damaged row of the starting event. Precondition:
/// `workflow` is the definition of the instance.
Result<LazyJson> instance_value(const Instance& instance, const Workflow& workflow,
                                const Lookup& lookup);

}  // namespace millrace
