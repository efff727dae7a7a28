#include "orchestrator/loop/source_metrics.h"

#include <prometheus/labels.h>

#include "orchestrator/loop/plain_metrics.h"

namespace millrace {
namespace {

prometheus::Labels labels_of_source(const SourceValues::key_type& source) {
  return {{"namespace", source.first}, {"source", source.second}};
}

}  // namespace

SourceMetrics::SourceMetrics(prometheus::Registry& registry)
    : reading_(plain_gauge(registry, "millrace_sources_reading", "Sources that are read.")),
      waiting_(plain_gauge(registry, "millrace_sources_waiting",
                           "Sources that are not paused and cannot read their stream now.")),
      consumers_left_(plain_gauge(registry, "millrace_source_consumers_left",
                                  "Consumers of former sources that are not deleted yet.")),
      namespace_lag_(
          registry, "millrace_namespace_source_lag",
          "Messages that the sources of the namespace have to read, or that are not applied yet."),
      read_(registry, "millrace_source_read_sequence",
            "The sequence of the message that the source has read last."),
      lag_(registry, "millrace_source_lag",
           "Messages that the source has to read, or that are not applied yet."),
      consumers_(plain_counter(registry, "millrace_source_consumers_total",
                               "Consumers that were created to read origin streams.")),
      recreated_(plain_counter(registry, "millrace_source_streams_recreated_total",
                               "Origin streams that had been created again.")),
      rolled_back_(plain_counter(registry, "millrace_source_streams_rolled_back_total",
                                 "Origin streams that had lost messages that were applied.")),
      gone_(plain_counter(registry, "millrace_source_messages_gone_total",
                          "Sequences that origin streams had removed before they were read.")),
      lost_events_(plain_counter(registry, "millrace_source_events_lost_total",
                                 "How often the event stream had lost events of a source.")) {}

void SourceMetrics::set(const SourceLevels& levels) {
  reading_.Set(static_cast<double>(levels.reading));
  waiting_.Set(static_cast<double>(levels.waiting));
  consumers_left_.Set(static_cast<double>(levels.consumers_left));
  namespace_lag_.set(levels.namespace_lag);
  read_.set(levels.read, labels_of_source);
  lag_.set(levels.lag, labels_of_source);
  consumers_.set(levels.consumers);
  recreated_.set(levels.recreated);
  rolled_back_.set(levels.rolled_back);
  gone_.set(levels.gone);
  lost_events_.set(levels.lost_events);
}

}  // namespace millrace
