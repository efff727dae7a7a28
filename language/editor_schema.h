// The grammar as a JSON Schema (draft 7), for editors that check and complete YAML while an author
// types it. The schema accepts what the loader accepts, as far as a schema can express it. Only the
// loader checks jq, durations, patterns and transitions.
#pragma once

#include "base/json.h"

namespace millrace {

Json editor_schema();

}  // namespace millrace
