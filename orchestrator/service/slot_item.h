// How an answer shows the slot of an instance: which key it has, and who holds the slots of the
// key.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// {"queued","key"?,"priority","held","waiting","holders":[{"instance","since"}]} of an instance
/// with a slot: whether it waits for one, how many instances hold a slot of its key and how many
/// wait for one, and the three that have held theirs longest. Errors: those of the view.
Result<Json> slot_item(const View& view, const Instance& instance, const Disclosure& disclosure);

}  // namespace millrace
