// Workflow: a definition that was loaded and found right. Immutable; shared by every instance of
// its revision. orchestrator/definition/loader makes it, orchestrator/engine steps instances on it.
// It stands in this room and not in model/, since it owns the states.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/definition.h"
#include "policies/retry_policy.h"
#include "states/state.h"

namespace millrace {

struct Workflow {
  std::string id;
  std::string name;
  std::string description;
  std::string version;
  bool singular = false;  ///< one instance at a time: while it lives, no other starts
  Start start;
  WorkflowTimeouts timeouts;
  std::optional<RetryPolicy> retries;                ///< a failed run is followed by another one
  std::vector<std::shared_ptr<const State>> states;  ///< at least one, in the order of the text
};

}  // namespace millrace
