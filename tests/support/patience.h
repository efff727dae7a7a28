// kPatience: how long a test waits for something that must happen. It is much longer than anything
// takes on a machine that does other work at the same time, so no result of a test depends on the
// load: only a test that fails waits so long.
#pragma once

#include <chrono>

#include "base/time.h"

namespace millrace {

inline constexpr Duration kPatience = std::chrono::minutes(10);

}  // namespace millrace
