#include "orchestrator/batch/commands/not_found.h"

#include <fmt/format.h>

namespace millrace {

Error no_workflow(std::string_view ns, std::string_view id) {
  return {"workflow.not_found",
          fmt::format("there is no workflow \"{}\" in namespace \"{}\"", id, ns)};
}

Error no_instance(std::string_view ns, const InstanceId& id) {
  return {"instance.not_found",
          fmt::format("there is no instance {} in namespace \"{}\"", to_string(id), ns)};
}

}  // namespace millrace
