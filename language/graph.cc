#include "language/graph.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "language/grammar.h"
#include "language/walk.h"

namespace millrace {
namespace {

/// The maximum number of characters in a label.
constexpr size_t kLongestLabel = 60;

/// The first characters of the text.
std::string cut(std::string_view text) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins_character = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins_character && characters++ == kLongestLabel) {
      return std::string(text.substr(0, i)) + "…";
    }
  }
  return std::string(text);
}

/// The text as a quoted Mermaid label, on one line.
std::string quoted_label(std::string_view text) {
  std::string out = "\"";
  for (const char c : cut(text)) {
    if (c == '"' || c == '#' || c == '<' || c == '>' || c == '&' || c == '`') {
      out += fmt::format("#{};", static_cast<int>(c));
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out + "\"";
}

std::string text_at(const Node& node, std::string_view key) {
  const Member* const member = node.find(key);
  if (member == nullptr) return "";
  const Node& value = member->value;
  if (value.kind == Node::Kind::kSequence || value.kind == Node::Kind::kMapping) {
    return dump_json(to_json(value));
  }
  return value.text;
}

const std::vector<Node>& items_at(const Node& node, std::string_view key) {
  static const std::vector<Node> none;
  const Member* const member = node.find(key);
  return member == nullptr ? none : member->value.items;
}

/// The line of the key; that of the mapping if it does not have the key.
size_t line_at(const Node& node, std::string_view key) {
  const Member* const member = node.find(key);
  return member == nullptr ? node.at.line : member->at.line;
}

bool is_true_at(const Node& node, std::string_view key) {
  const Member* const member = node.find(key);
  return member != nullptr && member->value.scalar == Json(true);
}

/// The type of the event in an entry of `events`, whether or not it is nested under `event`.
std::string event_type(const Node& entry) {
  const Member* const event = entry.find("event");
  return text_at(event == nullptr ? entry : event->value, "type");
}

/// The keys of a workflow that limit its starts.
constexpr std::string_view kStartLimits[] = {"singular",    "rateLimit", "debounce", "batch",
                                             "concurrency", "throttle",  "priority"};
/// The keys of a function, an action or a `foreach` that limit calls.
constexpr std::string_view kCallLimits[] = {"concurrency", "throttle", "priority"};

bool is_key_among(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// The keys and values of a limit in short: `limit 2, key jq(.customer)`.
std::string short_form(const Node& limit) {
  if (limit.kind != Node::Kind::kMapping) return cut(limit.text);
  std::string text;
  for (const Member& member : limit.members) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", member.key, cut(text_at(limit, member.key)));
  }
  return text;
}

class GraphMaker {
 public:
  WorkflowGraph make(const Node& document) {
    const std::vector<Node>& states = items_at(document, "states");
    for (size_t i = 0; i < states.size(); ++i) numbers_.emplace(text_at(states[i], "id"), i);
    set_start(document);
    graph_.compensates = is_true_at(document, "compensate");
    add_failure(document);
    for (const Member& member : document.members) {
      if (is_key_among(kStartLimits, member.key)) add_limit({.kind = member.key}, member);
    }
    for (const Node& function : items_at(document, "functions")) {
      for (const Member& member : function.members) {
        if (!is_key_among(kCallLimits, member.key)) continue;
        add_limit({.kind = member.key, .function = text_at(function, "id")}, member);
      }
    }
    for (size_t i = 0; i < states.size(); ++i) add_state(i, states[i]);
    return std::move(graph_);
  }

 private:
  void set_start(const Node& document) {
    const Member* const member = document.find("start");
    static const Node none;
    const Node& start = member == nullptr ? none : member->value;
    const std::string type = text_at(start, "type");
    std::vector<std::string> events;
    if (const Member* const event = start.find("event")) {
      events.push_back(text_at(event->value, "type"));
    }
    for (const Node& entry : items_at(start, "events")) events.push_back(event_type(entry));
    const bool all = state_grammar().kind(type) == state_grammar().kind("eventAnd");
    graph_.start_label = text_at(start, "cron");
    if (!events.empty()) {
      graph_.start_label = fmt::format("{}", fmt::join(events, all ? " and " : " or "));
    }
    graph_.first = number_of(text_at(start, "state")).value_or(0);
  }

  void add_failure(const Node& document) {
    const Member* const member = document.find("on_failure");
    if (member == nullptr) return;
    const bool is_mapping = member->value.kind == Node::Kind::kMapping;
    const auto to =
        number_of(is_mapping ? text_at(member->value, "state") : text_at(document, "on_failure"));
    if (!to) return;
    graph_.fails_any = is_mapping && text_at(member->value, "when") == "any";
    graph_.ways.push_back({.to = to,
                           .kind = WayKind::kOnFailure,
                           .label = graph_.fails_any ? "" : text_at(document, "timeout"),
                           .line = member->at.line,
                           .compensates = is_mapping && is_true_at(member->value, "compensate")});
  }

  /// Adds a limit whose place is known; none if the key has no value, or switches it off.
  void add_limit(GraphLimit limit, const Member& member) {
    const Node& value = member.value;
    if (value.kind == Node::Kind::kNull || value.scalar == Json(false)) return;
    limit.text = short_form(value);
    limit.line = member.at.line;
    graph_.limits.push_back(std::move(limit));
  }

  void add_state(size_t number, const Node& node) {
    const Mapping& table = kind_of(node, state_grammar());
    GraphState state{
        .id = text_at(node, "id"), .type = text_at(node, "type"), .line = node.at.line};
    state.compensates = is_true_at(node, "compensate");
    walk(node, state_grammar(), "", [&](const Place& place) {
      if (is_key_among(kCallLimits, place.member.key)) {
        add_limit({.kind = place.member.key, .state = state.id}, place.member);
      }
      if (place.rule.kind != KeyRule::Kind::kFunction) return;
      const std::string& name = place.member.value.text;
      if (place.path == "compensate.function") {
        state.undo = name;
        return;
      }
      const bool is_known =
          std::find(state.calls.begin(), state.calls.end(), name) != state.calls.end();
      if (!is_known) state.calls.push_back(name);
    });
    if (&table == state_grammar().kind("consumeEvent")) state.waits.push_back(event_type(node));
    for (const KeyRule* key : table.keys()) {
      if (key->kind == KeyRule::Kind::kObject && key->list && key->name != "catch") {
        add_entries(number, *key, node, state);
      }
    }
    graph_.states.push_back(std::move(state));
    if (table.find("transition") != nullptr) {
      add_way(number, WayKind::kTransition, "", node, kOwnExit);
    }
    if (table.find("defaultTransition") != nullptr) {
      add_way(number, WayKind::kDefault, "otherwise", node, kDefaultExit);
    }
    for (const Node& entry : items_at(node, "catch")) {
      add_way(number, WayKind::kCatch, text_at(entry, "error"), entry, kOwnExit);
    }
  }

  /// Adds the events and the transitions of the entries of a list such as `conditions` or `events`.
  void add_entries(size_t from, const KeyRule& key, const Node& node, GraphState& state) {
    const bool has_events = key.name == "events";
    const bool has_ways = key.object->find("transition") != nullptr;
    for (const Node& entry : items_at(node, key.name)) {
      if (has_events) state.waits.push_back(event_type(entry));
      if (!has_ways) continue;
      add_way(from, has_events ? WayKind::kEvent : WayKind::kCondition,
              has_events ? event_type(entry) : text_at(entry, "condition"), entry, kOwnExit);
    }
  }

  /// The keys of a mapping that say where a way leads.
  struct ExitKeys {
    std::string_view transition;
    std::string_view continue_as_new;
  };
  static constexpr ExitKeys kOwnExit{"transition", "continueAsNew"};
  static constexpr ExitKeys kDefaultExit{"defaultTransition", "defaultContinueAsNew"};

  void add_way(size_t from, WayKind kind, std::string label, const Node& mapping,
               const ExitKeys& keys) {
    const Member* const next_run = mapping.find(keys.continue_as_new);
    const bool is_next_run = next_run != nullptr && next_run->value.kind != Node::Kind::kNull &&
                             !text_at(mapping, keys.continue_as_new).empty();
    const std::string_view key = is_next_run ? keys.continue_as_new : keys.transition;
    graph_.ways.push_back({.from = from,
                           .to = is_next_run ? graph_.first : number_of(text_at(mapping, key)),
                           .kind = kind,
                           .label = std::move(label),
                           .line = line_at(mapping, key),
                           .is_next_run = is_next_run});
  }

  std::optional<size_t> number_of(const std::string& id) const {
    const auto found = numbers_.find(id);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

  WorkflowGraph graph_;
  std::map<std::string, size_t> numbers_;
};

/// The Mermaid id of a state. The state's own id may contain characters that Mermaid does not
/// allow.
std::string mermaid_name(const std::optional<size_t>& number) {
  return number ? fmt::format("s{}", *number) : "end_";
}

constexpr std::string_view kArrow = "-->";
constexpr std::string_view kDottedArrow = "-.->";
constexpr std::string_view kThickArrow = "==>";

std::string mermaid_way(std::string_view from, std::string_view label, std::string_view to,
                        std::string_view arrow = kArrow) {
  return fmt::format("  {} {}{} {}\n", from, arrow,
                     label.empty() ? "" : fmt::format("|{}|", quoted_label(label)), to);
}

/// The label without its quotes.
std::string inner_label(std::string_view text) {
  const std::string label = quoted_label(text);
  return label.substr(1, label.size() - 2);
}

/// The box of a state: its id, its type, what undoes it, and whether it makes compensations.
std::string mermaid_state(size_t number, const GraphState& state) {
  std::string lines =
      fmt::format("{}<br/><i>{}</i>", inner_label(state.id), inner_label(state.type));
  if (!state.undo.empty()) lines += fmt::format("<br/>undone by {}", inner_label(state.undo));
  if (state.compensates) lines += "<br/>compensates";
  return fmt::format("  {}[\"{}\"]\n", mermaid_name(number), lines);
}

/// Of what the limit is: `throttle of calls of bank`.
std::string limit_name(const GraphLimit& limit) {
  if (!limit.function.empty()) return fmt::format("{} of calls of {}", limit.kind, limit.function);
  if (!limit.state.empty()) return fmt::format("{} of state {}", limit.kind, limit.state);
  return limit.kind;
}

/// A box with the limits, and with `compensate` of the workflow; empty: it has none of them.
std::string mermaid_limits(const WorkflowGraph& graph) {
  std::string lines;
  const auto add = [&](std::string_view line) {
    lines += fmt::format("{}{}", lines.empty() ? "" : "<br/>", line);
  };
  for (const GraphLimit& limit : graph.limits) {
    add(fmt::format("{}: {}", inner_label(limit_name(limit)), inner_label(limit.text)));
  }
  if (graph.compensates) add("compensate: true");
  return lines.empty() ? "" : fmt::format("  limits_>\"{}\"]\n", lines);
}

/// The way of a state: a way to the next run says so, besides its cause.
std::string mermaid_way(const GraphWay& way) {
  const std::string from = mermaid_name(way.from);
  const std::string to = mermaid_name(way.to);
  if (way.is_next_run) {
    const std::string label = way.label.empty() ? "next run" : way.label + ": next run";
    return mermaid_way(from, label, to, kThickArrow);
  }
  return mermaid_way(from, way.label, to, way.kind == WayKind::kCatch ? kDottedArrow : kArrow);
}

}  // namespace

std::string_view to_string(WayKind kind) {
  switch (kind) {
    case WayKind::kTransition:
      return "transition";
    case WayKind::kCondition:
      return "condition";
    case WayKind::kEvent:
      return "event";
    case WayKind::kDefault:
      return "default";
    case WayKind::kCatch:
      return "catch";
    case WayKind::kOnFailure:
      return "on_failure";
  }
  return "unknown";
}

WorkflowGraph workflow_graph(const Node& document) { return GraphMaker().make(document); }

Json to_json(const WorkflowGraph& graph) {
  Json states = Json::array();
  for (const GraphState& state : graph.states) {
    states.push_back({{"id", state.id},
                      {"type", state.type},
                      {"line", state.line},
                      {"waits", state.waits},
                      {"calls", state.calls}});
    if (!state.undo.empty()) states.back()["undo"] = state.undo;
    if (state.compensates) states.back()["compensates"] = true;
  }
  const auto id_of = [&](const std::optional<size_t>& number) {
    return number && *number < graph.states.size() ? Json(graph.states[*number].id) : Json();
  };
  Json ways = Json::array();
  for (const GraphWay& way : graph.ways) {
    Json one{{"from", id_of(way.from)},
             {"to", id_of(way.to)},
             {"kind", to_string(way.kind)},
             {"label", cut(way.label)},
             {"line", way.line}};
    if (way.is_next_run) one["nextRun"] = true;
    if (way.compensates) one["compensates"] = true;
    ways.push_back(std::move(one));
  }
  Json json{{"start", {{"state", id_of(graph.first)}, {"label", cut(graph.start_label)}}},
            {"states", std::move(states)},
            {"ways", std::move(ways)}};
  if (graph.compensates) json["compensates"] = true;
  for (const GraphLimit& limit : graph.limits) {
    Json one{{"kind", limit.kind}, {"text", limit.text}, {"line", limit.line}};
    if (!limit.function.empty()) one["function"] = limit.function;
    if (!limit.state.empty()) one["state"] = limit.state;
    json["limits"].push_back(std::move(one));
  }
  return json;
}

std::string mermaid_graph(const Node& document) {
  const WorkflowGraph graph = workflow_graph(document);
  std::string text = "flowchart TD\n  start_((start))\n";
  text += mermaid_way("start_", graph.start_label, mermaid_name(graph.first));
  size_t next = 0;
  for (; next < graph.ways.size() && !graph.ways[next].from; ++next) {
    const std::string_view cause = graph.fails_any ? "failure" : "timeout";
    text += fmt::format("  {0}_(({0}))\n", cause);
    const GraphWay& way = graph.ways[next];
    const std::string_view label = way.label;
    const std::string_view end = way.compensates ? "compensates" : "";
    text += mermaid_way(fmt::format("{}_", cause),
                        fmt::format("{}{}{}", label, label.empty() || end.empty() ? "" : ": ", end),
                        mermaid_name(way.to), kDottedArrow);
  }
  bool has_end = false;
  for (size_t i = 0; i < graph.states.size(); ++i) {
    text += mermaid_state(i, graph.states[i]);
    for (; next < graph.ways.size() && graph.ways[next].from == i; ++next) {
      const GraphWay& way = graph.ways[next];
      has_end = has_end || !way.to;
      text += mermaid_way(way);
    }
  }
  if (has_end) text += "  end_(((end)))\n";
  return text + mermaid_limits(graph);
}

}  // namespace millrace
