// EventMapping: how a message that is no CloudEvent becomes an event, as an operator sets it. Each
// attribute of the event, and its data, is a constant or a `jq(…)` template. orchestrator/mapping/
// evaluates it. Pure; immutable, so any thread may use it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/projection.h"
#include "base/result.h"
#include "expressions/template.h"

namespace millrace {

/// How many extension attributes and jq programs a mapping may have.
inline constexpr size_t kMostMappedAttributes = 32;
inline constexpr size_t kMostMappingPrograms = 64;

/// A jq program of a mapping.
struct MappingProgram {
  std::string where;  ///< its place in the mapping, such as `attributes.orderid`
  std::string text;

  bool operator==(const MappingProgram&) const = default;
};

/// One field of the event that a mapping sets; points into the mapping.
struct MappedField {
  std::string_view name;      ///< of an attribute of the event, or `data`
  bool is_attribute = false;  ///< whether it is an extension attribute
  const Template* value = nullptr;

  /// Its place in the mapping, such as `attributes.orderid`.
  std::string where() const;
};

struct EventMapping {
  Template type;
  // nullopt: what evaluates the mapping has a default, or the event lacks the attribute.
  std::optional<Template> source;
  std::optional<Template> id;
  std::optional<Template> time;
  std::optional<Template> subject;
  std::map<std::string, Template> attributes;  ///< extension attributes
  std::optional<Template> data;                ///< nullopt: the data of the message
  std::string text;                            ///< the settings from which it was read, as JSON
  Projection reads;                            ///< what the jq programs read of their input

  /// Whether both were read from the same settings.
  bool operator==(const EventMapping& other) const { return text == other.text; }

  /// What the mapping sets, in the order in which it is evaluated.
  std::vector<MappedField> fields() const;
  /// All jq programs. Only a jq worker can check whether they are valid jq.
  std::vector<MappingProgram> programs() const;
};

/// Parses `{"type": TEXT, "source"?: TEXT, "id"?: jq, "time"?: TEXT, "subject"?: TEXT,
/// "attributes"?: {NAME: TEXT, BOOLEAN or INTEGER}, "data"?: any JSON}`, in which each TEXT, and
/// each text within `data`, may have `jq(…)` in it. `where` is the place of the mapping in the
/// settings, such as `mapping`. Error `settings.invalid` has the place of the mistake, and what to
/// write there.
Result<EventMapping> parse_mapping(std::string_view where, const Json& value);

}  // namespace millrace
