// Which namespace, workflow or instance owns the variables that a request names. Commands look
// names up in the batch, queries in a snapshot; the rule is the same.
#pragma once

#include <functional>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "orchestrator/batch/command.h"

namespace millrace {

/// How the caller of find_owner() looks up names. Each fails with its `*.not_found`.
struct OwnerLookups {
  std::function<Result<NamespaceNumber>(std::string_view ns)> find_namespace;
  std::function<Result<WorkflowNumber>(std::string_view ns, std::string_view id)> find_workflow;
  std::function<Status(NamespaceNumber ns, const InstanceId& id)> check_instance;
};

/// The owner of the variables in `place`. Errors: those of the look-ups.
Result<VariableOwner> find_owner(const VariablePlace& place, const OwnerLookups& lookups);

}  // namespace millrace
