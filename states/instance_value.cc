#include "states/instance_value.h"

#include <map>
#include <string>
#include <utility>

namespace millrace {

Result<LazyJson> instance_value(const Instance& instance, const Workflow& workflow,
                                const Lookup& lookup) {
  const auto optional = [](bool is_there, auto text) {
    return is_there ? Json(std::move(text)) : Json();
  };
  std::map<std::string, LazyJson> members;
  members["id"] = Json(to_string(instance.id));
  members["namespace"] = Json(std::string(lookup.name_of(instance.ns)));
  members["workflow"] = Json(workflow.id);
  members["revision"] = Json(instance.revision.number);
  members["run"] = Json(instance.run);
  members["state"] = Json(workflow.states[instance.state]->common().id);
  members["attempt"] = Json(instance.attempt);
  members["startedAt"] = Json(format_rfc3339(instance.started_at));
  members["key"] = optional(!instance.idempotency_key.empty(), instance.idempotency_key);
  members["parent"] = optional(instance.caller.has_value(),
                               instance.caller ? to_string(instance.caller->instance) : "");
  members["event"] = TRY(lookup.start_event(instance));
  return LazyJson::of_members(std::move(members));
}

}  // namespace millrace
