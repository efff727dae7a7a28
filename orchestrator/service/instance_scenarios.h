// InstanceScenarios: reads what the scenario of an instance is made of
// (orchestrator/made_scenario): its history from the last commit, and the events that it met from
// the broker. Any thread except the engine thread.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/service/service.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

class InstanceScenarios {
 public:
  /// The arguments outlive the object.
  InstanceScenarios(Environment& environment, DefinitionCache& definitions, StoredEvents& events)
      : environment_(environment), definitions_(definitions), events_(events) {}

  /// Errors: `namespace.not_found`, `instance.not_found`, those of make_scenario(), and those of
  /// StoredEvents.
  Result<NamedText> make(std::string_view ns, const InstanceId& id);

 private:
  Environment& environment_;
  DefinitionCache& definitions_;
  StoredEvents& events_;
};

}  // namespace millrace
