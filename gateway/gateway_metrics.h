// The metrics of the gateway itself, in the Prometheus text format 0.0.4. They follow those of the
// Service in the answer of /metrics. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gateway/forward.h"
#include "gateway/gateway_lanes.h"

namespace millrace {

/// The state of the gateway at one moment. Totals are since startup.
struct GatewayFigures {
  size_t connections = 0;         ///< open
  uint64_t waits = 0;             ///< requests that wait for the end of an instance or of a check
  uint64_t waits_refused = 0;     ///< total
  size_t streams = 0;             ///< open
  uint64_t streams_refused = 0;   ///< total
  uint64_t memory_bytes = 0;      ///< of bodies and answers, as the budget counts them
  uint64_t memory_refused = 0;    ///< total: bodies and answers for which no bytes were left
  uint64_t closed_for_other = 0;  ///< total: connections closed to make place or free bytes
  uint64_t turned_away = 0;       ///< total: connections without a place
  Forwarder::Figures handed_on;   ///< requests handed on to the active of the cluster
  std::vector<GatewayLanes::LaneFigures> lanes;
};

std::string to_prometheus(const GatewayFigures& figures);

}  // namespace millrace
