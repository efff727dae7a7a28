// How an answer shows the slot of an instance or of a call: which key it has, and who holds the
// slots of the key; and an instance or a call that waits for a throttle: when the next one of its
// key is permitted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/definition.h"
#include "model/instance.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The key of a slot as a JSON value. A damaged one, which is not JSON, is shown as a text.
Json slot_key_json(const std::string& key);

/// {"queued","key"?,"priority","limit"?,"held","waiting","holders":[holder_item()],
/// "holdersPaused"?,"workflowPaused"?,"until"?,"error"?,"paused"?} of an instance with a slot:
/// whether it waits for one, how many the newest revision of its workflow, which has that id, gives
/// each key, how many instances hold a slot of its key and how many wait for one, and the three
/// that have held theirs longest; of one that waits, whether all holders or the workflow are
/// paused, so that it gets no slot, and when the wait ends with an error, and with which; `paused`:
/// the wait begins again when the instance is resumed. Errors: those of the view.
Result<Json> slot_item(const View& view, DefinitionCache& definitions, const Instance& instance,
                       std::string_view workflow, const Disclosure& disclosure);

/// The first time at which a throttle permits a start or a call of its key, which may have passed;
/// nullopt: none counts that would put one off. Errors: those of the view.
Result<std::optional<TimePoint>> permitted_at(const View& view, const StartRatePlace& place,
                                              const StartLimit& rate);
/// Adds it to the item as {"nextAt"}. Errors: those of the view.
Status add_next_at(const View& view, const StartRatePlace& place, const StartLimit& rate,
                   Json& item);
/// The places of the keys of a throttle: of starts, and of calls.
StartRatePlace rate_place(const View& view, const SlotKey& key);
StartRatePlace rate_place(const View& view, const CallSlotKey& key);

/// {"key"?,"priority","waiting","limit"?,"period"?,"nextAt"?,"workflowPaused"?,"until"?,"error"?,
/// "paused"?} of an instance that waits for the throttle: how many starts of its key wait that are
/// not paused, what the newest revision of its workflow, which has that id, permits, and when it
/// permits the next of them, unless the workflow is paused; and the end of its wait, as of
/// slot_item(). Errors: those of the view.
Result<Json> throttled_item(const View& view, DefinitionCache& definitions,
                            const Instance& instance, std::string_view workflow,
                            const Disclosure& disclosure);

/// The task of a running call; nullopt: it has none, or its row is damaged. Errors: those of the
/// view.
Result<std::optional<StartTask>> running_task(const View& view, const Call& call);

/// {"service","global"?} or {"image"}: what calls that share slots are for.
Json slot_service_json(const SlotService& service);

/// {"task","since","instance"?} of a call that holds a slot or waits: `instance` made the call, and
/// is missing if the task cannot be read. Errors: those of the view.
Result<Json> call_place_json(const View& view, const CallPlaceRecord& record);

/// Whether the service is paused in the namespace of the calls, which has these settings. A service
/// of `default` is paused in each namespace by itself.
bool is_paused(const NamespaceSettings& settings, const SlotService& service);

/// What the items of calls are made from: the settings of the namespace of the calls, the sealing
/// of their instance, and what it hides.
struct CallLimitParts {
  const View& view;
  const NamespaceSettings& settings;
  Sealing instance;
  Disclosures& disclosures;
};

/// {"service"|"image","global"?,"key"?,"keySealed"?,"limit","priority","queued","paused"?,"servicePaused"?,
/// "until"?,"held","waiting","holders"?} of a call whose attempt needs a slot: whether it waits for
/// one, or will when its instance is resumed, whether its service is paused, so that no call gets
/// one, when the wait ends with an error, how many calls hold a slot of its key and how many wait
/// for one; `holders`: of one that waits the three that have held theirs longest, as
/// call_holder_item(). null: its attempt needs none, or has ended. Errors: those of the view.
Result<Json> call_slot_item(const CallLimitParts& parts, const Call& call);

/// {"service"|"image","global"?,"key"?,"keySealed"?,"limit","period","priority","paused"?,"servicePaused"?,
/// "waiting","until"?,"nextAt"?} of a call whose attempt waits for the throttle of its service, or
/// will when its instance is resumed: how many calls of its key wait, when the wait ends with an
/// error, and when the next of them is permitted, neither while the service is paused. null: its
/// attempt does not wait for a throttle. Likewise.
Result<Json> call_throttle_item(const CallLimitParts& parts, const Call& call);

}  // namespace millrace
