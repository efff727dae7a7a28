// The timeouts of a call that a pause of its service suspends. Pure.
#pragma once

#include <array>

#include "model/instance.h"
#include "policies/timeout_policy.h"

namespace millrace {

/// The timeouts that are suspended while the service of a call is paused and no worker has started
/// the call.
inline constexpr std::array kHeldTimeouts = {TimeoutKind::kScheduleToStart,
                                             TimeoutKind::kScheduleToClose};

/// Whether the call waits until a worker starts it.
inline bool waits_for_begin(const Call& call) {
  return call.status == Call::Status::kRunning && call.outside && !call.started;
}

}  // namespace millrace
