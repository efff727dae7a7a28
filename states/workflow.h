// Workflow: a definition that was loaded without errors. Immutable; shared by all instances of its
// revision. orchestrator/definition/loader creates it, orchestrator/engine executes instances of
// it. Workflow is in this folder and not in model/ because it owns the states.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/definition.h"
#include "policies/retry_policy.h"
#include "states/state.h"

namespace millrace {

class CompensationState;

struct Workflow {
  std::string id;
  std::string name;
  std::string description;
  std::string version;
  bool singular = false;        ///< no instance starts while another one has not ended
  bool sealed = false;          ///< the API hides the data of the instances
  bool looks_back = false;      ///< a state looks back: the instances remember what they have taken
  bool compensates = false;     ///< any end but complete makes the compensations first
  bool names_instance = false;  ///< a jq program names `$instance`: the starting event is kept
  Start start;
  std::optional<StartLimit> rate_limit;
  std::optional<Debounce> debounce;
  std::optional<StartBatch> batch;         ///< not together with `debounce`
  std::optional<Concurrency> concurrency;  ///< nullopt: any number of instances may be active
  std::optional<Throttle> throttle;        ///< nullopt: starts need not wait for a rate
  std::optional<Template> priority;        ///< of a start that waits; nullopt: 0
  WorkflowTimeouts timeouts;
  std::optional<RetryPolicy> retries;  ///< decides whether another run follows a failed run
  std::vector<std::shared_ptr<const State>> states;  ///< at least one, in the order of the text
  /// The `compensate` of each state, by its index; null: it has none (states/compensation.h).
  std::vector<std::shared_ptr<const CompensationState>> compensations;

  /// Whether a request for a start becomes a pending start.
  bool puts_off_starts() const { return debounce || batch; }
};

}  // namespace millrace
