#include "orchestrator/definition/lint_queries.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cloudevents/headers.h"
#include "expressions/instance_name.h"
#include "expressions/jq_syntax.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "language/fields.h"
#include "language/grammar.h"
#include "language/instance_members.h"
#include "language/walk.h"
#include "matchers/pattern.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/never_attributes.h"
#include "orchestrator/definition/query_lookalikes.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

struct LongestFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};

class QueryLinter {
 public:
  QueryLinter(const Node& document, Findings& findings)
      : document_(document), findings_(findings) {}

  void run() {
    const std::vector<Node>& states = items_of(document_, "states");
    for (size_t i = 0; i < states.size(); ++i) {
      if (type_of_state(states[i]) != "foreach") continue;
      actions_of_foreach_.insert(path_of(path_of("states", i), "action"));
    }
    walk(document_, workflow_grammar(), "", [&](const Place& place) { gather_keys(place); });
    walk(document_, workflow_grammar(), "", [&](const Place& place) { check_place(place); });
    for (size_t i = 0; i < states.size(); ++i) {
      if (type_of_state(states[i]) == "eventAnd") check_arrays(states[i], path_of("states", i));
    }
  }

 private:
  /// Records the keys that the definition adds to the data. A key can contain dots: an event's data
  /// is under the event's type.
  void gather_keys(const Place& place) {
    const std::string& text = place.member.value.text;
    if (place.rule.kind == Kind::kEventType) {
      if (text.find('.') != std::string::npos) {
        keys_with_dots_.insert(text);
      } else {
        makers_[text].insert("");
      }
    } else if (place.rule.is("action") || place.rule.is("actions")) {
      makers_["return"].insert("");
    } else if (place.rule.is("catch") || place.rule.is("on_failure")) {
      makers_["error"].insert("");
    } else if (place.rule.is("transform") || place.rule.is("defaultTransform") ||
               is_next_run_key(place.rule)) {
      gather_made_keys(place.member.value, place.path, place.path);
    }
  }

  /// Records the keys that a transform adds to the data.
  void gather_made_keys(const Node& node, const std::string& path, const std::string& transform) {
    for (const Node& item : node.items) gather_made_keys(item, path, transform);
    for (const Member& member : node.members) {
      makers_[member.key].insert(transform);
      gather_made_keys(member.value, path_of(path, member.key), transform);
    }
    if (node.kind != Node::Kind::kString) return;
    const auto text = path == transform
                          ? Template::query(node.text)
                          : Template::literal_or_jq(node.text, Template::Dot::kLiteral);
    if (!text) return;
    for (const Program& program : text->programs()) {
      for (const std::string& key : keys_constructed(program.text)) makers_[key].insert(transform);
      for (const std::string& key : keys_assigned(program.text)) makers_[key].insert("");
    }
  }

  /// The first part of a key with dots, which jq would read as the first key of a path.
  static std::string first_of(const std::string& key) { return key.substr(0, key.find('.')); }

  /// Whether a place of the definition, other than the transform at `path` itself, adds the key to
  /// the data that a jq program at `path` reads. A transform does not read the keys that it
  /// constructs itself.
  bool is_made(const std::string& key, const std::string& path) const {
    const auto makers = makers_.find(key);
    if (makers == makers_.end()) return false;
    return std::any_of(makers->second.begin(), makers->second.end(), [&](const std::string& one) {
      return one.empty() || !path.starts_with(one);
    });
  }

