// Random cases: a definition, and steps of which each has an effect on the model as the earlier
// steps have left it.
#pragma once

#include <cstdint>

#include "tests/model/case.h"

namespace millrace::reference {

// The same seed gives the same case on every machine.
Case make_case(uint64_t seed);

// A case with evaluated times and next runs: the theme of written_time.h.
Case make_case_of_values(uint64_t seed);

// A case whose states note compensations: the theme of control_model_undoing.cc.
Case make_case_of_compensations(uint64_t seed);

// A case whose services accept their tasks and answer by callbacks: the theme of
// control_model_callbacks.cc.
Case make_case_of_callbacks(uint64_t seed);

}  // namespace millrace::reference
