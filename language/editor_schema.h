// The grammar as a JSON Schema (draft 7), for editors that check and complete YAML as one writes
// it. It takes what the loader takes as far as a schema can say it; jq, durations, patterns and
// transitions are the loader's business.
#pragma once

#include "base/json.h"

namespace millrace {

Json editor_schema();

}  // namespace millrace
