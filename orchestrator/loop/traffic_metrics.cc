#include "orchestrator/loop/traffic_metrics.h"

#include "orchestrator/loop/namespace_labels.h"

namespace millrace {

TrafficMetrics::TrafficMetrics(prometheus::Registry& registry)
    : registry_(registry), others_(series_of(kOtherNamespaces)) {}

void TrafficMetrics::count(const std::string& ns, const EventTraffic& traffic) {
  const std::lock_guard lock(lock_);
  auto known = namespaces_.find(ns);
  if (known == namespaces_.end() && ns != kOtherNamespaces &&
      namespaces_.size() < kMostNamespaceLabels) {
    known = namespaces_.emplace(ns, series_of(ns)).first;
  }
  const auto& [applied, unmatched, published] =
      known == namespaces_.end() ? others_ : known->second;
  applied->Increment(static_cast<double>(traffic.applied));
  unmatched->Increment(static_cast<double>(traffic.unmatched));
  published->Increment(static_cast<double>(traffic.published));
}

TrafficMetrics::Counters TrafficMetrics::series_of(const std::string& label) {
  const auto counter = [&](const char* name, const char* help) {
    return &prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(
        {{"namespace", label}});
  };
  return {counter("millrace_namespace_events_total",
                  "Events of the namespace that were taken from the event stream."),
          counter("millrace_namespace_events_unmatched_total",
                  "Events of the namespace that matched no start and no instance."),
          counter("millrace_namespace_events_published_total",
                  "Events that instances of the namespace have generated.")};
}

}  // namespace millrace
