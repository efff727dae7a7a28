// How an answer shows what holds a slot: an instance or a call, and why it does not end, if it is
// paused or waits for a throttle itself. Any thread.
#pragma once

#include <cstddef>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// How many of those that hold a slot an answer about one that waits shows.
inline constexpr size_t kShownHolders = 3;

/// {"instance","since","paused"?,"waitsFor"?} of an instance that holds a slot: it is paused, or
/// waits for the throttle of its workflow. Errors: those of the view.
Result<Json> holder_item(const View& view, NamespaceNumber ns, const SlotPlace& holder);

/// {"task","since","instance"?,"paused"?,"waitsFor"?} of a call that holds a slot: `instance` made
/// the call, and is missing if the task cannot be read; that instance is paused, or the call waits
/// for the throttle of its service. Errors: those of the view.
Result<Json> call_holder_item(const View& view, const CallPlaceRecord& holder);

/// Whether all instances that hold a slot of the key are paused, so that none gets free before one
/// of them is resumed; false if none holds one, or if more than `looks` are looked at, from which
/// the number of those is subtracted. Errors: those of the view.
Result<bool> are_holders_paused(const View& view, NamespaceNumber ns, const SlotKey& key,
                                size_t& looks);

}  // namespace millrace
