#include "cloudevents/json_format.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/json_scan.h"
#include "cloudevents/errors.h"
#include "cloudevents/event_builder.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_text.h"

namespace millrace {
namespace {

/// The error for an event that is not JSON. The function parses the whole text again to find the
/// position of the error.
tl::unexpected<Error> malformed(std::string_view text) {
  const Result<Json> parsed = parse_json(text);
  return fail(kEventMalformedJson.code,
              fmt::format("the event is not a JSON text: {}",
                          parsed ? "a byte order mark precedes the JSON or a NUL byte follows it"
                                 : parsed.error().message));
}

Status check_utf8(std::string_view text) {
  if (is_utf8(text)) return {};
  return fail(kEventNotUtf8.code, "the JSON text is not valid UTF-8; expected UTF-8");
}

/// Checks the limits that bound the work on one event, before any other check.
Status check_bounds(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return fail(kEventTooLarge.code,
                fmt::format("the event has {} bytes; expected at most {}", text.size(), max_bytes));
  }
  if (const size_t depth = depth_of_json(text); depth > kMaxJsonDepth) {
    return fail(kEventDepth.code,
                fmt::format("the JSON text nests {} levels deep; expected at most {}", depth,
                            kMaxJsonDepth));
  }
  return {};
}

/// The type of a JSON value, for a message.
std::string_view kind_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    default:
      return "a number";
  }
}

/// Reads the value of an attribute from any JSON text; nullopt for null (section 2.2).
Result<std::optional<AttributeValue>> read_attribute(std::string_view name, std::string_view json) {
  using Value = std::optional<AttributeValue>;
  if (json == "null") return Value();
  if (json.front() == '"') return Value(*read_string(json));
  const auto mistyped = [&](std::string_view found, std::string_view expected) {
    return fail(kEventAttributeType.code,
                fmt::format("attribute {} is {}; expected {}", shown(name), found, expected));
  };
  const std::string_view expected =
      is_core_attribute(name) ? "a string" : "a string, a boolean or an integer";
  if (json.front() == '{') return mistyped("an object", expected);
  if (json.front() == '[') return mistyped("an array", expected);
  const std::string_view head = json.substr(0, 40);
  if (is_core_attribute(name)) return mistyped(head, expected);
  if (json == "true") return Value(true);
  if (json == "false") return Value(false);
  if (json.find_first_of(".eE") != std::string_view::npos) {
    return mistyped(head, "an integer without fraction and exponent");
  }
  int32_t number = 0;
  if (std::from_chars(json.data(), json.data() + json.size(), number).ec != std::errc()) {
    return fail(kEventAttributeValue.code,
                fmt::format("attribute {} is {}; expected a number from -2147483648 to 2147483647",
                            shown(name), head));
  }
  return Value(number);
}

/// Whether the text is one JSON value, as is_json_text decides; faster for the most common values.
bool is_json_value(std::string_view text) {
  return text == "null" || text == "true" || text == "false" || is_plain_string(text) ||
         is_json_text(text);
}

/// Whether a key, which is given with its quotes, is that name.
bool is_named(std::string_view key, std::string_view name) {
  if (key.find('\\') != std::string_view::npos) return read_string(key) == name;
  return key.size() == name.size() + 2 && key.substr(1, name.size()) == name;
}

/// The two members that can hold the data, as JSON text.
struct DataMembers {
  std::optional<std::string_view> data;
  std::optional<std::string_view> base64;
};

/// Whether Event.data has the characters of the member `data`, which is a string then.
bool is_text(std::string_view json, const std::optional<std::string>& content_type) {
  return json.front() == '"' && !is_json_content_type(content_type);
}

/// The bytes of Event.data for the member `data`, which must not be null.
std::string read_data(std::string_view json, const std::optional<std::string>& content_type) {
  return is_text(json, content_type) ? *read_string(json) : compact_json(json);
}

Status set_data(DataMembers members, EventBuilder& builder) {
  if (members.data == "null") members.data.reset();
  if (members.base64 == "null") members.base64.reset();
  if (members.data && members.base64) {
    return fail(kEventDataConflict.code,
                "\"data\" and \"data_base64\" are both present; expected one of them");
  }
  if (members.base64) {
    const std::optional<std::string> text = read_string(*members.base64);
    std::optional<std::string> bytes;
    if (text) bytes = base64_decode(*text);
    if (!bytes) {
      return fail(kEventDataBase64.code,
                  fmt::format("\"data_base64\" is {}; expected a string of Base64 (RFC 4648, "
                              "section 4) with its padding",
                              shown(text ? *text : *members.base64)));
    }
    builder.set_data(std::move(*bytes), false);
  } else if (members.data) {
    const auto& content_type = builder.datacontenttype();
    builder.set_data(read_data(*members.data, content_type), !is_text(*members.data, content_type));
  }
  return {};
}

