// The keys of a scenario file as tables, in the form of language/grammar.h. Constants.
#pragma once

#include "language/grammar.h"

namespace millrace {

/// The scenario file itself.
const Mapping& scenario_file_grammar();

/// The value of `expect`, or an item of it if it is a list.
const Mapping& expectation_grammar();
/// The behaviour of an external function for one attempt.
const Mapping& performance_grammar();

}  // namespace millrace
