// The names of the namespaces whose evaluations the jq pool counts by number. Any thread.
#pragma once

#include <map>
#include <string>

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

/// The levels of one namespace: {"fast":{"waiting","running"},"slow":{"waiting","running"}}.
Json evaluations_json(NamespaceNumber ns,
                      const std::map<NamespaceNumber, EvaluationLevels>& levels);

}  // namespace millrace
