// What can be said of a JSON Schema (draft 7) where it stands in a definition, with the place of
// each mistake: keywords and their values, references, patterns. Whether valijson can work with it
// is for the workers to say (expressions/workers/json_schema.h). Pure.
#pragma once

#include <string>

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds what is wrong: `schema.type`, `schema.value`, `schema.ref`, `schema.too_large`, what
/// Pattern::compile says of a pattern; and, as a warning, `schema.unknown_key`: of what is no
/// keyword draft 7 says that it is passed over.
void check_json_schema(const Node& schema, const std::string& path, Findings& findings);

}  // namespace millrace
