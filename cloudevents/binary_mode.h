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

namespace millrace {

enum class ContentMode { kStructured, kBatch, kBinary };

/// The content type that encoders write in structured mode.
inline constexpr std::string_view kStructuredContentType = "application/cloudevents+json";

/// The prefix of a header that is a context attribute; its case does not matter.
inline constexpr std::string_view kAttributePrefix = "ce-";

bool is_attribute_header(std::string_view name);

/// The content mode, by the content type: that of the JSON format is structured, that of the JSON
/// batch format is batch, any other is binary. Without a content type a message with a `ce-` header
/// is binary, any other is structured. Errors: `event.content_type` (not a media type, or a charset
/// other than UTF-8), `event.duplicate_attribute` (two content types),
/// `event.unsupported_format`.
Result<ContentMode> content_mode(const Headers& headers);

/// The size of an event in binary mode, in bytes, to compare with the limit: body and `ce-`
/// headers.
size_t binary_size(const Headers& headers, std::string_view body);

/// Whether the body conforms to the event's content type: it must be a JSON text if the content
/// type is JSON, and may be any bytes if the content type is another one or absent.
bool has_declared_data(const std::optional<std::string>& content_type, std::string_view body);

/// Reads an event in binary mode. All extension attributes become text; an empty body means no
/// data. The content type is that of `content-type` or `ce-datacontenttype`, which must be equal if
/// both are present. Errors: `event.*`, except those of the JSON format.
Result<Event> decode_binary(const Headers& headers, std::string_view body, size_t max_bytes);

/// The headers of an event in binary mode, in printable ASCII only. Precondition: check_event
/// accepts the event. If the event has no content type and its data is JSON, `content-type` is
/// application/json (JSON format, section 3.1.2).
Headers encode_binary_headers(const Event& event);

}  // namespace millrace
