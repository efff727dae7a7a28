// Event: a CloudEvent (specification 1.0.2) as a plain value, independent of the transport. Only
// cloudevents/ decodes it from bytes and encodes it to bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"

namespace millrace {

/// The value of an extension attribute: Boolean, Integer (32 bits), or a type that is written as
/// text.
using AttributeValue = std::variant<bool, int32_t, std::string>;

struct Event {
  std::string id;
  std::string source;
  std::string type;
  std::optional<std::string> subject;
  std::optional<std::string> time;  ///< as received; valid RFC 3339
  std::optional<std::string> datacontenttype;
  std::optional<std::string> dataschema;
  std::map<std::string, AttributeValue> extensions;  ///< lower-case names; no core attribute

  /// The bytes of the data as the binary mode would carry them. For an event in structured mode:
  /// the JSON text of `data` under a JSON content type, else the string itself or the bytes that
  /// `data_base64` encodes.
  std::optional<std::string> data;

  bool operator==(const Event&) const = default;
};

/// The canonical string form of a context attribute, core or extension (CloudEvents, "Type System":
/// `true`, `-7`, text unchanged); nullopt if the event has no such attribute. `specversion` is
/// "1.0".
std::optional<std::string> attribute(const Event& event, std::string_view name);

/// The data as a workflow sees it: valid JSON as that JSON value, other bytes as a Base64 string,
/// no data as null.
Json payload(const Event& event);

/// Whether the data is JSON by its content type: no content type, `*/json` or `*/*+json`.
/// Parameters are ignored.
bool is_json_content_type(const std::optional<std::string>& content_type);

}  // namespace millrace