  /// Whether the program itself adds the key to its data before the last `|` in front of position
  /// `at`.
  static bool is_made_before(const std::string& program, size_t at, const std::string& key) {
    const std::string text = without_literals(program).substr(0, at);
    size_t pipe = text.rfind('|');
    while (pipe != std::string::npos && pipe > 0 && text[pipe + 1] == '=') {
      pipe = text.rfind('|', pipe - 1);
    }
    if (pipe == std::string::npos) return false;
    const std::string before = program.substr(0, pipe);
    for (const auto& keys : {keys_constructed(before), keys_assigned(before)}) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) return true;
    }
    return false;
  }

  /// Whether the input of a program at `path` is an element of a foreach.
  bool reads_element(const std::string& path) const {
    const size_t action = path.find(".action");
    return action != std::string::npos && actions_of_foreach_.contains(path.substr(
                                              0, action + std::string_view(".action").size()));
  }

  void check_place(const Place& place) {
    const Node& value = place.member.value;
    const bool is_text = value.kind == Node::Kind::kString;
    switch (place.rule.kind) {
      case Kind::kQuery:
        if (place.rule.is("array")) check_array(place);
        if (is_text) {
          check_query(place);
        } else {
          check_values(value, place.path);
        }
        break;
      case Kind::kCommand:
        if (!is_text || trimmed(value.text) != ".") check_values(value, place.path);
        break;
      case Kind::kMessage:
        if (is_text) check_message(value, place.path);
        break;
      case Kind::kTemplate:
      case Kind::kAttributes:
        check_values(value, place.path);
        break;
      case Kind::kDuration:
        if (place.rule.jq && is_text && mentions_jq(value.text)) check_duration(place);
        break;
      case Kind::kCron:
        if (place.rule.jq) check_values(value, place.path);
        break;
      case Kind::kObject:
        if (place.rule.instead == Kind::kUntil && is_text) check_until(place);
        break;
      case Kind::kPatterns:
        for (const Member& member : value.members) {
          check_pattern(member, path_of(place.path, member.key), place.path.starts_with("start"));
        }
        break;
      default:
        break;
    }
  }

  /// Checks the `array` of a foreach.
  void check_array(const Place& place) {
    const Node& value = place.member.value;
    const auto query = Template::query(to_json(value));
    if (!query) return;
    const ProgramFacts facts = facts_of(*query);
    if (!facts.type.empty() && facts.type != "array") {
      findings_.warning("lint.wrong_type", place.path, value.at,
                        fmt::format("this query never yields an array: it yields a value of the "
                                    "type {}, and the state fails with direktiv.foreachInput",
                                    facts.type),
                        "write a query that yields an array, such as jq(.items)");
    } else if (facts.value && facts.value->empty()) {
      findings_.warning("lint.call_never", place.path, value.at,
                        "this array is always empty, so no call is made",
                        "write a query that reads the array from the data, such as jq(.items), or "
                        "remove the state");
    }
  }

  /// Checks a duration that has jq(…) in it.
  void check_duration(const Place& place) {
    check_values(place.member.value, place.path);
    check_type(
        place, {"string"}, "this query never yields a duration",
        "write a query that yields a text such as \"PT30S\", or add a unit: PTjq(.seconds)S");
  }

  /// Checks an `until` that is a text.
  void check_until(const Place& place) {
    check_values(place.member.value, place.path);
    check_type(place, {"string", "number", "object"}, "this query never yields a time",
               "write a query that yields a time in RFC 3339, a number of seconds since 1970, or "
               "{cron, timezone}");
  }

  /// Reports a value that is one query whose type is known, and is none of `types`.
  void check_type(const Place& place, std::initializer_list<std::string_view> types,
                  std::string_view doubt, const char* mend) {
    const auto query =
        Template::literal_or_jq(to_json(place.member.value), Template::Dot::kLiteral);
    if (!query || query->whole() == nullptr) return;
    const ProgramFacts facts = facts_of(*query);
    if (facts.type.empty() || std::find(types.begin(), types.end(), facts.type) != types.end()) {
      return;
    }
    findings_.warning("lint.wrong_type", place.path, place.member.value.at,
                      fmt::format("{}: it yields a value of the type {}, and the state fails with "
                                  "millrace.duration.invalid",
                                  doubt, facts.type),
                      mend);
  }

  /// Checks the keys that the transform of an eventAnd reads. If several entries have the same
  /// type, the payloads of their events are in one array.
  void check_arrays(const Node& state, const std::string& path) {
    const Node* const transform = value_of(state, "transform");
    if (transform == nullptr) return;
    std::map<std::string, size_t> entries;
    for (const Node& entry : items_of(state, "events")) {
      const Node* const event = value_of(entry, "event");
      ++entries[text_of(event == nullptr ? entry : *event, "type")];
    }
    const auto value = Template::query(to_json(*transform));
    if (!value) return;
    for (const Program& program : value->programs()) {
      for (const std::vector<std::string>& keys : key_paths_of(program.text)) {
        if (keys.size() < 2) continue;
        const std::string& type = keys[0];
        const std::string& key = keys[1];
        const auto found = entries.find(type);
        if (found == entries.end() || found->second < 2) continue;
        findings_.warning(
            "lint.array_key", path_of(path, "transform"), transform->at,
            fmt::format("the data under {} is an array, in the order of the {} entries of this "
                        "type, so it has no key {}",
                        in_quotes(type), found->second, in_quotes(key)),
            fmt::format("write .[{}][0][{}] for the first entry", in_quotes(type), in_quotes(key)));
        return;
      }
    }
  }

  /// Checks a key whose value is a jq program even without `jq(…)`.
  void check_query(const Place& place) {
    const Node& value = place.member.value;
    const auto query = Template::query(value.text);
    if (query) {
      check_programs(*query, value, place.path);
      const bool assigning = place.rule.is("condition") && query->whole() != nullptr &&
                             is_assignment(query->whole()->text);
      if (assigning) {
        findings_.warning(
            "lint.condition_assigns", place.path, value.at,
            "this condition is an assignment: it yields the changed data, which counts as true",
            "write == to compare");
      }
    }
    const std::string_view program = trimmed(value.text);
    if (program.empty() || program == "." || mentions_jq(program)) return;
    findings_.note("lint.bare_jq", place.path, value.at,
                   "this key takes its text as a jq program even without jq(…)",
                   fmt::format("write jq({})", program.size() > 40 ? "…" : program));
  }

  /// Checks a value whose strings are literal except for `jq(…)`.
  void check_values(const Node& node, const std::string& path) {
    for (size_t i = 0; i < node.items.size(); ++i) check_values(node.items[i], path_of(path, i));
    for (const Member& member : node.members) {
      check_values(member.value, path_of(path, member.key));
    }
    if (node.kind != Node::Kind::kString) return;
    if (mentions_jq(node.text)) {
      const auto text = Template::literal_or_jq(node.text, Template::Dot::kLiteral);
      if (text) check_programs(*text, node, path);
      return;
    }
    if (const auto query = query_in_text(trimmed(node.text))) {
      findings_.warning(
          "lint.literal_jq", path, node.at,
          fmt::format("{} is plain text here, not jq", in_quotes(query->text)),
          fmt::format("{}, or {} for the literal text", mend_of(*query), text_as_query(node.text)));
    }
  }

  /// Checks the message of an Error state, which is literal text; its queries belong in `args`.
  void check_message(const Node& value, const std::string& path) {
    const auto query =
        mentions_jq(value.text) ? find_query(value.text) : query_in_text(trimmed(value.text));
    if (!query) return;
    findings_.warning("lint.literal_jq", path, value.at,
                      fmt::format("{} is plain text here, not jq", in_quotes(query->text)),
                      fmt::format("write %s in its place, and {} in `args`", query_of(*query)));
  }

  void check_programs(const Template& text, const Node& value, const std::string& path) {
    for (const Program& program : text.programs()) {
      if (const auto error = facts_of(program.text).error) {
        findings_.warning("lint.jq_fails", path, value.at,
                          fmt::format("this query fails with any data: {}", error->message),
                          "correct the query; to fail on purpose, write a state of `type: error`");
      }
      if (const std::string format = find_unknown_format(program.text); !format.empty()) {
        findings_.warning(
            "lint.jq_fails", path, value.at,
            fmt::format("this query fails where it uses {}, which is not a format of jq", format),
            fmt::format("write one of {}", fmt::join(kJqFormats, ", ")));
      }
      check_instance_members(program, value, path);
      if (reads_element(path)) continue;
      std::string rest = program.text;
      std::vector<std::vector<std::string>> paths = key_paths_of(program.text);
      for (const std::string& key : keys_with_dots_) {
        const bool is_path = take_split_key(rest, key);
        const bool is_read = take_split_path(paths, key) || is_path;
        if (!is_read || is_made(first_of(key), path)) continue;
        findings_.warning(
            "lint.split_key", path, value.at,
            fmt::format(
                ".{} reads several nested keys, but the data of the event is under the one key {}",
                key, in_quotes(key)),
            fmt::format("write .[{}]", in_quotes(key)));
      }
    }
  }

  /// Reports the members that `$instance` does not have, which are null.
  void check_instance_members(const Program& program, const Node& value, const std::string& path) {
    std::vector<std::string_view> names;
    for (const InstanceMember& member : kInstanceMembers) names.push_back(member.name);
    for (const std::string& name : instance_members_of(program.text)) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      findings_.warning(
          "lint.instance_member", path, value.at,
          fmt::format("$instance has no member {}, so this is always null", in_quotes(name)),
          fmt::format("write one of {}", fmt::join(names, ", ")));
    }
  }

  /// Whether the jq program reads the key as a path that the program does not make itself. Blanks
  /// each such place in `program`, so that a shorter key with the same beginning does not match
  /// there.
  static bool take_split_key(std::string& program, const std::string& key) {
    bool found = false;
    for (size_t at = find_split_key(program, key); at != std::string::npos;
         at = find_split_key(program, key)) {
      found = found || !is_made_before(program, at, first_of(key));
      program.replace(at, key.size() + 1, key.size() + 1, '_');
    }
    return found;
  }

  /// Whether one of the paths that the program reads is the key, in any notation
  /// (`.order["new"]`). Removes such paths.
  static bool take_split_path(std::vector<std::vector<std::string>>& paths,
                              const std::string& key) {
    return std::erase_if(paths, [&](const std::vector<std::string>& path) {
             // `.` ends the key and each part of a path.
             return path[0] == first_of(key) &&
                    fmt::format("{}.", fmt::join(path, ".")).starts_with(key + ".");
           }) > 0;
  }

  /// The pattern of a text with `jq(…)` in it, with a letter for each result.
  static std::string with_results_of_a_letter(const Template& text) {
    std::string pattern;
    for (const Template::Part& part : text.parts()) pattern += part.program ? "x" : part.literal;
    return pattern;
  }

  /// Notes that the pattern `value` is matched with backtracking, if `pattern` is, which stands for
  /// it. Returns whether it is.
  bool note_backtracking(const Result<std::shared_ptr<const Pattern>>& pattern, const Node& value,
                         const std::string& path) {
    if (!pattern || (*pattern)->kind() != Pattern::Kind::kBacktracking) return false;
    findings_.note("lint.backtracking", path, value.at,
                   fmt::format("{} is matched with backtracking: if listeners with many different "
                               "patterns of this kind may match one event, most of them get the "
                               "event later",
                               in_quotes(value.text)),
                   "write it without look-around and back-references if many instances wait "
                   "with such patterns");
    return true;
  }

  void check_pattern(const Member& member, const std::string& path, bool is_start) {
    const Node& value = member.value;
    const std::string name = to_lower(member.key);
    const bool is_text = value.kind == Node::Kind::kString;
    if (is_text && mentions_jq(value.text)) {
      const auto text = Template::literal_or_jq(value.text, Template::Dot::kLiteral);
      if (!text) return;
      check_programs(*text, value, path);
      const ProgramFacts facts = facts_of(*text);
      if (facts.value) check_constant(name, *facts.value, value, path);
      if (text->whole() == nullptr && name != "time") {
        note_backtracking(Pattern::compile(with_results_of_a_letter(*text)), value, path);
      }
      return;
    }
    if (const auto query = is_text ? query_in_pattern(trimmed(value.text)) : std::nullopt) {
      findings_.warning("lint.literal_jq", path, value.at,
                        fmt::format("{} is a pattern here, not jq", in_quotes(query->text)),
                        is_start ? "write a pattern; a start has no data yet that jq(…) could read"
                                 : mend_of(*query));
      return;
    }
    const std::string why = is_text ? why_never_matches(name, value.text)
                                    : why_never_equal(name, dump_json(to_json(value)));
    if (!why.empty()) {
      findings_.warning("lint.event_never", path, value.at, "no event matches: " + why,
                        "write a pattern that the attribute can match, or remove the attribute");
      return;
    }
    if (!is_text) return;
    if (name == "time") return;
    const auto pattern = Pattern::compile(value.text);
    if (note_backtracking(pattern, value, path)) return;
    const bool is_plain = pattern && (*pattern)->kind() == Pattern::Kind::kContains &&
                          (*pattern)->literal() == value.text;
    if (!is_plain) return;
    findings_.note(
        "lint.unanchored", path, value.at,
        fmt::format("{} matches longer texts that contain it, too", in_quotes(value.text)),
        "write ^…$ around it to match only this text");
  }

  /// Checks a query that yields the same value for any data.
  void check_constant(const std::string& name, const Json& constant, const Node& value,
                      const std::string& path) {
    const std::string why =
        constant.is_null()
            ? "the query yields null, and the state fails with direktiv.event.jq"
            : why_never_equal(
                  name, constant.is_string() ? constant.get<std::string>() : dump_json(constant));
    if (!why.empty()) {
      findings_.warning(
          "lint.event_never", path, value.at, "no event matches: " + why,
          "write a query that yields a value of the attribute, or remove the attribute");
    }
  }

  const Node& document_;
  Findings& findings_;
  std::set<std::string, LongestFirst> keys_with_dots_;
  /// For each key of the data, the paths of the transforms that make the key; "" means that
  /// something other than a transform makes it.
  std::map<std::string, std::set<std::string>> makers_;
  std::set<std::string> actions_of_foreach_;  ///< the paths of the actions of foreach states
};

}  // namespace

void lint_queries(const Node& document, Findings& findings) {
  QueryLinter(document, findings).run();
}

}  // namespace millrace
