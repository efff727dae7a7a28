// Random cases: a definition, and steps that have an effect in the current state of the model.
#pragma once

#include <cstdint>

#include "tests/model/case.h"

namespace millrace::reference {

// The same seed gives the same case on every machine.
Case make_case(uint64_t seed);

}  // namespace millrace::reference
