// The error of a read that names an instance which does not exist: it says if `debounce` or `batch`
// has put off the start of that instance.
#pragma once

#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// `instance.not_found`. If a pending start has the id, the text says what has put it off until
/// when, and how to see it; if the namespace has more pending starts than one search looks at, it
/// says so. An error of the store in its place: the pending starts cannot be read. Precondition: no
/// instance has the id. Any thread except the engine thread.
Error missing_instance(const View& view, std::string_view ns, NamespaceNumber number,
                       const InstanceId& id, const PendingSearchBounds& bounds = {});

/// The pending start from which an instance with that id will start; nullopt: the instance exists,
/// or no pending start that a bounded search looks at has the id. Errors: `namespace.not_found`,
/// and those of the store. Any thread except the engine thread.
Result<std::optional<PendingStartPlace>> pending_start_of(const View& view, std::string_view ns,
                                                          const InstanceId& id);

}  // namespace millrace
