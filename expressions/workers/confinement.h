// Confines a jq worker process. jq programs already run in a closed world (jq_program.h); the
// confinement also protects the system if libjq has a security bug. A process cannot undo its
// confinement.
#pragma once

#include "base/result.h"

namespace millrace {

/// Limits memory, files and descriptors, and ends the process when its parent ends. Call it before
/// any use of libjq.
void limit_worker();

/// Makes the kernel refuse all system calls that evaluation does not need. Call it once everything
/// is loaded. A refused call returns EPERM and does not kill the process: EPERM gives a jq program
/// no advantage, while libc can handle EPERM if a newer release of libc tries a harmless call. Does
/// nothing under sanitizers, which read memory maps and run threads of their own. Error:
/// `jq.confine`.
Status refuse_system_calls();

}  // namespace millrace
