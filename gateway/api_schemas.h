// The schemas of the HTTP API: what the bodies of requests and answers are. A Route names its
// schemas, and the OpenAPI document contains them under these names. Each noun has a file,
// `schemas_<noun>.cc`. Pure; for any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace millrace {

/// A body of a request or an answer.
struct ApiSchema {
  Json schema;  ///< JSON Schema, draft 2020-12, made of schema_parts.h
  /// The body is JSON of this schema if `media` is empty. Otherwise `media` has the content types
  /// of the body, and the schema of each, as the member `content` of OpenAPI has it.
  Json media = Json::object();
};

/// The schemas by name.
using ApiSchemas = std::map<std::string, ApiSchema, std::less<>>;

/// All schemas.
const ApiSchemas& api_schemas();

/// The member `content` of OpenAPI for a body with this schema.
Json content_of(std::string_view name);

// One function for each noun. It adds the schemas of the noun to `all`.
void add_backup_schemas(ApiSchemas& all);
void add_event_schemas(ApiSchemas& all);
void add_file_schemas(ApiSchemas& all);
void add_instance_schemas(ApiSchemas& all);
void add_namespace_schemas(ApiSchemas& all);
void add_problem_schemas(ApiSchemas& all);
void add_schedule_schemas(ApiSchemas& all);
void add_source_schemas(ApiSchemas& all);
void add_system_schemas(ApiSchemas& all);
void add_variable_schemas(ApiSchemas& all);
void add_why_schemas(ApiSchemas& all);
void add_work_schemas(ApiSchemas& all);
void add_workflow_schemas(ApiSchemas& all);

}  // namespace millrace
