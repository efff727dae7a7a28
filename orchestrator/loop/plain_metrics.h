// Counters and gauges of Prometheus with one value, without labels.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace millrace {

/// Registers a counter. The registry outlives it.
inline prometheus::Counter& plain_counter(prometheus::Registry& registry, const char* name,
                                          const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

/// Registers a gauge. The registry outlives it.
inline prometheus::Gauge& plain_gauge(prometheus::Registry& registry, const char* name,
                                      const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace millrace
