// Core dumps: a core dump has all memory of the process, and so the secrets that are in it. Any
// thread.
#pragma once

#include "base/result.h"

namespace millrace {

/// From now on neither this process nor its later children write a core dump to a file, and no
/// program of the system gets a core dump of this process. Other processes of the same user can
/// also no longer read the memory of this process or attach a debugger to it. Error
/// `process.core_dumps`: the system refuses.
Status forbid_core_dumps();

}  // namespace millrace
