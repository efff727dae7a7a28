// Reads the entries of `functions`, which actions call (Direktiv's FunctionDefinition).
#pragma once

#include "language/fields.h"
#include "states/state_fields.h"

namespace millrace {

/// Reads a function of any type, and adds it to the context if it has an id. If the type is wrong,
/// only the id is read.
void read_function(Fields& entry, LoadContext& context);

}  // namespace millrace
