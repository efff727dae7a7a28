// The walls around a worker process. The programs run in a closed world already (jq_program.h);
// these hold if libjq has a hole. What is given up here never comes back.
#pragma once

#include "base/result.h"

namespace millrace {

/// Before libjq is touched: bounds memory, files and descriptors, and ends the process with its
/// parent.
void limit_worker();

/// Once everything is loaded: lets the kernel refuse all that evaluating needs not, with EPERM and
/// not with death. For a program gains nothing by a refusal, while libc copes with one where a
/// newer release of it tries something harmless. Not under sanitizers, which look at maps and
/// threads of their own. Error: `jq.confine`.
Status refuse_system_calls();

}  // namespace millrace
