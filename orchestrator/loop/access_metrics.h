// The counters of requests that have to prove something: a token, a signature, or the key of an
// attempt. Any thread.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

namespace millrace {

struct AccessMetrics {
  /// Registers the metrics in `registry`, which outlives the object.
  explicit AccessMetrics(prometheus::Registry& registry);

  prometheus::Counter& tokens_missing;  ///< refused requests that have no token
  prometheus::Counter& tokens_wrong;    ///< refused requests whose token is another one
  prometheus::Counter& signatures_valid;
  prometheus::Counter& signatures_refused;
  prometheus::Counter& keys_valid;
  prometheus::Counter& keys_refused;
};

}  // namespace millrace
