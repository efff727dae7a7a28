// Doubtful heads: what is certain of an instance whose head is damaged. Other rows that are damaged
// are errors that name them (damage.h).
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The head at the instance's key, living or ended, as its record says, though that may name
/// another instance. What it refers to is only there if it names this instance in turn: otherwise
/// `last_history` is 0 and `idempotency_key` is empty. nullopt: it is missing or does not decode.
Result<std::optional<Instance>> read_doubtful_head(const View& view, NamespaceNumber space,
                                                   const InstanceId& id);

/// The living instances of the namespace behind that one whose head decodes and is damaged all the
/// same (the head of another instance, or of one that has ended), until `see` returns false.
Status each_doubtful_head(
    const View& view, NamespaceNumber space, const std::optional<InstanceId>& behind,
    const std::function<bool(const InstanceId& id, const Instance& head)>& see);

}  // namespace millrace
