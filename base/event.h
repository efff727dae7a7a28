// Event: a CloudEvent (specification 1.0.2) as a plain value, independent of the transport. Only
// cloudevents/ decodes an Event from bytes and encodes an Event to bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"

namespace millrace {

/// Whether the data of an event is known to be a compact JSON text, other than null, that nests at
/// most kMaxJsonDepth - 1 deep. Events that differ only in this are equal.
struct KnownJson {
  bool is_known = false;
  bool operator==(const KnownJson&) const { return true; }
};

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
  std::map<std::string, AttributeValue> extensions;  ///< lower-case names; never a core attribute

  /// The data as bytes, as the binary mode carries them. Of an event in structured mode, these are
  /// the bytes that `data_base64` encodes, or the JSON text of `data`. If `data` is a string and
  /// the content type is not JSON, these are the characters of the string.
  std::optional<std::string> data;
  /// Set by decoders, so that large data need not be checked again. Whatever sets other data must
  /// reset it.
  KnownJson data_json = {};

  bool operator==(const Event&) const = default;
};

/// The canonical string form of a context attribute, core or extension (CloudEvents, "Type System":
/// `true`, `-7`, text unchanged); nullopt if the event has no such attribute. The form of
/// `specversion` is always "1.0".
std::optional<std::string> attribute(const Event& event, std::string_view name);

/// The data as a workflow sees it: valid JSON becomes that JSON value, other bytes become a Base64
/// string, absent data becomes null.
Json payload(const Event& event);

/// Whether the content type means JSON data: it is absent, `*/json` or `*/*+json`. Parameters of
/// the content type are ignored.
bool is_json_content_type(const std::optional<std::string>& content_type);

}  // namespace millrace
