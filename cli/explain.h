// What a key, a mapping or a state type of the definition language means, from the grammar's
// tables.
#pragma once

#include <string>

#include "cli/console.h"

namespace millrace {

/// Prints all meanings of the name, which is a key, a path of keys, a state type or a mapping. Exit
/// kNotFound, `cli.no_key`: the language does not have it.
Ended explain_key(Console& console, const std::string& name);

}  // namespace millrace
