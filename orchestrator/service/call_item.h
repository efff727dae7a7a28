// Call items: the JSON form of a call of an instance. Pure.
#pragma once

#include <string_view>

#include "base/json.h"
#include "model/instance.h"
#include "orchestrator/outgoing/started_tasks.h"
#include "orchestrator/service/disclosure.h"

namespace millrace {

/// The word for the status of a call: "queued", "scheduled", "running" (a worker has started the
/// attempt), "retrying", "complete" or "failed". `started` has the tasks that a worker has started.
std::string_view call_status(const Call& call, const StartedTasks& started);

/// Adds "progress" and "progressAt" if the call has them. `instance` is the sealing of the instance
/// of the call.
void add_progress(Json& item, const Call& call, Sealing instance, Disclosures& disclosures);

/// {"status","attempt","task"|"instance"?,"nextRetryAt"?,"lastError"?,"progress"?,"progressAt"?,
/// "deadlines"?}. `instance` is the sealing of the instance of the call.
Json call_item(const Call& call, Sealing instance, const StartedTasks& started,
               Disclosures& disclosures);

}  // namespace millrace
