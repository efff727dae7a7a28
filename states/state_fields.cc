#include "states/state_fields.h"

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "cloudevents/media_type.h"
#include "matchers/pattern.h"
#include "model/early_events.h"
#include "policies/cron.h"
#include "policies/time_zone.h"
#include "states/json_schema.h"

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

/// The latest time that a definition can have.
constexpr TimePoint kEndOfCalendar = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31);

/// A sample of the resolved pattern, with "x" in the place of each jq program.
std::string sample_pattern(const Template& value) {
  std::string pattern;
  for (const Template::Part& part : value.parts()) pattern += part.program ? "x" : part.literal;
  return pattern;
}

/// Whether a jq program is at a position where its result would not be plain text: within […] each
/// character of the result would be a separate alternative, and a backslash before it would escape
/// its first character.
bool has_program_out_of_place(const Template& value) {
  bool in_class = false;
  bool escaped = false;
  for (const Template::Part& part : value.parts()) {
    if (part.program && (in_class || escaped)) return true;
    for (const char c : part.literal) {
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '[' || c == ']') {
        in_class = c == '[';
      }
    }
  }
  return false;
}

/// A proposal for a wrong id, as did_you_mean() makes it; empty if `known` has more ids than may
/// still be compared.
template <class Map>
std::string likely_id(LoadContext& context, std::string_view id, const Map& known) {
  if (context.ids_to_compare < known.size()) return "";
  context.ids_to_compare -= known.size();
  std::vector<std::string_view> ids;
  for (const auto& [one, value] : known) ids.push_back(one);
  return did_you_mean(id, ids);
}

/// The event of a start. A start has no jq, so all values of the event are constants.
StartEvent start_event(EventPattern pattern) {
  StartEvent start{.filter = {.type = std::move(pattern.type)}, .capture = pattern.capture};
  for (const EventPattern::Attribute& attribute : pattern.attributes) {
    const LazyJson value = attribute.value.assemble({});
    start.filter.predicates.push_back(
        value.is_string() ? Predicate{attribute.name, Predicate::Kind::kPattern, value.string()}
                          : Predicate{attribute.name, Predicate::Kind::kEquals, value.text()});
  }
  return start;
}

}  // namespace

void AttributeNames::add(const Member& member, const std::string& path) {
  const auto [first, is_new] = first_.emplace(to_lower(member.key), member.key);
  if (is_new) return;
  findings_.error("definition.duplicate_key", path, member.at,
                  fmt::format("{} and {} are the same attribute: names are in lower case",
                              in_quotes(first->second), in_quotes(member.key)));
}

std::optional<Template> StateFields::read(const Node& node, const std::string& path,
                                          Reader reader) {
  Result<Template> result = reader(to_json(node));
  const auto is_slow = [](const Program& program) { return program.fast == nullptr; };
  if (!result || std::any_of(result->programs().begin(), result->programs().end(), is_slow)) {
    place(node, path, reader);
  }
  if (!result) return std::nullopt;
  context_.names_instance = context_.names_instance || result->names_instance();
  return std::move(*result);
}

void StateFields::place(const Node& node, const std::string& path, Reader reader) {
  for (size_t i = 0; i < node.items.size(); ++i) {
    place(node.items[i], path_of(path, i), read_text);
  }
  for (const Member& member : node.members) {
    place(member.value, path_of(path, member.key), read_text);
  }
  if (node.kind != Node::Kind::kString) return;
  const Result<Template> result = reader(node.text);
  if (!result) {
    context_.findings.error(result.error().code, path, node.at, result.error().message);
    return;
  }
  for (const Program& program : result->programs()) {
    if (!program.fast) context_.programs.push_back({program.text, path, node.at});
  }
}

std::optional<Template> StateFields::read(std::string_view key, Reader reader) {
  const Node* const node = fields_.node(key);
  if (node == nullptr || is_blank(*node)) return std::nullopt;
  return read(*node, fields_.path(key), reader);
}

std::optional<Template> StateFields::query(std::string_view key) {
  fields_.rule(key, {KeyRule::Kind::kQuery});
  return read(key, Template::query);
}

Template StateFields::required_query(std::string_view key) {
  if (!fields_.require(key)) return {};
  if (const Node* node = fields_.node(key); node != nullptr && is_blank(*node)) report_empty(key);
  return query(key).value_or(Template());
}

std::optional<Template> StateFields::command(std::string_view key) {
  fields_.rule(key, {KeyRule::Kind::kCommand});
  return read(key, read_command);
}

