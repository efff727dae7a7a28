#include "language/graph.h"

#include <map>
#include <vector>

#include <fmt/format.h>

#include "language/grammar.h"
#include "language/walk.h"

namespace millrace {
namespace {

/// The maximum number of characters in a label.
constexpr size_t kLongestLabel = 60;

/// The text as a quoted Mermaid label, on one line.
std::string label(std::string_view text) {
  std::string out = "\"";
  size_t characters = 0;
  for (const char c : text) {
    const bool begins_character = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (begins_character && characters++ == kLongestLabel) return out + "…\"";
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

/// The type of the event in an entry of `events`, whether or not it is nested under `event`.
std::string event_type(const Node& entry) {
  const Member* const event = entry.find("event");
  return text_at(event == nullptr ? entry : event->value, "type");
}

class Graph {
 public:
  std::string draw(const Node& document) {
    const std::vector<Node>& states = items_at(document, "states");
    for (size_t i = 0; i < states.size(); ++i) numbers_.emplace(text_at(states[i], "id"), i);
    add_start(document);
    add_failure(document);
    for (size_t i = 0; i < states.size(); ++i) add_state(i, states[i]);
    if (has_end_) text_ += "  end_(((end)))\n";
    return text_;
  }

 private:
  void add_start(const Node& document) {
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
    std::string why = text_at(start, "cron");
    if (!events.empty()) why = fmt::format("{}", fmt::join(events, all ? " and " : " or "));
    text_ += "  start_((start))\n";
    const std::string first = text_at(start, "state");
    const auto found = numbers_.find(first);
    add_way("start_", why, first.empty() || found == numbers_.end() ? "s0" : name(found->second));
  }

  void add_failure(const Node& document) {
    const Member* const member = document.find("on_failure");
    if (member == nullptr) return;
    const bool is_mapping = member->value.kind == Node::Kind::kMapping;
    const auto found = numbers_.find(is_mapping ? text_at(member->value, "state")
                                                : text_at(document, "on_failure"));
    if (found == numbers_.end()) return;
    if (is_mapping && text_at(member->value, "when") == "any") {
      text_ += "  failure_((failure))\n";
      add_way("failure_", "", name(found->second), "-.->");
      return;
    }
    text_ += "  timeout_((timeout))\n";
    add_way("timeout_", text_at(document, "timeout"), name(found->second), "-.->");
  }

  void add_state(size_t number, const Node& state) {
    const std::string from = name(number);
    const std::string type = text_at(state, "type");
    const std::string caption = label(text_at(state, "id"));
    text_ += fmt::format("  {}[{}<br/><i>{}</i>\"]\n", from, caption.substr(0, caption.size() - 1),
                         type);
    const Mapping& table = kind_of(state, state_grammar());
    for (const KeyRule* key : table.keys()) {
      if (key->kind == KeyRule::Kind::kObject && key->list && key->name != "catch") {
        add_entries(from, *key, state);
      }
    }
    if (table.find("transition") != nullptr) add_way(from, "", target(state, "transition"));
    if (table.find("defaultTransition") != nullptr) {
      add_way(from, "otherwise", target(state, "defaultTransition"));
    }
    for (const Node& entry : items_at(state, "catch")) {
      add_way(from, text_at(entry, "error"), target(entry, "transition"), "-.->");
    }
  }

  /// Adds the transition of each entry of a list such as `conditions` or `events`.
  void add_entries(const std::string& from, const KeyRule& key, const Node& state) {
    if (key.object->find("transition") == nullptr) return;
    for (const Node& entry : items_at(state, key.name)) {
      const std::string why =
          key.object->find("event") != nullptr ? event_type(entry) : text_at(entry, "condition");
      add_way(from, why, target(entry, "transition"));
    }
  }

  void add_way(const std::string& from, std::string_view why, const std::string& to,
               std::string_view arrow = "-->") {
    text_ += fmt::format("  {} {}{} {}\n", from, arrow,
                         why.empty() ? "" : fmt::format("|{}|", label(why)), to);
  }

  std::string target(const Node& mapping, std::string_view key) {
    const auto found = numbers_.find(text_at(mapping, key));
    if (found != numbers_.end()) return name(found->second);
    has_end_ = true;
    return "end_";
  }

  /// The Mermaid id of a state. The state's own id may contain characters that Mermaid does not
  /// allow.
  static std::string name(size_t number) { return fmt::format("s{}", number); }

  std::string text_ = "flowchart TD\n";
  std::map<std::string, size_t> numbers_;
  bool has_end_ = false;
};

}  // namespace

std::string mermaid_graph(const Node& document) { return Graph().draw(document); }

}  // namespace millrace
