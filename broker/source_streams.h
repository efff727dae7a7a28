// The streams that millrace makes for sources which name subjects without a stream: their names,
// settings and marks, and the requests that make and delete them. Private to broker/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "broker/connection.h"
#include "broker/stream_options.h"
#include "orchestrator/ports/origin_streams.h"

namespace millrace {

/// `<PREFIX>_SOURCE_<namespace>+<source>`. The names of both have no `+`, so no two sources have
/// the same stream. Pure.
std::string source_stream_name(std::string_view prefix, std::string_view ns,
                               std::string_view source);

/// The configuration with which the stream is created. The mark that says for which source millrace
/// made it is in its description, and in its metadata, which a NATS server before 2.10 leaves out.
/// Pure.
Json source_stream_config(const StreamOptions& options, const SourceStream& wanted);

/// Whether the stream of that configuration has the mark of that source. Pure.
bool is_source_stream(const Json& config, std::string_view ns, std::string_view source);

/// `found` with the subjects and limits of `wanted`, and without acknowledgements; nullopt: it has
/// them. What an operator has changed besides, such as replicas, stays. Pure.
std::optional<Json> changed_source_stream(const Json& found, const Json& wanted);

/// Ok if a stream may be made for that source. Errors: `source.own_subjects` (a subject overlaps
/// those of millrace or the inboxes of its connections), `settings.invalid` (the name of the stream
/// is too long). Pure.
Status check_source_stream(const StreamOptions& options, std::string_view inbox_prefix,
                           const SourceStream& wanted);

/// The answer to STREAM.INFO of the stream of that source. Errors: `broker.not_found`,
/// `source.stream_taken`, and those of Connection::api.
Result<Json> find_source_stream(const Connection& connection, std::string_view prefix,
                                std::string_view ns, std::string_view source);

/// Makes the stream, or changes its settings; returns the answer to STREAM.INFO, STREAM.CREATE or
/// STREAM.UPDATE. Precondition: check_source_stream(). Errors: `source.stream_taken`,
/// `source.overlap`, and those of Connection::api.
Result<Json> ensure_source_stream(const Connection& connection, const StreamOptions& options,
                                  const SourceStream& wanted);

/// Deletes the stream of that source if millrace made it. Errors: those of Connection::api.
Status remove_source_stream(const Connection& connection, std::string_view prefix,
                            std::string_view ns, std::string_view source);

}  // namespace millrace
