// The origin stream of a source: one that other programs fill, or the one that millrace makes for
// the subjects of a source without a stream.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "orchestrator/definition/source_settings.h"
#include "orchestrator/ports/origin_streams.h"

namespace millrace {

/// Ok if a source may read the stream: if its messages stay when its consumers have acknowledged
/// them, a source that does not consume it may, and otherwise one that `consumes` it. Error
/// `source.retention`.
Status check_retention(const std::string& stream, const OriginState& state, bool consumes);

/// The name of the origin stream of the source `name`.
std::string origin_name(const OriginStreams& origins, std::string_view ns, std::string_view name,
                        const SourceSettings& settings);

/// The filters of a reader. A stream that millrace makes has the subjects of its source only.
std::vector<std::string> origin_filters(const SourceSettings& settings);

/// The origin stream as it is now; changes nothing. Errors: those of OriginStreams::find() and
/// find_source_stream(), and `source.retention`.
Result<OriginState> find_origin(OriginStreams& origins, std::string_view ns, std::string_view name,
                                const SourceSettings& settings);

/// The same, but makes the stream of a source that names none, or gives it the limits and subjects
/// of the settings. Errors: also those of OriginStreams::ensure_source_stream().
Result<OriginState> ensure_origin(OriginStreams& origins, std::string_view ns,
                                  std::string_view name, const SourceSettings& settings);

/// The newest messages that a source with these settings reads, the newest first: at most
/// kMostTried of the newest kTriedRange of the stream. They are fetched one by one, without a
/// consumer, until `until`: a further consumer of a work queue would change who gets its messages.
/// Errors: those of find_origin().
Result<std::vector<OriginMessage>> newest_messages(OriginStreams& origins, std::string_view ns,
                                                   std::string_view name,
                                                   const SourceSettings& settings,
                                                   std::chrono::steady_clock::time_point until);

}  // namespace millrace
