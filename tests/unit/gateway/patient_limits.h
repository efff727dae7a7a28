// patient_limits(): limits of the transport whose times a busy machine does not exceed.
#pragma once

#include "gateway/http_server.h"
#include "tests/support/patience.h"

namespace millrace {

/// These limits, but each time for a client that `limits` does not set is kPatience.
inline TransportLimits patient_limits(TransportLimits limits = {}) {
  const TransportLimits usual{};
  for (Duration TransportLimits::*const time :
       {&TransportLimits::first_byte, &TransportLimits::idle, &TransportLimits::header,
        &TransportLimits::body, &TransportLimits::write, &TransportLimits::slow_transfer,
        &TransportLimits::stream_comment, &TransportLimits::stream_progress,
        &TransportLimits::file_progress}) {
    if (limits.*time == usual.*time) limits.*time = kPatience;
  }
  return limits;
}

}  // namespace millrace
