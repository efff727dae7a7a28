#include "orchestrator/batch/commands/variable_owner.h"

namespace millrace {

Result<VariableOwner> find_owner(const VariablePlace& place, const OwnerLookups& lookups) {
  VariableOwner owner{.scope = VariableScope::kNamespace,
                      .ns = TRY(lookups.find_namespace(place.ns))};
  if (place.instance) {
    owner.scope = VariableScope::kInstance;
    owner.instance = *place.instance;
    TRY(lookups.check_instance(owner.ns, *place.instance));
  } else if (!place.workflow.empty()) {
    owner.scope = VariableScope::kWorkflow;
    owner.workflow = TRY(lookups.find_workflow(place.ns, place.workflow));
  }
  return owner;
}

}  // namespace millrace
