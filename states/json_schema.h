// Checks a JSON Schema (draft 7) in a definition and reports each mistake with its position:
// keywords and their values, references, patterns. Whether valijson can use the schema is checked
// by the jq workers (expressions/workers/json_schema.h). Pure.
#pragma once

#include <string>

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds the findings: the errors `schema.type`, `schema.value`, `schema.ref`, `schema.too_large`
/// and those of Pattern::compile, and the warning `schema.unknown_key`. An unknown key is only a
/// warning because draft 7 ignores keys that are not keywords.
void check_json_schema(const Node& schema, const std::string& path, Findings& findings);

}  // namespace millrace
