#include "cloudevents/binary_mode.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/json.h"
#include "cloudevents/errors.h"
#include "cloudevents/event_builder.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_text.h"
#include "cloudevents/media_type.h"
#include "cloudevents/percent.h"

namespace millrace {
namespace {

/// The value of the only `content-type` header; nullopt if there is none. Error:
/// `event.duplicate_attribute` if there are two.
Result<std::optional<std::string_view>> content_type(const Headers& headers) {
  std::optional<std::string_view> found;
  for (const auto& [name, value] : headers) {
    if (!same_header(name, "content-type")) continue;
    if (found) {
      return fail(kEventDuplicateAttribute.code,
                  fmt::format("header \"content-type\" is given twice, as {} and {}; expected once",
                              shown(*found), shown(value)));
    }
    found = trim_blanks(value);
  }
  return found;
}

/// The value of an attribute header: removes quotes, then decodes one level of percent-encoding
/// (HTTP binding, section 3.1.3.2).
Result<std::string> decode_header_value(std::string_view name, std::string_view value) {
  const auto undecodable = [&](std::string_view expected) {
    return fail(kEventHeaderEncoding.code,
                fmt::format("header {} is {}; expected {}", shown(name), shown(value), expected));
  };
  std::string_view rest = trim_blanks(value);
  std::optional<std::string> text;
  if (rest.starts_with('"')) {
    text = take_quoted_string(rest);
    if (!text || !rest.empty()) return undecodable("a closing quote at its end");
  } else {
    text = std::string(rest);
  }
  text = percent_decode(*text);
  if (!text) return undecodable("two hexadecimal digits after each %");
  if (!is_utf8(*text)) return undecodable("UTF-8 after percent-decoding");
  return std::move(*text);
}

/// Rejects a body that is declared as JSON and is not. The binding allows any bytes, but such a
/// sender has made a mistake, and a workflow would get the body as a Base64 string.
Status check_data(const std::optional<std::string>& content_type, std::string_view body) {
  if (has_declared_data(content_type, body)) return {};
  const Result<Json> json = parse_json(body);
  const std::string why = json ? "a byte order mark or a NUL" : json.error().message;
  return fail(
      kEventMalformedData.code,
      fmt::format("the content type is {} and the body is not a JSON text: {}; send JSON, or "
                  "declare another content type",
                  shown(*content_type), why));
}

}  // namespace

bool has_declared_data(const std::optional<std::string>& content_type, std::string_view body) {
  return !content_type || body.empty() || !is_json_content_type(content_type) || is_json_text(body);
}

bool is_attribute_header(std::string_view name) {
  return same_header(name.substr(0, kAttributePrefix.size()), kAttributePrefix);
}

size_t binary_size(const Headers& headers, std::string_view body) {
  size_t bytes = body.size();
  for (const auto& [name, value] : headers) {
    if (is_attribute_header(name)) bytes += name.size() + value.size();
  }
  return bytes;
}

Result<ContentMode> content_mode(const Headers& headers) {
  const std::optional<std::string_view> type = TRY(content_type(headers));
  if (!type) {
    for (const auto& header : headers) {
      if (is_attribute_header(header.first)) return ContentMode::kBinary;
    }
    return ContentMode::kStructured;
  }
  if (*type == kStructuredContentType) return ContentMode::kStructured;
  const std::optional<MediaType> media = parse_media_type(*type);
  if (!media) {
    return fail(kEventContentType.code,
                fmt::format("header \"content-type\" is {}; expected a media type such as "
                            "application/cloudevents+json",
                            shown(*type)));
  }
  if (!media->essence.starts_with("application/cloudevents")) return ContentMode::kBinary;
  const bool is_batch = media->essence == "application/cloudevents-batch+json";
  if (!is_batch && media->essence != kStructuredContentType) {
    return fail(kEventUnsupportedFormat.code,
                fmt::format("header \"content-type\" is {}; the only supported event format "
                            "is JSON: application/cloudevents+json",
                            shown(*type)));
  }
  for (const auto& [name, value] : media->parameters) {
    if (name == "charset" && to_lower(value) != "utf-8") {
      return fail(
          kEventContentType.code,
          fmt::format("header \"content-type\" has the charset {}; expected utf-8", shown(value)));
    }
  }
  return is_batch ? ContentMode::kBatch : ContentMode::kStructured;
}

Result<Event> decode_binary(const Headers& headers, std::string_view body,
                            const EventLimits& limits) {
  const std::optional<std::string_view> type = TRY(content_type(headers));
  if (find_header(headers, "ce-specversion") == nullptr) {
    return fail(
        kEventMissingAttribute.code,
        "header \"ce-specversion\" is missing; expected this header (binary mode) or the content "
        "type application/cloudevents+json (structured mode)");
  }
  if (const size_t bytes = binary_size(headers, body); bytes > limits.event_bytes) {
    return fail(kEventTooLarge.code, fmt::format("the event has {} bytes; expected at most {}",
                                                 bytes, limits.event_bytes));
  }
  EventBuilder builder(limits.extensions);
  for (const auto& [name, value] : headers) {
    if (!is_attribute_header(name)) continue;
    std::string text = TRY(decode_header_value(name, value));
    const Status added =
        builder.add(to_lower(name.substr(kAttributePrefix.size())), std::move(text));
    if (!added) return tl::unexpected(added.error());
  }
  if (!builder.datacontenttype()) {
    const Status added = type ? builder.add("datacontenttype", std::string(*type)) : Status();
    if (!added) return tl::unexpected(added.error());
  } else if (type && type != builder.datacontenttype()) {
    return fail(kEventDuplicateAttribute.code,
                fmt::format("header \"content-type\" is {} and \"ce-datacontenttype\" is {}; "
                            "expected only one of them, or the same value in both",
                            shown(*type), shown(*builder.datacontenttype())));
  }
  if (!body.empty()) {
    if (const Status checked = check_data(builder.datacontenttype(), body); !checked) {
      return tl::unexpected(checked.error());
    }
    builder.set_data(std::string(body), false);
  }
  return std::move(builder).finish();
}

Headers encode_binary_headers(const Event& event) {
  Headers headers;
  const auto add = [&](std::string_view name) {
    if (const std::optional<std::string> value = attribute(event, name)) {
      headers.emplace_back(std::string(kAttributePrefix) + std::string(name),
                           percent_encode(*value, "\""));
    }
  };
  for (const char* name :
       {"specversion", "id", "source", "type", "subject", "time", "dataschema"}) {
    add(name);
  }
  for (const auto& extension : event.extensions) add(extension.first);
  if (event.datacontenttype) {
    headers.emplace_back("content-type", *event.datacontenttype);
  } else if (event.data && is_json_text(*event.data)) {
    headers.emplace_back("content-type", "application/json");
  }
  return headers;
}

}  // namespace millrace
