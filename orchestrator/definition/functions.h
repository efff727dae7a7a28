// An entry of `functions` read: what actions can call (Direktiv's FunctionDefinition).
#pragma once

#include "language/fields.h"
#include "states/state_fields.h"

namespace millrace {

/// Reads one of any type, and adds it to the context if it has an id. Of one whose type is wrong
/// nothing but the id is looked at.
void read_function(Fields& entry, LoadContext& context);

}  // namespace millrace
