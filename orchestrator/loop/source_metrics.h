// SourceMetrics: the metrics of the sources of all namespaces. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "orchestrator/loop/followed_counter.h"
#include "orchestrator/loop/keyed_gauge.h"

namespace millrace {

/// Values of sources, by the names of the namespace and of the source. A server has at most
/// kMostSources of them.
using SourceValues = std::map<std::pair<std::string, std::string>, uint64_t>;

/// The current values of the sources. Totals are since startup.
struct SourceLevels {
  size_t reading = 0;  ///< sources that are not paused, and read
  size_t waiting = 0;  ///< sources that are not paused, and cannot read now
  /// Consumers of former sources that could not be deleted at the broker yet.
  size_t consumers_left = 0;
  /// Of the sources of each namespace together: messages that are not applied yet, as far as that
  /// is known.
  std::map<std::string, uint64_t> namespace_lag;
  SourceValues read;  ///< of those that are read: the sequence of the message that was read last
  SourceValues lag;   ///< of those whose lag is known: messages that are not applied yet

  uint64_t consumers = 0;    ///< consumers that were created
  uint64_t recreated = 0;    ///< how often an origin stream had been created again
  uint64_t rolled_back = 0;  ///< how often one had lost messages that were applied
  uint64_t gone = 0;         ///< sequences that one had removed before they were read
  uint64_t lost_events = 0;  ///< how often the event stream had lost events of a source
};

class SourceMetrics {
 public:
  /// Registers the metrics in `registry`, which outlives the object.
  explicit SourceMetrics(prometheus::Registry& registry);

  /// Sets the metrics. A source that a map lacks loses its gauge.
  void set(const SourceLevels& levels);

 private:
  prometheus::Gauge& reading_;
  prometheus::Gauge& waiting_;
  prometheus::Gauge& consumers_left_;
  NamespaceGauge namespace_lag_;
  KeyedGauge<SourceValues::key_type> read_;
  KeyedGauge<SourceValues::key_type> lag_;
  FollowedCounter consumers_;
  FollowedCounter recreated_;
  FollowedCounter rolled_back_;
  FollowedCounter gone_;
  FollowedCounter lost_events_;
};

}  // namespace millrace
