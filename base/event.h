// Event: a CloudEvent (specification 1.0.2) as a plain value, the same whichever transport brought
// it. cloudevents/ makes it from bytes and writes it to bytes, and is the only room that does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"

namespace millrace {

/// An extension attribute: Boolean, Integer (32 bits), or one of the types whose form is text.
using AttributeValue = std::variant<bool, int32_t, std::string>;

struct Event {
  std::string id;
  std::string source;
  std::string type;
  std::optional<std::string> subject;
  std::optional<std::string> time;  ///< as written, valid RFC 3339
  std::optional<std::string> datacontenttype;
  std::optional<std::string> dataschema;
  std::map<std::string, AttributeValue> extensions;  ///< lower-case names, none of the above

  /// The payload's bytes as the binary mode would carry them: for a structured event with a JSON
  /// content type the JSON text of `data`, else the text itself or what `data_base64` decodes to.
  std::optional<std::string> data;

  bool operator==(const Event&) const = default;
};

/// A context attribute in its canonical string form (section "Type System": `true`, `-7`, text as
/// it is), core or extension; nullopt if the event has none of that name. `specversion` is "1.0".
std::optional<std::string> attribute(const Event& event, std::string_view name);

/// What a workflow sees of the data: valid JSON as that JSON, other bytes as a Base64 string, no
/// data as null.
Json payload(const Event& event);

/// Whether the media type means JSON: none, `*/json` or `*/*+json`, parameters aside.
bool is_json_content_type(const std::optional<std::string>& content_type);

}  // namespace millrace
