// Replaces the program of this process by a fresh start of itself.
#pragma once

#include <string>

#include "base/result.h"

namespace millrace {

/// Starts the program of this process again, in this process and with its arguments and
/// environment: the process id stays. No signal is blocked afterwards, and no descriptor is open
/// but 0, 1 and 2. Returns only if that fails; `process.replace`. No other thread may be at work
/// that must not end in the middle of something.
Status replace_process();

}  // namespace millrace
