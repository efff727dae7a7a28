#include "orchestrator/service/source_origin.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/subject.h"
#include "orchestrator/service/source_desk.h"

namespace millrace {
namespace {

/// Whether a source with these subjects reads messages of that subject; no subjects: all.
bool selects(const std::vector<std::string>& subjects, const std::string& subject) {
  return subjects.empty() ||
         std::any_of(subjects.begin(), subjects.end(),
                     [&](const std::string& filter) { return subject_covers(filter, subject); });
}

}  // namespace

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

Result<std::vector<OriginMessage>> newest_messages(OriginStreams& origins, std::string_view ns,
                                                   std::string_view name,
                                                   const SourceSettings& settings,
                                                   std::chrono::steady_clock::time_point until) {
  const OriginState state = TRY(find_origin(origins, ns, name, settings));
  const std::string stream = origin_name(origins, ns, name, settings);
  const std::vector<std::string> subjects = origin_filters(settings);
  const uint64_t before = state.last - std::min(state.last, kTriedRange);
  const uint64_t oldest = std::max(before + 1, state.first);
  std::vector<OriginMessage> newest;
  for (uint64_t sequence = state.last; sequence >= oldest && newest.size() < kMostTried;
       --sequence) {
    if (std::chrono::steady_clock::now() >= until) break;
    std::optional<OriginMessage> message = TRY(origins.message_at(stream, sequence));
    if (message && selects(subjects, message->message.subject)) {
      newest.push_back(*std::move(message));
    }
  }
  return newest;
}

}  // namespace millrace
