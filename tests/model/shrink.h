// Shrinking: makes a case that shows a fault smaller, as long as it still shows the fault.
#pragma once

#include <functional>

#include "tests/model/case.h"

namespace millrace::reference {

// Applies one simplification after the other as long as `still_fails` is true for the simpler case.
Case shrink(Case c, const std::function<bool(const Case&)>& still_fails, int most_tries = 3000);

}  // namespace millrace::reference
