// Doubtful heads: the fields of a damaged head that can still be trusted. Other damaged rows give
// errors that name them (damage.h).
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The head stored under the instance's key in `live` or `ended`, as it decodes, even if it names
/// another instance. If the history row that the head refers to does not name this instance,
/// `last_history` is 0; if the row of its idempotency key does not, `idempotency_key` is empty.
/// nullopt: the head is missing or does not decode.
Result<std::optional<Instance>> read_doubtful_head(const View& view, NamespaceNumber ns,
                                                   const InstanceId& id);

/// Visits the live instances of the namespace after `behind` whose head decodes but is damaged (the
/// head names another instance, or its status is that of an ended instance), until `see` returns
/// false.
Status each_doubtful_head(
    const View& view, NamespaceNumber ns, const std::optional<InstanceId>& behind,
    const std::function<bool(const InstanceId& id, const Instance& head)>& see);

}  // namespace millrace
