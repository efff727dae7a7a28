#include "orchestrator/definition/lint_events.h"

#include <optional>
#include <set>

#include <fmt/format.h>

#include "cloudevents/headers.h"
#include "expressions/template.h"
#include "matchers/pattern.h"
#include "orchestrator/definition/lint_nodes.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

/// Whether a type has characters of a pattern that event types normally lack. `#`, `?` and `+` do
/// not count: a type that is a URI may contain them.
bool looks_like_pattern(std::string_view type) {
  if (type.starts_with('^') || type.ends_with('$')) return true;
  if (type == ">" || type.ends_with(".>")) return true;  // a wildcard of NATS
  if (type.find('{') != std::string_view::npos && type.find('}') != std::string_view::npos) {
    return true;
  }
  return type.find_first_of("\\*[|") != std::string_view::npos ||
         type.find(".+") != std::string_view::npos || type.find("(?") != std::string_view::npos;
}

void check_types(const Node& document, Findings& findings) {
  std::set<std::string_view> sent;  // the types of generated events: not meant as patterns
  walk(document, workflow_grammar(), "", [&](const Place& place) {
    if (place.rule.kind == Kind::kTemplate && place.rule.is("type")) {
      sent.insert(place.member.value.text);
    }
  });
  each_awaited_type(document, [&](const Place& place) {
    const Node& value = place.member.value;
    if (sent.contains(value.text)) return;
    if (trimmed(value.text) != value.text) {
      findings.warning("lint.literal_type", place.path, value.at,
                       fmt::format("a type is compared as plain text, and {} begins or ends with a "
                                   "blank",
                                   in_quotes(value.text)),
                       fmt::format("write {}", in_quotes(trimmed(value.text))));
      return;
    }
    if (!looks_like_pattern(value.text)) return;
    findings.warning("lint.literal_type", place.path, value.at,
                     fmt::format("a type is compared as plain text, and {} looks like a pattern",
                                 in_quotes(value.text)),
                     "write the whole type, with an entry of `events` for each type");
  });
}

/// The value that the attribute has in every event that matches the entry; nullopt: the value may
/// differ.
std::optional<std::string> fixed_value(const Node& entry, const std::string& attribute) {
  const Node* const nested = value_of(entry, "event");
  const Node& event = nested == nullptr ? entry : *nested;
  if (attribute == "type") return text_of(event, "type");
  for (const std::string_view key : {"filters", "context"}) {
    const Node* const patterns = value_of(event, key);
    if (patterns == nullptr) continue;
    for (const Member& member : patterns->members) {
      if (to_lower(member.key) != attribute) continue;
      if (member.value.kind != Node::Kind::kString) return dump_json(to_json(member.value));
      const auto pattern = Pattern::compile(member.value.text);
      if (pattern && (*pattern)->kind() == Pattern::Kind::kEquals) return (*pattern)->literal();
    }
  }
  return std::nullopt;
}

/// Finds attributes of `correlate` that must have different values in two entries: a group needs
/// equal values, so no group is ever complete.
void check_correlate(const Node& document, Findings& findings) {
  const Node* const start = value_of(document, "start");
  if (start == nullptr) return;
  const std::vector<Node>& entries = items_of(*start, "events");
  const std::vector<Node>& correlate = items_of(*start, "correlate");
  for (size_t i = 0; i < correlate.size(); ++i) {
    const std::string attribute = to_lower(correlate[i].text);
    std::optional<std::pair<size_t, std::string>> first;
    for (size_t n = 0; n < entries.size(); ++n) {
      const auto value = fixed_value(entries[n], attribute);
      if (!value) continue;
      if (!first) first.emplace(n, *value);
      if (first->second == *value) continue;
      findings.warning(
          "lint.never_starts", path_of("start.correlate", i), correlate[i].at,
          fmt::format("no group is ever complete: in the events of entry {} `{}` is {}, in those "
                      "of entry {} it is {}",
                      first->first, attribute, in_quotes(first->second), n, in_quotes(*value)),
          fmt::format("remove `{}` from `correlate`", attribute));
      break;
    }
  }
}

/// Finds a start whose incomplete groups stay without limit. With one entry no event waits.
void check_lifespan(const Node& document, Findings& findings) {
  const Node* const start = value_of(document, "start");
  const Node* const type = start == nullptr ? nullptr : value_of(*start, "type");
  if (type == nullptr || (type->text != "eventsAnd" && type->text != "eventAnd")) return;
  if (items_of(*start, "events").size() < 2 || value_of(*start, "lifespan") != nullptr) return;
  findings.note("lint.group_unbounded", "start.type", type->at,
                "without `lifespan`, events wait without limit in a group that never becomes "
                "complete",
                "write how long an event waits for the others, such as `lifespan: P1D`");
}

}  // namespace

void each_awaited_type(const Node& document, const std::function<void(const Place&)>& visit) {
  walk(document, workflow_grammar(), "", [&](const Place& place) {
    if (place.rule.kind != Kind::kEventType) return;
    if (place.member.value.kind == Node::Kind::kString) visit(place);
  });
}

void add_generated_types(const Node& document, MadeTypes& made) {
  walk(document, workflow_grammar(), "", [&](const Place& place) {
    if (place.rule.kind != Kind::kTemplate || !place.rule.is("type")) return;
    const auto type = Template::literal_or_jq(to_json(place.member.value), Template::Dot::kLiteral);
    if (type) made.add(*type);
  });
}

void lint_makers(const Node& document, const MakesType& makes_type, std::string_view where,
                 Findings& findings) {
  MadeTypes own;
  add_generated_types(document, own);
  std::set<std::string_view> seen;
  each_awaited_type(document, [&](const Place& place) {
    const Node& value = place.member.value;
    if (own.may_make(value.text) || makes_type(value.text) || !seen.insert(value.text).second) {
      return;
    }
    findings.warning(
        "lint.event_unknown", place.path, value.at,
        fmt::format("no source, inbound webhook or workflow of {} makes events of the type {}",
                    where, in_quotes(value.text)),
        "correct the type, unless other programs publish these events");
  });
}

void lint_events(const Node& document, const MakesType& makes_type, Findings& findings) {
  check_types(document, findings);
  check_correlate(document, findings);
  check_lifespan(document, findings);
  if (makes_type) lint_makers(document, makes_type, "the namespace", findings);
}

}  // namespace millrace