Result<Event> decode_object(std::string_view text, const EventLimits& limits) {
  if (const Status checked = check_bounds(text, limits.event_bytes); !checked) {
    return tl::unexpected(checked.error());
  }
  const std::optional<std::vector<JsonMember>> members = split_object(text);
  if (!members) {
    const Result<Json> json = parse_json(text);
    if (!json || !is_json_text(text)) return malformed(text);
    return fail(kEventNotObject.code,
                fmt::format("the JSON text is {}; expected an object{}", kind_of(*json),
                            json->is_array() ? " (a batch has the content type "
                                               "application/cloudevents-batch+json)"
                                             : ""));
  }
  EventBuilder builder(limits.extensions);
  DataMembers data;
  for (const JsonMember& member : *members) {
    const std::optional<std::string> name = read_string(member.key);
    if (!name || !is_json_value(member.value)) return malformed(text);
    if (*name == "data" || *name == "data_base64") {
      std::optional<std::string_view>& slot = *name == "data" ? data.data : data.base64;
      if (slot) {
        return fail(kEventDuplicateAttribute.code,
                    fmt::format("member {} is given twice; expected once", shown(*name)));
      }
      slot = member.value;
      continue;
    }
    std::optional<AttributeValue> value = TRY(read_attribute(*name, member.value));
    const Status added = builder.add(*name, std::move(value));
    if (!added) return tl::unexpected(added.error());
  }
  if (const Status checked = set_data(data, builder); !checked) {
    return tl::unexpected(checked.error());
  }
  return std::move(builder).finish();
}

/// Appends the name of a member to the object, or begins the object if `out` is empty.
void append_name(std::string& out, std::string_view name) {
  out += out.empty() ? "{\"" : ",\"";
  out += name;
  out += "\":";
}

void append_member(std::string& out, std::string_view name, std::string_view json) {
  append_name(out, name);
  out += json;
}

/// Appends a member whose value is a string.
void append_text(std::string& out, std::string_view name, std::string_view text) {
  append_name(out, name);
  append_quoted(text, out);
}

void append_data(std::string& out, const Event& event) {
  const std::string& data = *event.data;
  if (!is_json_content_type(event.datacontenttype)) {
    if (is_utf8(data)) return append_text(out, "data", data);
  } else if (event.data_json.is_known) {
    return append_member(out, "data", data);
  } else if (is_json_value(data) &&
             too_deep_at(data, kMaxJsonDepth - 1) == std::string_view::npos) {
    const std::string json = compact_json(data);
    if (json != "null") return append_member(out, "data", json);
  }
  append_member(out, "data_base64", "\"" + base64_encode(data) + "\"");
}

}  // namespace

Result<Event> decode_json_event(std::string_view text, const EventLimits& limits) {
  if (const Status checked = check_utf8(text); !checked) {
    return tl::unexpected(checked.error());
  }
  return decode_object(text, limits);
}

std::optional<std::string> json_event_data(std::string_view text,
                                           const std::optional<std::string>& content_type) {
  const std::optional<std::vector<JsonMember>> members = split_object(text);
  CHECK(members, "the encoder of events returned a text that is not a JSON object");
  for (const JsonMember& member : *members) {
    if (!is_named(member.key, "data") || member.value == "null") continue;
    return read_data(member.value, content_type);
  }
  return std::nullopt;
}

Result<std::vector<Event>> decode_json_batch(std::string_view text, const EventLimits& limits) {
  if (const Status checked = check_utf8(text); !checked) {
    return tl::unexpected(checked.error());
  }
  const std::optional<std::vector<std::string_view>> elements = split_array(text);
  if (!elements) {
    if (!is_json_text(text)) return malformed(text);
    return fail(kEventNotArray.code,
                "the JSON text of the batch is not an array; expected an array of events");
  }
  if (elements->size() > limits.batch_events) {
    return fail(kEventBatchTooLarge.code,
                fmt::format("the batch has {} events; expected at most {}", elements->size(),
                            limits.batch_events));
  }
  std::vector<Event> events;
  events.reserve(elements->size());
  for (size_t i = 0; i < elements->size(); ++i) {
    Result<Event> event = decode_object((*elements)[i], limits);
    if (!event) return fail_in(fmt::format("[{}]", i), std::move(event.error()));
    events.push_back(std::move(*event));
  }
  return events;
}

std::string encode_json_event(const Event& event) {
  constexpr size_t kUsualAttributes = 320;  // bytes of the attributes of most generated events
  std::string out;
  out.reserve(kUsualAttributes + (event.data ? event.data->size() : 0));
  append_member(out, "specversion", "\"1.0\"");
  append_text(out, "id", event.id);
  append_text(out, "source", event.source);
  append_text(out, "type", event.type);
  if (event.subject) append_text(out, "subject", *event.subject);
  if (event.time) append_text(out, "time", *event.time);
  if (event.datacontenttype) append_text(out, "datacontenttype", *event.datacontenttype);
  if (event.dataschema) append_text(out, "dataschema", *event.dataschema);
  for (const auto& [name, value] : event.extensions) {
    if (const auto* const text = std::get_if<std::string>(&value)) {
      append_text(out, name, *text);
    } else {
      append_member(out, name, *attribute(event, name));
    }
  }
  if (event.data) append_data(out, event);
  out.push_back('}');
  return out;
}

size_t most_encoded_bytes(const Event& event) {
  constexpr size_t kMostOfAByte = 6;   // \u0000
  constexpr size_t kMostOfAName = 64;  // of an attribute with its punctuation, or of a number
  size_t bytes = event.id.size() + event.source.size() + event.type.size();
  for (const auto* const text :
       {&event.subject, &event.time, &event.datacontenttype, &event.dataschema, &event.data}) {
    if (*text) bytes += (*text)->size();
  }
  for (const auto& [name, value] : event.extensions) {
    bytes += name.size() + kMostOfAName;
    if (const auto* const text = std::get_if<std::string>(&value)) bytes += text->size();
  }
  constexpr size_t kAttributes = 10;  // all others, with `specversion`
  return bytes * kMostOfAByte + kAttributes * kMostOfAName;
}

Json event_to_json(const Event& event) {
  Result<Json> json = parse_json(encode_json_event(event));
  CHECK(json, "the encoder wrote invalid JSON: {}", json.error().message);
  return std::move(*json);
}

}  // namespace millrace
