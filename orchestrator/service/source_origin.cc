#include "orchestrator/service/source_origin.h"

#include <fmt/format.h>

namespace millrace {

Status check_retention(const std::string& stream, const OriginState& state, bool consumes) {
  if (consumes != state.keeps_messages) return {};
  if (consumes) {
    return fail("source.retention",
                fmt::format("`consume` is for streams that remove messages when their consumers "
                            "acknowledge them, and stream {} keeps them (retention \"limits\"); "
                            "leave `consume` out",
                            stream));
  }
  return fail(
      "source.retention",
      fmt::format("stream {} removes messages when its consumers acknowledge them "
                  "(retention \"workqueue\" or \"interest\"); let millrace be its consumer, "
                  "or with \"interest\" one of its consumers, by `consume`, or read a "
                  "stream with the retention \"limits\", for example a mirror of {}",
                  stream, stream));
}

std::string origin_name(const OriginStreams& origins, std::string_view ns, std::string_view name,
                        const SourceSettings& settings) {
  return settings.has_source_stream() ? origins.source_stream_name(ns, name) : settings.stream;
}

std::vector<std::string> origin_filters(const SourceSettings& settings) {
  return settings.has_source_stream() ? std::vector<std::string>() : settings.subjects;
}

Result<OriginState> find_origin(OriginStreams& origins, std::string_view ns, std::string_view name,
                                const SourceSettings& settings) {
  if (settings.has_source_stream()) return origins.find_source_stream(ns, name);
  const OriginState state = TRY(origins.find(settings.stream));
  TRY(check_retention(settings.stream, state, settings.consume));
  return state;
}

Result<OriginState> ensure_origin(OriginStreams& origins, std::string_view ns,
                                  std::string_view name, const SourceSettings& settings) {
  if (!settings.has_source_stream()) return find_origin(origins, ns, name, settings);
  return origins.ensure_source_stream({.ns = std::string(ns),
                                       .source = std::string(name),
                                       .subjects = settings.subjects,
                                       .max_bytes = settings.max_bytes,
                                       .max_age = settings.max_age});
}

}  // namespace millrace
