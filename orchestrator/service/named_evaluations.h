// The names of the namespaces whose evaluations the jq pool counts by number. Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/loop/evaluation_levels.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// The levels by the names of the namespaces. Those of a number that no namespace of the store has
/// (it was deleted, or the evaluations are tried out) are added up as kOtherNamespaces. Errors:
/// those of the store.
Result<std::map<std::string, EvaluationLevels>> evaluations_by_name(
    const Environment& environment, const std::map<NamespaceNumber, EvaluationLevels>& levels);

/// What the namespace has (Queries::one_namespace), with its `evaluations`: {"fast":{"waiting",
/// "running"},"slow":{"waiting","running"}}. Errors: those of the store.
Result<Json> with_evaluations(const Environment& environment, std::string_view ns,
                              const std::map<NamespaceNumber, EvaluationLevels>& levels,
                              Json shown);

}  // namespace millrace
