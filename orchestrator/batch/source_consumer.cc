#include "orchestrator/batch/source_consumer.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "cloudevents/subject.h"
#include "orchestrator/definition/source_settings.h"

namespace millrace {

std::string consumer_name(std::string_view ns, std::string_view name, const SourceId& source) {
  return fmt::format("millrace-{}-{}-{}", subject_token(ns), subject_token(name),
                     to_hex(source).substr(0, 8));
}

std::optional<SourceConsumer> consumer_of(std::string_view ns, const SourcePlace& place,
                                          const SourceRecord& record) {
  const auto settings = read_source_settings(record.settings);
  if (!settings || !settings->consume) return std::nullopt;
  return SourceConsumer{.source = record.origin.source,
                        .stream = record.stream,
                        .name = consumer_name(ns, place.name, record.origin.source)};
}

}  // namespace millrace
