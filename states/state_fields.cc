#include "states/state_fields.h"

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "matchers/pattern.h"

namespace millrace {
namespace {

Result<Template> read_command(const Json& value) {
  return Template::literal_or_jq(value, Template::Dot::kIdentity);
}

Result<Template> read_text(const Json& value) {
  return Template::literal_or_jq(value, Template::Dot::kLiteral);
}

bool is_blank(const Node& node) {
  return node.kind == Node::Kind::kNull || (node.kind == Node::Kind::kString && node.text.empty());
}

/// The pattern as it will be with some text in the places of its programs.
std::string sample_pattern(const Template& value) {
  std::string pattern;
  for (const Template::Part& part : value.parts()) pattern += part.program ? "x" : part.literal;
  return pattern;
}

}  // namespace

std::optional<Template> StateFields::read(const Node& node, std::string path,
                                          Result<Template> (*reader)(const Json& value)) {
  Result<Template> result = reader(to_json(node));
  if (!result) {
    context_.findings.error(result.error().code, std::move(path), node.at, result.error().message);
    return std::nullopt;
  }
  for (const Program& program : result->programs()) {
    if (!program.fast) context_.programs.push_back({program.text, path, node.at});
  }
  return std::move(*result);
}

std::optional<Template> StateFields::read(std::string_view key,
                                          Result<Template> (*reader)(const Json& value)) {
  const Node* const node = fields_.node(key);
  if (node == nullptr || is_blank(*node)) return std::nullopt;
  return read(*node, fields_.path(key), reader);
}

std::optional<Template> StateFields::query(std::string_view key) {
  return read(key, Template::query);
}

Template StateFields::required_query(std::string_view key) {
  if (!fields_.require(key)) return {};
  return query(key).value_or(Template());
}

std::optional<Template> StateFields::command(std::string_view key) {
  return read(key, read_command);
}

Template StateFields::required_text(std::string_view key) {
  if (fields_.required_string(key).empty()) return {};
  return read(key, read_text).value_or(Template());
}

std::vector<Template> StateFields::commands(std::string_view key) {
  std::vector<Template> templates;
  fields_.sequence(key, [&](const Node& node, const std::string& path) {
    std::optional<Template> value = read(node, path, read_command);
    if (value && value->is_constant()) {
      context_.findings.error("definition.not_jq", path, node.at,
                              "an arg must be jq; write jq(…) around the query");
    }
    templates.push_back(std::move(value).value_or(Template()));
  });
  return templates;
}

void StateFields::texts(
    std::string_view key,
    const std::function<void(const Member& member, const std::string& path, Template)>& read_one) {
  fields_.each(key, [&](const Member& member, const std::string& path) {
    read_one(member, path, read(member.value, path, read_text).value_or(Template()));
  });
}

std::optional<StateIndex> StateFields::transition(std::string_view key) {
  const std::optional<std::string> id = fields_.string(key);
  if (!id || id->empty()) return std::nullopt;
  if (const auto found = context_.states.find(*id); found != context_.states.end()) {
    return found->second;
  }
  std::vector<std::string_view> ids;
  for (const auto& [known, index] : context_.states) ids.push_back(known);
  fields_.report(key, "definition.no_state",
                 fmt::format("there is no state {}{}", in_quotes(*id), did_you_mean(*id, ids)));
  return std::nullopt;
}

Exit StateFields::exit(std::string_view transform_key, std::string_view transition_key) {
  return {.transform = query(transform_key), .transition = transition(transition_key)};
}

EventPattern::Attribute StateFields::context_attribute(const Member& member,
                                                       const std::string& path) {
  EventPattern::Attribute attribute{.name = to_lower(member.key)};
  const auto finding = [&](std::string code, Position at, std::string message) {
    context_.findings.error(std::move(code), path, at, std::move(message));
  };
  if (!is_attribute_name(attribute.name) || attribute.name == "type") {
    finding("definition.attribute_name", member.at,
            attribute.name == "type"
                ? "the type has its own key beside the context"
                : "no event has an attribute of this name: it is letters and digits only");
  }
  switch (member.value.kind) {
    case Node::Kind::kString:
    case Node::Kind::kInt:
    case Node::Kind::kFloat:
    case Node::Kind::kBool:
      break;
    case Node::Kind::kBroken:
      return attribute;
    default:
      finding("definition.type", member.value.at,
              fmt::format("{} is {}; write a pattern, a number or a boolean", in_quotes(member.key),
                          describe(member.value)));
      return attribute;
  }
  attribute.value = read(member.value, path, read_text).value_or(Template());
  if (member.value.kind == Node::Kind::kString && attribute.value.whole() == nullptr) {
    if (const auto pattern = Pattern::compile(sample_pattern(attribute.value)); !pattern) {
      finding(pattern.error().code, member.value.at, pattern.error().message);
    }
  }
  return attribute;
}

EventPattern StateFields::event_pattern() {
  EventPattern pattern{.type = fields_.required_string("type")};
  if (pattern.type.find("jq(") != std::string::npos) {
    fields_.report("type", "definition.jq_not_here", "the type is compared as it is; no jq here");
  }
  fields_.each(fields_.either({"context", "filters"}),
               [&](const Member& member, const std::string& path) {
                 pattern.attributes.push_back(context_attribute(member, path));
               });
  pattern.capture =
      fields_.one_of<bool>("capture", {{"payload", false}, {"event", true}}).value_or(false);
  return pattern;
}

EventPattern StateFields::required_event(std::string_view key) {
  EventPattern pattern;
  required_object(key, [&](StateFields& event) { pattern = event.event_pattern(); });
  return pattern;
}

EventPattern StateFields::event_of_entry() {
  return fields_.has("event") ? required_event("event") : event_pattern();
}

StartEvent StateFields::required_start_event(std::string_view key) {
  StartEvent start;
  required_object(key, [&](StateFields& event) { start = event.start_event_of_entry(); });
  return start;
}

StartEvent StateFields::start_event_of_entry() {
  EventPattern pattern = event_of_entry();
  StartEvent start{.filter = {.type = std::move(pattern.type)}, .capture = pattern.capture};
  for (const EventPattern::Attribute& attribute : pattern.attributes) {
    if (!attribute.value.is_constant()) {
      fields_.report(fields_.either({"context", "filters"}), "definition.jq_not_here",
                     "a start has no data for jq to work on; write a pattern");
      continue;
    }
    const Json value = attribute.value.assemble({});
    start.filter.predicates.push_back(
        value.is_string()
            ? Predicate{attribute.name, Predicate::Kind::kPattern, value.get<std::string>()}
            : Predicate{attribute.name, Predicate::Kind::kEquals, dump_json(value)});
  }
  return start;
}

void StateFields::required_object(std::string_view key,
                                  const std::function<void(StateFields&)>& read_fields) {
  if (!fields_.require(key)) return;
  fields_.object(key, [&](Fields& nested) {
    StateFields fields(nested, context_);
    read_fields(fields);
  });
}

void StateFields::required_list(std::string_view key,
                                const std::function<void(StateFields&)>& read_fields) {
  if (!fields_.require(key)) return;
  size_t count = 0;
  const bool is_list = fields_.objects(key, [&](Fields& nested) {
    ++count;
    StateFields fields(nested, context_);
    read_fields(fields);
  });
  if (is_list && count == 0) {
    fields_.report(key, "definition.empty", "the list is empty; it needs at least one entry");
  }
}

Span StateFields::required_duration(std::string_view key) {
  return fields_.required_duration(key).value_or(Span{});
}

}  // namespace millrace
