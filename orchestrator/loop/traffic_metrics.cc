#include "orchestrator/loop/traffic_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>

namespace millrace {
namespace {

/// How the counters of a namespace are added.
auto adding_to(prometheus::Registry& registry) {
  const auto family = [&](const char* name, const char* help) {
    return &prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  };
  const std::array families = {
      family("millrace_namespace_events_total",
             "Events of the namespace that were taken from the event stream."),
      family("millrace_namespace_events_unmatched_total",
             "Events of the namespace that matched no start and no instance."),
      family("millrace_namespace_events_published_total",
             "Events that instances of the namespace have generated.")};
  return [families](const std::string& label) {
    NamespaceSeries<3>::Counters counters{};
    for (size_t i = 0; i < counters.size(); ++i) {
      counters[i] = &families[i]->Add({{"namespace", label}});
    }
    return counters;
  };
}

}  // namespace

TrafficMetrics::TrafficMetrics(prometheus::Registry& registry) : series_(adding_to(registry)) {}

void TrafficMetrics::count(const std::string& ns, const EventTraffic& traffic) {
  const auto& [applied, unmatched, published] = series_.of(ns);
  applied->Increment(static_cast<double>(traffic.applied));
  unmatched->Increment(static_cast<double>(traffic.unmatched));
  published->Increment(static_cast<double>(traffic.published));
}

}  // namespace millrace
