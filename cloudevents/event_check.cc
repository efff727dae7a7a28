#include "cloudevents/event_check.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/byte_set.h"
#include "base/bytes.h"
#include "base/own_attributes.h"
#include "base/time.h"
#include "cloudevents/errors.h"
#include "cloudevents/headers.h"
#include "cloudevents/media_type.h"
#include "cloudevents/uri.h"

namespace millrace {
namespace {

constexpr ByteSet kName("", {{'a', 'z'}, {'0', '9'}});

/// Removes the first code point from `text`, which must be UTF-8, and returns it.
uint32_t take_code_point(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  uint32_t code = size == 1 ? lead : lead & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  text.remove_prefix(size);
  return code;
}

bool is_allowed(uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  return (code & 0xfffe) != 0xfffe && (code < 0xfdd0 || code > 0xfdef);
}

/// Checks the rules for the text of any attribute.
Status check_text(std::string_view name, std::string_view value) {
  if (is_attribute_string(value)) return {};
  return fail(kEventAttributeValue.code,
              fmt::format("attribute \"{}\" is {}; expected UTF-8 text without control characters "
                          "and noncharacters",
                          name, shown(value)));
}

Status check_core_text(std::string_view name, std::string_view value) {
  if (value.empty()) {
    return fail(
        kEventEmptyAttribute.code,
        fmt::format("attribute \"{}\" is empty; expected a text of at least one character", name));
  }
  return check_text(name, value);
}

tl::unexpected<Error> unlike(const EventError& error, std::string_view name, std::string_view value,
                             std::string_view expected) {
  return fail(error.code,
              fmt::format("attribute \"{}\" is {}; expected {}", name, shown(value), expected));
}

}  // namespace

bool is_attribute_name(std::string_view name) {
  return !name.empty() && kName.has_all(name) && name != "data";
}

bool is_core_attribute(std::string_view name) {
  return std::find(kCoreAttributes.begin(), kCoreAttributes.end(), name) != kCoreAttributes.end();
}

bool is_attribute_string(std::string_view bytes) {
  if (is_printable_ascii(bytes)) return true;
  if (!is_utf8(bytes)) return false;
  while (!bytes.empty()) {
    if (!is_allowed(take_code_point(bytes))) return false;
  }
  return true;
}

std::optional<int32_t> attribute_integer(const Json& number) {
  const auto within = [](auto value) {
    return std::in_range<int32_t>(value) ? std::optional(static_cast<int32_t>(value))
                                         : std::nullopt;
  };
  if (number.is_number_unsigned()) return within(number.get<uint64_t>());
  return number.is_number_integer() ? within(number.get<int64_t>()) : std::nullopt;
}

Error too_many_attributes(size_t most) {
  return {kEventTooManyAttributes.code,
          fmt::format("the event has more than {0} extension attributes; expected at most {0}: put "
                      "the others into the data",
                      most)};
}

Status check_event(const Event& event, size_t most_extensions) {
  const auto given = [](const std::optional<std::string>& value) {
    return value ? &*value : nullptr;
  };
  const std::pair<std::string_view, const std::string*> core[] = {
      {"id", &event.id},
      {"source", &event.source},
      {"type", &event.type},
      {"subject", given(event.subject)},
      {"time", given(event.time)},
      {"datacontenttype", given(event.datacontenttype)},
      {"dataschema", given(event.dataschema)},
  };
  for (const auto& [name, value] : core) {
    if (value != nullptr) TRY(check_core_text(name, *value));
  }
  if (!is_uri_reference(event.source)) {
    return unlike(kEventAttributeValue, "source", event.source,
                  "a URI reference (RFC 3986); other characters are written %XX");
  }
  if (event.time && !parse_rfc3339(*event.time)) {
    return unlike(kEventTime, "time", *event.time,
                  "an RFC 3339 timestamp such as 2021-09-01T12:00:00Z");
  }
  if (event.datacontenttype && !parse_media_type(*event.datacontenttype)) {
    return unlike(kEventContentType, "datacontenttype", *event.datacontenttype,
                  "a media type such as application/json");
  }
  if (event.dataschema && !is_absolute_uri(*event.dataschema)) {
    return unlike(kEventAttributeValue, "dataschema", *event.dataschema,
                  "an absolute URI (RFC 3986), with its scheme");
  }
  size_t counted = 0;
  for (const auto& [name, value] : event.extensions) {
    if (!is_own_attribute(name) && ++counted > most_extensions) {
      return tl::unexpected(too_many_attributes(most_extensions));
    }
    if (!is_attribute_name(name) || is_core_attribute(name)) {
      const std::string lower = to_lower(name);
      const bool is_case = lower != name && is_attribute_name(lower) && !is_core_attribute(lower);
      return fail(kEventAttributeName.code,
                  fmt::format("attribute name {} is not valid; expected lower-case letters and "
                              "digits only, and no reserved name{}",
                              shown(name), is_case ? fmt::format(": write {}", lower) : ""));
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
      TRY(check_text(name, *text));
    }
  }
  return {};
}

std::string shown(std::string_view text) {
  constexpr size_t kMost = 80;
  const bool valid = is_utf8(text);
  std::string_view rest = text;
  std::string out = "\"";
  while (!rest.empty() && text.size() - rest.size() < kMost) {
    const std::string_view before = rest;
    if (!valid) {
      const auto byte = static_cast<unsigned char>(rest.front());
      out += byte < 0x20 || byte > 0x7e ? fmt::format("\\x{:02x}", byte) : std::string(1, byte);
      rest.remove_prefix(1);
    } else if (const uint32_t code = take_code_point(rest); is_allowed(code)) {
      out += before.substr(0, before.size() - rest.size());
    } else {
      out += fmt::format("\\u{:04x}", code);
    }
  }
  out += rest.empty() ? "\"" : "\"…";
  return out;
}

}  // namespace millrace
