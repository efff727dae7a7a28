// Finds the namespace, workflow or instance that owns the variables of a request. Commands look up
// names in the batch and queries in a snapshot, by the same rule.
#pragma once

#include <functional>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "orchestrator/batch/command.h"

namespace millrace {

/// The look-ups of find_owner(). If the name or id is not found, each fails with its error
/// `*.not_found`.
struct OwnerLookups {
  std::function<Result<NamespaceNumber>(std::string_view ns)> find_namespace;
  std::function<Result<WorkflowNumber>(std::string_view ns, std::string_view id)> find_workflow;
  std::function<Status(NamespaceNumber ns, const InstanceId& id)> check_instance;
};

/// The owner of the variables in `place`. Errors: those of the look-ups.
Result<VariableOwner> find_owner(const VariablePlace& place, const OwnerLookups& lookups);

}  // namespace millrace