Template StateFields::required_text(std::string_view key) {
  fields_.rule(key, {KeyRule::Kind::kTemplate});
  if (required_nonempty(key).empty()) return {};
  return read(key, read_text).value_or(Template());
}

std::string StateFields::required_nonempty(std::string_view key) {
  if (!fields_.require(key)) return "";
  const std::optional<std::string> text = fields_.string(key);
  if (text && text->empty()) report_empty(key);
  return text.value_or("");
}

std::optional<std::string> StateFields::content_type(std::string_view key) {
  auto text = fields_.string(key);
  if (!text || text->empty()) return std::nullopt;
  if (!parse_media_type(*text)) {
    fields_.report(
        key, "definition.content_type",
        fmt::format("{} is not a media type; write one such as text/plain", in_quotes(*text)));
  }
  return text;
}

void StateFields::report_empty(std::string_view key) {
  fields_.report(key, "definition.empty", fmt::format("{} is empty; write a value", key));
}

std::optional<std::vector<Template>> StateFields::commands(std::string_view key) {
  fields_.rule(key, {KeyRule::Kind::kCommand}, true);
  std::vector<Template> templates;
  const bool is_list = fields_.sequence(key, [&](const Node& node, const std::string& path) {
    std::optional<Template> value = read(node, path, read_command);
    if (value && value->is_constant() && node.kind != Node::Kind::kBroken) {
      context_.findings.error("definition.not_jq", path, node.at,
                              "an item of args must be jq; write jq(…) around the query");
    }
    templates.push_back(std::move(value).value_or(Template()));
  });
  if (!is_list && fields_.has(key)) return std::nullopt;
  return templates;
}

void StateFields::texts(
    std::string_view key,
    const std::function<void(const Member& member, const std::string& path, Template)>& read_one) {
  fields_.each(key, [&](const Member& member, const std::string& path) {
    read_one(member, path, read(member.value, path, read_text).value_or(Template()));
  });
}

std::string StateFields::required_schema(std::string_view key) {
  if (!fields_.require(key)) return "";
  const Node* const node = fields_.node(key);
  if (node == nullptr || node->kind != Node::Kind::kString) {
    return inline_schema(key, "a schema, or the id of one in `schemas`");
  }
  const auto found = context_.schemas_by_id.find(node->text);
  if (found != context_.schemas_by_id.end()) return found->second;
  fields_.report(key, "definition.no_schema",
                 fmt::format("there is no schema {}{}", in_quotes(node->text),
                             likely_id(context_, node->text, context_.schemas_by_id)));
  return "";
}

std::string StateFields::required_inline_schema(std::string_view key) {
  return fields_.require(key) ? inline_schema(key, "a schema") : "";
}

std::string StateFields::inline_schema(std::string_view key, std::string_view wanted) {
  const Node* const node = fields_.node(key);
  if (node == nullptr) return "";
  if (node->kind != Node::Kind::kMapping) {
    fields_.report(key, "definition.type",
                   fmt::format("{} is {}; write {}", key, describe(*node), wanted));
    return "";
  }
  check_json_schema(*node, fields_.path(key), context_.findings);
  context_.schemas.push_back({dump_json(to_json(*node)), fields_.path(key), node->at});
  return context_.schemas.back().text;
}

std::optional<StateIndex> StateFields::transition(std::string_view key) {
  fields_.rule(key, {KeyRule::Kind::kState});
  const std::optional<std::string> id = fields_.string(key);
  if (!id || id->empty()) return std::nullopt;
  if (const auto found = context_.states.find(*id); found != context_.states.end()) {
    return found->second;
  }
  fields_.report(key, "definition.no_state",
                 fmt::format("there is no state {}{}", in_quotes(*id),
                             likely_id(context_, *id, context_.states)));
  return std::nullopt;
}

std::optional<Template> StateFields::continue_as_new(std::string_view key,
                                                     std::string_view transition_key) {
  if (fields_.has(key) && fields_.has(transition_key)) {
    fields_.report(
        key, "definition.both_keys",
        fmt::format("{} stands in the place of {}; write one of them", key, transition_key));
  }
  return query(key);
}

Exit StateFields::exit(bool is_default) {
  if (!is_default) {
    return {.transform = query("transform"),
            .transition = transition("transition"),
            .continue_as_new = continue_as_new("continueAsNew", "transition")};
  }
  return {.transform = query("defaultTransform"),
          .transition = transition("defaultTransition"),
          .continue_as_new = continue_as_new("defaultContinueAsNew", "defaultTransition")};
}

