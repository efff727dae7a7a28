// How an answer shows the slot of an instance or of a call: which key it has, and who holds the
// slots of the key; and an instance that waits for the throttle: when the next start of its key is
// permitted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/definition.h"
#include "model/instance.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The key of a slot as a JSON value. A damaged one, which is not JSON, is shown as a text.
Json slot_key_json(const std::string& key);

/// {"queued","key"?,"priority","held","waiting","holders":[{"instance","since"}]} of an instance
/// with a slot: whether it waits for one, how many instances hold a slot of its key and how many
/// wait for one, and the three that have held theirs longest. Errors: those of the view.
Result<Json> slot_item(const View& view, const Instance& instance, const Disclosure& disclosure);

/// The first time at which the throttle permits a start of the key, which may have passed; nullopt:
/// no start counts that would put one off. Errors: those of the view.
Result<std::optional<TimePoint>> permitted_from(const View& view, const SlotKey& key,
                                                const Throttle& throttle);

/// {"key"?,"priority","waiting","limit"?,"period"?,"nextAt"?} of an instance that waits for the
/// throttle: how many starts of its key wait, what the newest revision of its workflow, which has
/// that id, permits, and when it permits the next of them. Errors: those of the view.
Result<Json> throttled_item(const View& view, DefinitionCache& definitions,
                            const Instance& instance, std::string_view workflow,
                            const Disclosure& disclosure);

/// {"service","global"?} or {"image"}: what calls that share slots are for.
Json slot_service_json(const SlotService& service);

/// {"service"|"image","global"?,"key"?,"limit","priority","queued","paused"?,"held","waiting"} of a
/// call whose attempt needs a slot: whether it waits for one, or will when its instance is resumed,
/// how many calls hold a slot of its key and how many wait for one. null: its attempt needs none,
/// or has ended. `instance` is the sealing of the instance of the call. Errors: those of the view.
Result<Json> call_slot_item(const View& view, const Call& call, Sealing instance,
                            Disclosures& disclosures);

}  // namespace millrace
