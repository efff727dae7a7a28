// The keys of a scenario file as tables, as language/grammar.h has those of a definition.
// Constants.
#pragma once

#include "language/grammar.h"

namespace millrace {

const Mapping& scenario_file_grammar();

/// One item of `expect`, or all of it.
const Mapping& expectation_grammar();
/// What a function outside does with one attempt.
const Mapping& performance_grammar();

}  // namespace millrace
