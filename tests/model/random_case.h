// Random cases: a definition, and steps that do something in the state that the model is in.
#pragma once

#include <cstdint>

#include "tests/model/case.h"

namespace millrace::reference {

// The same seed makes the same case on every machine.
Case make_case(uint64_t seed);

}  // namespace millrace::reference
