// What the NATS and the HTTP binding share: which content mode a message is in, and the binary
// mode, where attributes are `ce-` headers with percent-encoded values and the body is the data.
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

/// The content type of the structured mode, as it is written.
inline constexpr std::string_view kStructuredContentType = "application/cloudevents+json";

/// What the name of a header begins with that is an attribute, whatever its case.
inline constexpr std::string_view kAttributePrefix = "ce-";

bool is_attribute_header(std::string_view name);

/// Decided on the content type: that of the JSON format, of the JSON batch format, or any other,
/// which is binary mode. Without a content type: binary with any `ce-` header, else structured.
/// Errors: `event.content_type`, `event.duplicate_attribute` (two content types),
/// `event.unsupported_format`.
Result<ContentMode> content_mode(const Headers& headers);

/// What counts against the limit on one event: the body and the `ce-` headers.
size_t binary_size(const Headers& headers, std::string_view body);

/// Whether the body is what the event's content type declares: a JSON text where it is JSON, any
/// bytes where it is something else or absent.
bool has_declared_data(const std::optional<std::string>& content_type, std::string_view body);

/// Reads an event in binary mode. Its extensions are all text; an empty body is no data. Takes the
/// content type from `content-type` or `ce-datacontenttype`, which must agree. Errors: `event.*`
/// but those of the JSON format.
Result<Event> decode_binary(const Headers& headers, std::string_view body, size_t max_bytes);

/// The headers of an event that check_event takes: printable ASCII only. Where the event does not
/// say what its data are, and they are JSON, `content-type` says it (JSON format, section 3.1.2).
Headers encode_binary_headers(const Event& event);

}  // namespace millrace
