// Doubtful heads: the fields of a damaged head that can still be trusted. Other damaged rows give
// errors that name them (damage.h).
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The head at the instance's key, live or ended, as the record has it, though the record may name
/// another instance. References are returned only if their rows name this instance: otherwise
/// `last_history` is 0, or `idempotency_key` is empty. nullopt: the head is missing or does not
/// decode.
Result<std::optional<Instance>> read_doubtful_head(const View& view, NamespaceNumber ns,
                                                   const InstanceId& id);

/// Visits the live instances of the namespace after `behind` whose head decodes but is damaged (it
/// is the head of another instance, or of an ended one), until `see` returns false.
Status each_doubtful_head(
    const View& view, NamespaceNumber ns, const std::optional<InstanceId>& behind,
    const std::function<bool(const InstanceId& id, const Instance& head)>& see);

}  // namespace millrace
