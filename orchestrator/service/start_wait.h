// For what a start waits before its first run, and for what one waited that has ended by it: a slot
// (`concurrency`) or the throttle of its workflow. Any thread.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// {"for":"slot"|"throttle","key"?} of an instance that waits to start, from its head. null: it
/// does not.
Json wait_to_start(const Instance& head, const Disclosure& disclosure);

/// {"for","since","key"?} of an instance that has ended while it waited to start, by a timeout of
/// the wait or because another start took its place: since when it waited, from the records of its
/// history. null: it did not, or these records are not kept. `instance` is complete. Errors: those
/// of the view.
Result<Json> wait_at_end(const View& view, const Instance& instance, const Disclosure& disclosure);

}  // namespace millrace
