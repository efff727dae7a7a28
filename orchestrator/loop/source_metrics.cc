#include "orchestrator/loop/source_metrics.h"

#include <prometheus/counter.h>

namespace millrace {
namespace {

prometheus::Gauge& source_gauge(prometheus::Registry& registry, const char* name,
                                const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

FollowedCounter source_counter(prometheus::Registry& registry, const char* name, const char* help) {
  return FollowedCounter(
      prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({}));
}

}  // namespace

SourceMetrics::Gauges::Gauges(prometheus::Registry& registry, const char* name, const char* help)
    : family_(prometheus::BuildGauge().Name(name).Help(help).Register(registry)) {}

void SourceMetrics::Gauges::set(const SourceValues& values) {
  std::erase_if(gauges_, [&](const auto& known) {
    if (values.contains(known.first)) return false;
    family_.Remove(known.second);
    return true;
  });
  for (const auto& [source, value] : values) {
    prometheus::Gauge*& gauge = gauges_[source];
    if (gauge == nullptr) {
      gauge = &family_.Add({{"namespace", source.first}, {"source", source.second}});
    }
    gauge->Set(static_cast<double>(value));
  }
}

SourceMetrics::SourceMetrics(prometheus::Registry& registry)
    : reading_(source_gauge(registry, "millrace_sources_reading", "Sources that are read.")),
      waiting_(source_gauge(registry, "millrace_sources_waiting",
                            "Sources that are not paused and cannot read their stream now.")),
      consumers_left_(source_gauge(registry, "millrace_source_consumers_left",
                                   "Consumers of former sources that are not deleted yet.")),
      namespace_lag_(
          registry, "millrace_namespace_source_lag",
          "Messages that the sources of the namespace have to read, or that are not applied yet."),
      read_(registry, "millrace_source_read_sequence",
            "The sequence of the message that the source has read last."),
      lag_(registry, "millrace_source_lag",
           "Messages that the source has to read, or that are not applied yet."),
      consumers_(source_counter(registry, "millrace_source_consumers_total",
                                "Consumers that were created to read origin streams.")),
      recreated_(source_counter(registry, "millrace_source_streams_recreated_total",
                                "Origin streams that had been created again.")),
      rolled_back_(source_counter(registry, "millrace_source_streams_rolled_back_total",
                                  "Origin streams that had lost messages that were applied.")),
      gone_(source_counter(registry, "millrace_source_messages_gone_total",
                           "Sequences that origin streams had removed before they were read.")),
      lost_events_(source_counter(registry, "millrace_source_events_lost_total",
                                  "How often the event stream had lost events of a source.")) {}

void SourceMetrics::set(const SourceLevels& levels) {
  reading_.Set(static_cast<double>(levels.reading));
  waiting_.Set(static_cast<double>(levels.waiting));
  consumers_left_.Set(static_cast<double>(levels.consumers_left));
  namespace_lag_.set(levels.namespace_lag);
  read_.set(levels.read);
  lag_.set(levels.lag);
  consumers_.set(levels.consumers);
  recreated_.set(levels.recreated);
  rolled_back_.set(levels.rolled_back);
  gone_.set(levels.gone);
  lost_events_.set(levels.lost_events);
}

}  // namespace millrace
