// Explains the keys, mappings and state types of the workflow language, from the tables of the
// grammar.
#pragma once

#include <string>

#include "cli/console.h"

namespace millrace {

/// Prints all meanings of `name`, which is a key, a path of keys, a state type or a mapping. Exit
/// kNotFound, `cli.no_key`: the language has no such name.
Ended explain_key(Console& console, const std::string& name);

}  // namespace millrace
