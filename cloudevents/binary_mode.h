// Code shared by the NATS and the HTTP binding: it finds the content mode of a message, and reads
// and writes the binary mode, in which attributes are `ce-` headers with percent-encoded values and
// the body is the data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/result.h"
#include "cloudevents/headers.h"
#include "cloudevents/limits.h"

namespace millrace {

enum class ContentMode { kStructured, kBatch, kBinary };

/// The content type that encoders write in structured mode.
inline constexpr std::string_view kStructuredContentType = "application/cloudevents+json";

/// The prefix of the name of a header that is a context attribute, in upper or lower case.
inline constexpr std::string_view kAttributePrefix = "ce-";

bool is_attribute_header(std::string_view name);

/// The content mode of a message: structured if the content type is that of the JSON format, batch
/// if it is that of the JSON batch format, binary if it is any other. Without a content type, a
/// message is in binary mode if it has a `ce-` header, else in structured mode. Errors:
/// `event.content_type` (not a media type, or a charset other than UTF-8),
/// `event.duplicate_attribute` (two content types), `event.unsupported_format`.
Result<ContentMode> content_mode(const Headers& headers);

/// The size of an event in binary mode, in bytes, as the limit on events counts it: body and `ce-`
/// headers.
size_t binary_size(const Headers& headers, std::string_view body);

/// Whether the body conforms to the event's content type: it must be a JSON text if the content
/// type is JSON, and may be any bytes if the content type is another one or absent.
bool has_declared_data(const std::optional<std::string>& content_type, std::string_view body);

/// Reads an event in binary mode. All extension attributes become text; an empty body means no
/// data. The event's content type is taken from the header `content-type` or `ce-datacontenttype`;
/// if both are present, they must be equal. Errors: `event.*`, except those of the JSON format.
Result<Event> decode_binary(const Headers& headers, std::string_view body,
                            const EventLimits& limits = {});

/// The headers of an event in binary mode, in printable ASCII only. Precondition: check_event
/// accepts the event. If the event has no content type and its data is JSON, `content-type` is
/// application/json (JSON format, section 3.1.2).
Headers encode_binary_headers(const Event& event);

}  // namespace millrace
