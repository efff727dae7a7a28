#include "orchestrator/definition/event_mapping.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/event.h"
#include "base/excerpt.h"
#include "base/own_attributes.h"
#include "cloudevents/event_check.h"
#include "expressions/program_facts.h"
#include "orchestrator/definition/invalid_setting.h"

namespace millrace {
namespace {

constexpr std::array kMappingKeys = {"type",    "source",     "id",  "time",
                                     "subject", "attributes", "data"};

/// Extension attributes that millrace sets itself.
constexpr std::string_view kOwnAttributes = "millrace";

Result<Template> parse_mapped(const std::string& where, const Json& value) {
  Result<Template> read = Template::literal_or_jq(value, Template::Dot::kLiteral);
  if (!read) return invalid_setting(where, read.error().message);
  if (read->names_instance()) {
    return invalid_setting(where,
                           "`$instance` is not available here: a mapping makes an event before any "
                           "instance exists; write a query of the message, such as jq(.data.id)");
  }
  return read;
}

/// Checks a constant attribute: `set` adds it to an event that is otherwise valid.
template <class Set>
Status check_mapped_constant(const std::string& where, const Template& value, const Set& set) {
  if (!value.is_constant()) return {};
  Event event{.id = "1", .source = "/", .type = "t"};
  set(event, value.assemble({}).value());
  const Status valid = check_event(event);
  if (!valid) return invalid_setting(where, valid.error().message);
  return {};
}

/// A text with which `set` sets an attribute of an event.
template <class Set>
Result<Template> parse_text(const std::string& where, const Json& value, const Set& set) {
  if (!value.is_string()) {
    return invalid_setting(where, R"(write a text, which may have jq(…) in it)");
  }
  Template read = TRY(parse_mapped(where, value));
  TRY(check_mapped_constant(where, read, [&](Event& event, const Json& constant) {
    set(event) = constant.template get<std::string>();
  }));
  return read;
}

Result<Template> parse_id(const std::string& where, const Json& value) {
  Template read =
      TRY(parse_text(where, value, [](Event& event) -> std::string& { return event.id; }));
  if (read.is_constant()) {
    return invalid_setting(where,
                           "with a constant id, all events but the first are duplicates; write "
                           R"j(jq(…), such as "jq(.data.id)")j");
  }
  return read;
}

Result<Template> parse_attribute(const std::string& where, const std::string& name,
                                 const Json& value) {
  if (is_core_attribute(name) || name == "data") {
    return invalid_setting(where,
                           "only extension attributes are set here; type, source, id, time, "
                           "subject and data are settings of the mapping itself");
  }
  if (!is_attribute_name(name)) {
    return invalid_setting(where,
                           "the name of an attribute has only lower-case letters and digits");
  }
  if (name.starts_with(kOwnAttributes) || name == kReplayAttribute) {
    return invalid_setting(where, "millrace sets this attribute itself; choose another name");
  }
  if (value.is_string()) {
    return parse_text(where, value, [&](Event& event) -> std::string& {
      return event.extensions[name].emplace<std::string>();
    });
  }
  if (value.is_boolean() || attribute_integer(value)) return parse_mapped(where, value);
  return invalid_setting(where,
                         "write a text, which may have jq(…) in it, a whole number of 32 bits, "
                         "true or false");
}

Result<std::map<std::string, Template>> parse_attributes(const std::string& where,
                                                         const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, R"j(write an object, such as {"orderid": "jq(.data.id)"})j");
  }
  if (value.size() > kMostMappedAttributes) {
    return invalid_setting(where, fmt::format("{} attributes are given; at most {} are possible",
                                              value.size(), kMostMappedAttributes));
  }
  std::map<std::string, Template> attributes;
  for (const auto& [name, one] : value.items()) {
    attributes.emplace(name,
                       TRY(parse_attribute(fmt::format("{}.{}", where, excerpt(name)), name, one)));
  }
  return attributes;
}

/// Sets one member of the mapping. `where` is the place of the mapping.
Status parse_member(std::string_view where, const std::string& key, const Json& value,
                    EventMapping& mapping) {
  const std::string place = fmt::format("{}.{}", where, excerpt(key));
  if (key == "type") {
    mapping.type =
        TRY(parse_text(place, value, [](Event& event) -> std::string& { return event.type; }));
  } else if (key == "source") {
    mapping.source =
        TRY(parse_text(place, value, [](Event& event) -> std::string& { return event.source; }));
  } else if (key == "id") {
    mapping.id = TRY(parse_id(place, value));
  } else if (key == "time") {
    mapping.time = TRY(parse_text(
        place, value, [](Event& event) -> std::string& { return event.time.emplace(); }));
  } else if (key == "subject") {
    mapping.subject = TRY(parse_text(
        place, value, [](Event& event) -> std::string& { return event.subject.emplace(); }));
  } else if (key == "attributes") {
    mapping.attributes = TRY(parse_attributes(place, value));
  } else if (key == "data") {
    mapping.data = TRY(parse_mapped(place, value));
  } else {
    return invalid_setting(
        place, fmt::format("unknown setting; valid: {}", fmt::join(kMappingKeys, ", ")));
  }
  return {};
}

/// All that the jq programs read, together.
Projection projection_of(const EventMapping& mapping) {
  Projection reads;
  for (const MappedField& field : mapping.fields()) {
    for (const Program& program : field.value->programs()) reads.add(projection_of(program));
  }
  return reads;
}

}  // namespace

std::string MappedField::where() const {
  return (is_attribute ? "attributes." : "") + std::string(name);
}

std::vector<MappedField> EventMapping::fields() const {
  std::vector<MappedField> all{{.name = "type", .value = &type}};
  const auto add = [&](std::string_view name, const std::optional<Template>& value) {
    if (value) all.push_back({.name = name, .value = &*value});
  };
  add("source", source);
  add("id", id);
  add("time", time);
  add("subject", subject);
  for (const auto& [name, value] : attributes) {
    all.push_back({.name = name, .is_attribute = true, .value = &value});
  }
  add("data", data);
  return all;
}

std::vector<MappingProgram> EventMapping::programs() const {
  std::vector<MappingProgram> all;
  for (const MappedField& field : fields()) {
    for (const Program& program : field.value->programs()) {
      all.push_back({.where = field.where(), .text = program.text});
    }
  }
  return all;
}

Result<EventMapping> parse_mapping(std::string_view where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, R"(write an object, such as {"type": "order.placed"})");
  }
  EventMapping mapping;
  mapping.text = dump_json(value);
  for (const auto& [key, one] : value.items()) TRY(parse_member(where, key, one, mapping));
  if (!value.contains("type")) {
    return invalid_setting(fmt::format("{}.type", where),
                           R"(write the type of the events, such as "order.placed")");
  }
  if (const size_t count = mapping.programs().size(); count > kMostMappingPrograms) {
    return invalid_setting(where, fmt::format("{} jq queries are given; at most {} are possible",
                                              count, kMostMappingPrograms));
  }
  mapping.reads = projection_of(mapping);
  return mapping;
}

}  // namespace millrace
