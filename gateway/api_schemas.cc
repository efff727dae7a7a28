#include "gateway/api_schemas.h"

#include "base/check.h"
#include "gateway/schema_parts.h"

namespace millrace {

const ApiSchemas& api_schemas() {
  static const ApiSchemas all = [] {
    ApiSchemas made;
    add_backup_schemas(made);
    add_event_schemas(made);
    add_file_schemas(made);
    add_instance_schemas(made);
    add_namespace_schemas(made);
    add_problem_schemas(made);
    add_schedule_schemas(made);
    add_source_schemas(made);
    add_system_schemas(made);
    add_variable_schemas(made);
    add_why_schemas(made);
    add_work_schemas(made);
    add_workflow_schemas(made);
    return made;
  }();
  return all;
}

Json content_of(std::string_view name) {
  const auto found = api_schemas().find(name);
  CHECK(found != api_schemas().end());
  if (!found->second.media.empty()) return found->second.media;
  return {{"application/json", {{"schema", schema::ref(name)}}}};
}

}  // namespace millrace
