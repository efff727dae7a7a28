// Shrinking: the smallest case that still shows a fault.
#pragma once

#include <functional>

#include "tests/model/case.h"

namespace millrace::reference {

// The smallest case that single simplifications reach and for which `still_fails` is true.
Case shrink(Case c, const std::function<bool(const Case&)>& still_fails, int most_tries = 3000);

}  // namespace millrace::reference