std::shared_ptr<const Function> StateFields::required_function(std::string_view key) {
  const std::string id = required_nonempty(key);
  if (id.empty()) return nullptr;
  if (const auto found = context_.functions.find(id); found != context_.functions.end()) {
    return found->second;
  }
  fields_.report(key, "definition.no_function",
                 fmt::format("there is no function {} among `functions`{}", in_quotes(id),
                             likely_id(context_, id, context_.functions)));
  return nullptr;
}

ActionPolicy StateFields::action_policy(const Function* function,
                                        const std::optional<RetryPolicy>& retries) {
  const WrittenTimeouts own = read_timeouts(fields_);
  WrittenTimeouts all = own;
  if (function != nullptr) {
    const auto found = context_.function_timeouts.find(function->id);
    if (found != context_.function_timeouts.end()) all = own.over(found->second);
  }
  check_temporal(own, all);
  ActionPolicy policy{
      .retries = read_retries(fields_), .timeouts = all.with_defaults(), .written = all};
  if (!policy.retries) policy.retries = retries;
  if (!policy.retries && function != nullptr) policy.retries = function->policy.retries;
  if (!policy.retries && all.key_of(Vocabulary::kTemporal) != nullptr) {
    policy.retries = default_policy(Vocabulary::kTemporal);
  }
  if (!policy.retries) policy.retries = context_.default_retries;
  policy.is_settled = context_.has_defaults;
  return policy;
}

/// Reports a missing timeout: in Temporal's vocabulary an action with a timeout needs a
/// start-to-close or a schedule-to-close timeout.
void StateFields::check_temporal(const WrittenTimeouts& own, const WrittenTimeouts& all) {
  const TimeoutKey* const key = all.key_of(Vocabulary::kTemporal);
  if (key == nullptr || all.policy[TimeoutKind::kStartToClose] ||
      all.policy[TimeoutKind::kScheduleToClose]) {
    return;
  }
  const bool is_own = own.key_of(Vocabulary::kTemporal) != nullptr;
  fields_.report(is_own ? key->name : "function", "definition.missing",
                 fmt::format("with a {}{} the action needs a startToCloseTimeout or a "
                             "scheduleToCloseTimeout",
                             key->name, is_own ? "" : " of its function"));
}

EventPattern::Attribute StateFields::context_attribute(const Member& member,
                                                       const std::string& path, Jq jq) {
  EventPattern::Attribute attribute{.name = to_lower(member.key)};
  const auto finding = [&](std::string code, Position at, std::string message) {
    context_.findings.error(std::move(code), path, at, std::move(message));
  };
  if (attribute.name == "type") {
    finding("definition.attribute_name", member.at,
            "the type is not part of context; write it in the key `type` beside context");
  } else if (attribute.name == "data") {
    finding("definition.attribute_name", member.at,
            "data is the payload, not a context attribute; remove it");
  } else if (!is_attribute_name(attribute.name)) {
    finding("definition.attribute_name", member.at,
            "this cannot be the name of a context attribute; write letters and digits only");
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
  const bool is_text = member.value.kind == Node::Kind::kString;
  if (is_text && jq == Jq::kNotHere && mentions_jq(member.value.text)) {
    finding("definition.jq_not_here", member.value.at,
            "a start has no data that jq could read; write a pattern");
    return attribute;
  }
  std::optional<Template> value = read(member.value, path, read_text);
  if (!value) return attribute;
  if (is_text && value->whole() == nullptr) {
    if (has_program_out_of_place(*value)) {
      finding("definition.jq_not_here", member.value.at,
              "the result of jq(…) is plain text in a pattern, so jq(…) cannot be within […] or "
              "after a backslash; write (?:…|…) instead of […]");
    } else if (const auto pattern = Pattern::compile(sample_pattern(*value)); !pattern) {
      finding(pattern.error().code, member.value.at, pattern.error().message);
    }
  }
  attribute.value = std::move(*value);
  return attribute;
}

std::string StateFields::event_type() {
  std::string type = required_nonempty("type");
  if (mentions_jq(type)) {
    fields_.report("type", "definition.jq_not_here",
                   "the type is compared as plain text and cannot contain jq; write the type");
  } else if (!is_attribute_string(type)) {
    fields_.report("type", "definition.value",
                   "an event type cannot contain a line break or another control character");
  }
  return type;
}

std::optional<Duration> StateFields::lookback() {
  const std::optional<Span> span = fields_.duration("lookback");
  if (!span) return std::nullopt;
  if (span->months == 0 && span->fixed <= kLongestLookback) return span->fixed;
  fields_.report("lookback", "definition.value",
                 fmt::format("lookback is {}; write at most P7D, without months and years",
                             in_quotes(span->text)));
  return std::nullopt;
}

EventPattern StateFields::event_pattern(Jq jq) {
  EventPattern pattern{.type = event_type()};
  AttributeNames names(context_.findings);
  fields_.each("context", [&](const Member& member, const std::string& path) {
    names.add(member, path);
    pattern.attributes.push_back(context_attribute(member, path, jq));
  });
  if (fields_.takes("lookback")) pattern.lookback = lookback();
  pattern.capture =
      fields_.one_of<bool>("capture", {{"payload", false}, {"event", true}}).value_or(false);
  return pattern;
}

EventPattern StateFields::event_in(std::string_view key, Jq jq) {
  EventPattern pattern;
  required_object(key, [&](StateFields& event) { pattern = event.event_pattern(jq); });
  return pattern;
}

EventPattern StateFields::event_of_entry(Jq jq) {
  return fields_.has("event") ? event_in("event", jq) : event_pattern(jq);
}

EventPattern StateFields::required_event(std::string_view key) { return event_in(key, Jq::kHere); }

EventPattern StateFields::event_of_entry() { return event_of_entry(Jq::kHere); }

StartEvent StateFields::required_start_event(std::string_view key) {
  return start_event(event_in(key, Jq::kNotHere));
}

StartEvent StateFields::start_event_of_entry() { return start_event(event_of_entry(Jq::kNotHere)); }

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
  fields_.objects(key, [&](Fields& nested) {
    StateFields fields(nested, context_);
    read_fields(fields);
  });
  const Node* const list = fields_.node(key);
  if (list != nullptr && list->kind == Node::Kind::kSequence && list->items.empty()) {
    fields_.report(key, "definition.empty", "the list is empty; write at least one entry");
  }
}

