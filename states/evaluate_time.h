// The evaluation of a time that depends on the data: a duration with `jq(…)` in it, or `until`.
#pragma once

#include "policies/evaluated_time.h"
#include "states/visit.h"

namespace millrace {

/// The value of the time for a wait that begins now. Returns Park until a jq worker has answered,
/// or Raise: the error of a jq program, or millrace.duration.invalid. The caller stores the value
/// with the entry into the state, so that it is not evaluated again.
Evaluated<TimeValue> evaluate_time(Visit& visit, const EvaluatedTime& time);

}  // namespace millrace
