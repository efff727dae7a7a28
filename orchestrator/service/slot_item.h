// How an answer shows the slot of an instance: which key it has, and who holds the slots of the
// key.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The key of a slot as a JSON value. A damaged one, which is not JSON, is shown as a text.
Json slot_key_json(const std::string& key);

/// {"queued","key"?,"priority","held","waiting","holders":[{"instance","since"}]} of an instance
/// with a slot: whether it waits for one, how many instances hold a slot of its key and how many
/// wait for one, and the three that have held theirs longest. Errors: those of the view.
Result<Json> slot_item(const View& view, const Instance& instance, const Disclosure& disclosure);

}  // namespace millrace