std::optional<WrittenTime> StateFields::duration(std::string_view key) {
  if (!fields_.has_jq(key)) {
    std::optional<Span> span = fields_.duration(key);
    return span ? std::optional<WrittenTime>(std::move(*span)) : std::nullopt;
  }
  std::optional<Template> value = read(key, read_text);
  if (!value) return std::nullopt;
  return EvaluatedTime{.form = EvaluatedTime::Form::kSpan,
                       .key = std::string(key),
                       .zero = fields_.rule(key).zero,
                       .value = std::move(*value)};
}

std::optional<EvaluatedTime> StateFields::until(std::string_view key) {
  const Node* const node = fields_.node(key);
  if (node == nullptr) return std::nullopt;
  const bool is_schedule = node->kind == Node::Kind::kMapping;
  const bool is_time = node->kind == Node::Kind::kString || node->kind == Node::Kind::kInt ||
                       node->kind == Node::Kind::kFloat;
  if (is_schedule) {
    fields_.object(key, check_schedule);
  } else if (!is_time) {
    fields_.report(key, "definition.type",
                   fmt::format("{} is {}; write a time such as \"2027-01-01T09:00:00+01:00\", a "
                               "number of seconds since 1970, or {{cron, timezone}}",
                               key, describe(*node)));
    return std::nullopt;
  }
  std::optional<Template> value = read(*node, fields_.path(key), read_text);
  if (!value) return std::nullopt;
  if (!is_schedule && value->is_constant()) {
    // The time may be past or far ahead when an instance comes to the state: only its form counts.
    const auto time = until_of(key, value->assemble({}), kEndOfCalendar);
    if (!time) fields_.report(key, "definition.value", time.error().message);
  }
  return EvaluatedTime{
      .form = EvaluatedTime::Form::kUntil, .key = std::string(key), .value = std::move(*value)};
}

/// Checks the constant parts of a schedule.
void StateFields::check_schedule(Fields& schedule) {
  schedule.require("cron");
  const std::optional<std::string> cron = schedule.string("cron");
  const std::optional<std::string> zone = schedule.string("timezone");
  const auto known = [](const std::optional<std::string>& text) {
    return text && !mentions_jq(*text) ? &*text : nullptr;
  };
  auto why = why_no_schedule(known(cron), known(zone));
  if (!why) return;
  const bool is_of_zone = known(zone) != nullptr && why->code.starts_with("zone.");
  if (why->code == "zone.unknown") {
    why->message += did_you_mean(is_of_zone ? std::string_view(*zone) : Cron::zone_in(*cron),
                                 TimeZone::names());
  }
  schedule.report(is_of_zone ? "timezone" : "cron", std::move(why->code), std::move(why->message));
}

}  // namespace millrace
