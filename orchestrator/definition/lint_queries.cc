#include "orchestrator/definition/lint_queries.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "expressions/jq_syntax.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "language/grammar.h"
#include "language/walk.h"
#include "matchers/never_matches.h"
#include "matchers/pattern.h"
#include "orchestrator/definition/lint_nodes.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

bool has_jq(std::string_view text) { return text.find("jq(") != std::string_view::npos; }

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// An event that is right but for the attribute, which has this text.
Event event_with(const std::string& name, const std::string& text) {
  Event event{.id = "1", .source = "/", .type = "t"};
  if (name == "id") {
    event.id = text;
  } else if (name == "source") {
    event.source = text;
  } else if (name == "subject") {
    event.subject = text;
  } else if (name == "time") {
    event.time = text;
  } else if (name == "datacontenttype") {
    event.datacontenttype = text;
  } else if (name == "dataschema") {
    event.dataschema = text;
  } else {
    event.extensions[name] = text;
  }
  return event;
}

/// Why no event has an attribute that is this text; empty: one may.
std::string why_never_equal(const std::string& name, const std::string& text) {
  if (name == "specversion") return text == "1.0" ? "" : "the specversion of every event is 1.0";
  const Status valid = check_event(event_with(name, text));
  return valid ? "" : valid.error().message;
}

/// Why no event has an attribute that the pattern matches; empty: one may.
std::string why_never(const std::string& name, const std::string& text) {
  const auto pattern = Pattern::compile(text);
  const auto regex = parse_ecmascript(text);
  if (!pattern || !regex) return "";  // it has jq in it
  if (never_matches(regex->root)) return "the pattern matches no text at all";
  if (name == "specversion" && !(*pattern)->matches("1.0")) {
    return "the specversion of every event is 1.0";
  }
  const std::string& literal = (*pattern)->literal();
  switch ((*pattern)->kind()) {
    case Pattern::Kind::kEquals:
      return why_never_equal(name, literal);
    case Pattern::Kind::kPrefix:
    case Pattern::Kind::kSuffix:
    case Pattern::Kind::kContains:
      if (!is_attribute_string(literal)) return "no attribute holds a control character";
      if (name == "time" && literal.find_first_not_of("0123456789TtZz:.+- ") != std::string::npos) {
        return "a time is written as 2021-09-01T12:00:00Z";
      }
      return "";
    default:
      return "";
  }
}

/// A text that holds no jq and looks as if it were meant to.
struct Lookalike {
  std::string text;   ///< that part of it
  std::string query;  ///< what was probably meant; empty if that cannot be told
};

/// How much of a text a mend repeats, in bytes.
constexpr size_t kMostOfText = 40;

bool is_shown(const Lookalike& one) {
  return !one.query.empty() && one.query.size() <= kMostOfText;
}

std::string query_of(const Lookalike& one) {
  return is_shown(one) ? fmt::format("jq({})", one.query) : "jq(…)";
}

std::string mend_of(const Lookalike& one) {
  return fmt::format("write {}{}", query_of(one), is_shown(one) ? "" : " around the query");
}

/// The query that yields the text.
std::string text_as_query(const std::string& text) {
  return text.size() > kMostOfText ? "jq(\"…\")" : fmt::format("jq({})", dump_json(Json(text)));
}

/// The first `jq(…)` of a text in which none is read.
std::optional<Lookalike> find_query(std::string_view text) {
  constexpr std::string_view kOpen = "jq(";
  const size_t at = text.find(kOpen);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t begin = at + kOpen.size();
  const JqEnd end = scan_jq(text, begin);
  if (end.kind != JqEnd::Kind::kCloser || text[end.at] != ')') {
    return Lookalike{.text = std::string(text.substr(at)), .query = ""};
  }
  return Lookalike{.text = std::string(text.substr(at, end.at + 1 - at)),
                   .query = std::string(trimmed(text.substr(begin, end.at - begin)))};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Where it stands, from `from` on, without a backslash before it, which makes it a pattern's own.
size_t find_unescaped(std::string_view text, std::string_view what, size_t from = 0) {
  size_t at = text.find(what, from);
  while (at != std::string_view::npos && at > 0 && text[at - 1] == '\\') {
    at = text.find(what, at + 1);
  }
  return at;
}

bool is_path_begin(std::string_view text) {
  return text.size() > 1 && text[0] == '.' && begins_name(text[1]);
}

struct Brackets {
  std::string_view open, close;
};

/// The placeholder whose opening bracket stands at `at`.
std::optional<Lookalike> placeholder_at(std::string_view text, size_t at, const Brackets& brackets,
                                        bool bare) {
  const size_t begin = at + brackets.open.size();
  const size_t end = text.find(brackets.close, begin);
  const std::string_view inside = trimmed(text.substr(begin, end - begin));
  const bool is_bare = bare && brackets.open != "$(" && !inside.empty() && begins_name(inside[0]);
  if (!is_path_begin(inside) && !is_bare) return std::nullopt;
  // A bracket in it may have been taken for the end.
  const bool is_whole =
      end != std::string_view::npos && inside.find_first_of("{}()") == std::string_view::npos;
  const size_t size = is_whole ? end + brackets.close.size() - at : std::string_view::npos;
  return Lookalike{.text = std::string(text.substr(at, size)),
                   .query = is_whole ? fmt::format("{}{}", is_bare ? "." : "", inside) : ""};
}

/// What stands between the brackets of another language's placeholder: `${ .order }`,
/// `{{ .order }}`, `$(.order)`. With `bare` also a name without a dot before it.
std::optional<Lookalike> find_placeholder(std::string_view text, bool bare) {
  for (const Brackets& brackets : {Brackets{"{{", "}}"}, {"${", "}"}, {"$(", ")"}}) {
    for (size_t at = find_unescaped(text, brackets.open); at != std::string_view::npos;
         at = find_unescaped(text, brackets.open, at + 1)) {
      if (auto found = placeholder_at(text, at, brackets, bare)) return found;
    }
  }
  return std::nullopt;
}

/// A text that is as a whole a query in another writing: `jq (.order)`, `$.order`.
std::optional<Lookalike> find_other_query(std::string_view text) {
  if (text.starts_with("jq") && text.ends_with(')')) {
    const std::string_view rest = trimmed(text.substr(2));
    if (rest.size() > 2 && rest[0] == '(') {
      return Lookalike{.text = std::string(text),
                       .query = std::string(trimmed(rest.substr(1, rest.size() - 2)))};
    }
  }
  if (text.starts_with('$') && is_path_begin(text.substr(1))) {
    return Lookalike{.text = std::string(text), .query = std::string(text.substr(1))};
  }
  return std::nullopt;
}

/// What of a literal text looks like a query.
std::optional<Lookalike> query_in_text(std::string_view text) {
  if (is_path_begin(text) || text.starts_with(".[") || text.starts_with(".\"")) {
    return Lookalike{.text = std::string(text), .query = std::string(text)};
  }
  if (auto other = find_other_query(text)) return other;
  return find_placeholder(text, false);
}

/// The length of the path of jq that a text begins with: `.order`, `.order[0].id`, `.["a b"]`.
size_t path_length(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    const std::string_view rest = text.substr(end);
    size_t size = 0;
    if (is_path_begin(rest)) {
      size = 2;
      while (size < rest.size() && (begins_name(rest[size]) || is_digit(rest[size]))) {
        ++size;
      }
    } else if (rest.starts_with(".[\"") || (end > 0 && rest[0] == '[')) {
      const size_t open = rest.find('[');
      const size_t close = rest.find(']', open);
      if (close == std::string_view::npos) return 0;
      const std::string_view key = rest.substr(open + 1, close - open - 1);
      const bool is_text = key.size() > 2 && key.front() == '"' && key.back() == '"';
      if (!is_text && key.find_first_not_of("0123456789") != std::string_view::npos) return 0;
      size = close + 1;
    } else {
      break;
    }
    end += size;
  }
  return end;
}

/// What of a pattern looks like a query. The dots of a path would match any character, and no text
/// goes on behind `$`.
std::optional<Lookalike> query_in_pattern(std::string_view text) {
  const size_t path = path_length(text);
  const std::string_view behind = text.substr(path);
  if (path > 0 && (behind.empty() || behind.starts_with(" //") || behind.starts_with(" | "))) {
    return Lookalike{.text = std::string(text), .query = std::string(text)};
  }
  if (auto other = find_other_query(text)) return other;
  if (auto placeholder = find_placeholder(text, true)) return placeholder;
  const bool has_braces = find_unescaped(text, "{{") != std::string_view::npos ||
                          find_unescaped(text, "${") != std::string_view::npos;
  return has_braces ? std::optional(Lookalike{.text = std::string(text), .query = ""})
                    : std::nullopt;
}

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
  /// Keys of the data that have dots in them: an event's data stands under its type.
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
    } else if (place.rule.is("transform") || place.rule.is("defaultTransform")) {
      gather_made_keys(place.member.value, place.path, place.path);
    }
  }

  /// The keys that a transform gives to the data.
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

  /// The first key of the path that a key with dots would be.
  static std::string first_of(const std::string& key) { return key.substr(0, key.find('.')); }

  /// Whether the definition itself gives the key to the data that a program at `path` reads. What
  /// a transform constructs is not there yet when it reads.
  bool is_made(const std::string& key, const std::string& path) const {
    const auto makers = makers_.find(key);
    if (makers == makers_.end()) return false;
    return std::any_of(makers->second.begin(), makers->second.end(), [&](const std::string& one) {
      return one.empty() || !path.starts_with(one);
    });
  }

  /// Whether the program itself makes the key, in what it passes on by the last `|` before `at`.
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

  /// Whether the data of a program are the element that a foreach is at.
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
      case Kind::kPatterns:
        for (const Member& member : value.members) {
          check_pattern(member, path_of(place.path, member.key), place.path.starts_with("start"));
        }
        break;
      default:
        break;
    }
  }

  /// What a foreach goes through.
  void check_array(const Place& place) {
    const Node& value = place.member.value;
    const auto query = Template::query(to_json(value));
    if (!query) return;
    const ProgramFacts facts = facts_of(*query);
    if (!facts.type.empty() && facts.type != "array") {
      findings_.warning("lint.wrong_type", place.path, value.at,
                        fmt::format("this is never an array: it yields a value of the type {}, and "
                                    "the state fails with direktiv.foreachInput",
                                    facts.type),
                        "write a query that yields an array, such as jq(.items)");
    } else if (facts.value && facts.value->empty()) {
      findings_.warning("lint.call_never", place.path, value.at,
                        "this array is always empty, so no call is made",
                        "write a query that reads the array from the data, such as jq(.items), or "
                        "remove the state");
    }
  }

  /// The payloads of two entries of one type stand in an array.
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
                        "type, and has no key {}",
                        in_quotes(type), found->second, in_quotes(key)),
            fmt::format("write .[{}][0][{}] for the first entry", in_quotes(type), in_quotes(key)));
        return;
      }
    }
  }

  /// A field whose bare text is a program.
  void check_query(const Place& place) {
    const Node& value = place.member.value;
    const auto query = Template::query(value.text);
    if (query) {
      check_programs(*query, value, place.path);
      const bool assigning = place.rule.is("condition") && query->whole() != nullptr &&
                             is_assignment(query->whole()->text);
      if (assigning) {
        findings_.warning("lint.condition_assigns", place.path, value.at,
                          "this condition assigns and yields the changed data, which counts as "
                          "true",
                          "write == to compare");
      }
    }
    const std::string_view program = trimmed(value.text);
    if (program.empty() || program == "." || has_jq(program)) return;
    findings_.note("lint.bare_jq", place.path, value.at,
                   "a bare text is a jq program in this field only",
                   fmt::format("write jq({})", program.size() > 40 ? "…" : program));
  }

  /// Values whose texts are literals but for the jq(…) in them.
  void check_values(const Node& node, const std::string& path) {
    for (size_t i = 0; i < node.items.size(); ++i) check_values(node.items[i], path_of(path, i));
    for (const Member& member : node.members) {
      check_values(member.value, path_of(path, member.key));
    }
    if (node.kind != Node::Kind::kString) return;
    if (has_jq(node.text)) {
      const auto text = Template::literal_or_jq(node.text, Template::Dot::kLiteral);
      if (text) check_programs(*text, node, path);
      return;
    }
    if (const auto query = query_in_text(trimmed(node.text))) {
      findings_.warning(
          "lint.literal_jq", path, node.at,
          fmt::format("{} is text here and not jq", in_quotes(query->text)),
          fmt::format("{}, or {} for the text itself", mend_of(*query), text_as_query(node.text)));
    }
  }

  /// The text of an error, whose queries stand in `args`.
  void check_message(const Node& value, const std::string& path) {
    const auto query =
        has_jq(value.text) ? find_query(value.text) : query_in_text(trimmed(value.text));
    if (!query) return;
    findings_.warning("lint.literal_jq", path, value.at,
                      fmt::format("{} is text here and not jq", in_quotes(query->text)),
                      fmt::format("write %s in its place, and {} in `args`", query_of(*query)));
  }

  void check_programs(const Template& text, const Node& value, const std::string& path) {
    for (const Program& program : text.programs()) {
      if (const auto error = facts_of(program.text).error) {
        findings_.warning("lint.jq_fails", path, value.at,
                          fmt::format("this query fails whatever the data are: {}", error->message),
                          "correct the query; to fail on purpose, write a state of `type: error`");
      }
      if (const std::string format = find_unknown_format(program.text); !format.empty()) {
        findings_.warning(
            "lint.jq_fails", path, value.at,
            fmt::format("this query fails where it uses {}, which is not a format of jq", format),
            fmt::format("write one of {}", fmt::join(kJqFormats, ", ")));
      }
      if (reads_element(path)) continue;
      std::string rest = program.text;
      std::vector<std::vector<std::string>> paths = key_paths_of(program.text);
      for (const std::string& key : keys_with_dots_) {
        const bool is_path = take_split_key(rest, key);
        const bool is_read = take_split_path(paths, key) || is_path;
        if (!is_read || is_made(first_of(key), path)) continue;
        findings_.warning(
            "lint.split_key", path, value.at,
            fmt::format(".{} reads several keys, one within the other, but the data of the event "
                        "stands under the one key {}",
                        key, in_quotes(key)),
            fmt::format("write .[{}]", in_quotes(key)));
      }
    }
  }

  /// Whether the program reads the key as a path, where it did not make it itself. Each place where
  /// it does is then of no other key, such as one that this one begins with.
  static bool take_split_key(std::string& program, const std::string& key) {
    bool found = false;
    for (size_t at = find_split_key(program, key); at != std::string::npos;
         at = find_split_key(program, key)) {
      found = found || !is_made_before(program, at, first_of(key));
      program.replace(at, key.size() + 1, key.size() + 1, '_');
    }
    return found;
  }

  /// The same of the paths that the program reads, however they are written (`.order["new"]`).
  static bool take_split_path(std::vector<std::vector<std::string>>& paths,
                              const std::string& key) {
    return std::erase_if(paths, [&](const std::vector<std::string>& path) {
             // `.` ends the key and each part of a path.
             return path[0] == first_of(key) &&
                    fmt::format("{}.", fmt::join(path, ".")).starts_with(key + ".");
           }) > 0;
  }

  void check_pattern(const Member& member, const std::string& path, bool is_start) {
    const Node& value = member.value;
    const std::string name = to_lower(member.key);
    const bool is_text = value.kind == Node::Kind::kString;
    if (is_text && has_jq(value.text)) {
      const auto text = Template::literal_or_jq(value.text, Template::Dot::kLiteral);
      if (!text) return;
      check_programs(*text, value, path);
      const ProgramFacts facts = facts_of(*text);
      if (facts.value) check_constant(name, *facts.value, value, path);
      return;
    }
    if (const auto query = is_text ? query_in_pattern(trimmed(value.text)) : std::nullopt) {
      findings_.warning("lint.literal_jq", path, value.at,
                        fmt::format("{} is a pattern here and not jq", in_quotes(query->text)),
                        is_start ? "write a pattern; here are no data yet that jq(…) could read"
                                 : mend_of(*query));
      return;
    }
    const std::string why =
        is_text ? why_never(name, value.text) : why_never_equal(name, dump_json(to_json(value)));
    if (!why.empty()) {
      findings_.warning("lint.event_never", path, value.at, "no event matches: " + why,
                        "write a pattern that the attribute can match, or remove it");
      return;
    }
    if (!is_text) return;
    if (name == "time") return;
    const auto pattern = Pattern::compile(value.text);
    const bool is_plain = pattern && (*pattern)->kind() == Pattern::Kind::kContains &&
                          (*pattern)->literal() == value.text;
    if (!is_plain) return;
    findings_.note(
        "lint.unanchored", path, value.at,
        fmt::format("{} matches longer texts that contain it, too", in_quotes(value.text)),
        "write ^…$ around it for itself alone");
  }

  /// A query that yields the same for any data.
  void check_constant(const std::string& name, const Json& constant, const Node& value,
                      const std::string& path) {
    const std::string why =
        constant.is_null()
            ? "the query yields null, and the state fails with direktiv.event.jq"
            : why_never_equal(
                  name, constant.is_string() ? constant.get<std::string>() : dump_json(constant));
    if (!why.empty()) {
      findings_.warning("lint.event_never", path, value.at, "no event matches: " + why,
                        "write a query that yields a value of the attribute, or remove it");
    }
  }

  const Node& document_;
  Findings& findings_;
  std::set<std::string, LongestFirst> keys_with_dots_;
  /// The paths of the transforms that make a key of the data, by the key; "" is something else that
  /// makes it.
  std::map<std::string, std::set<std::string>> makers_;
  std::set<std::string> actions_of_foreach_;  ///< their paths
};

}  // namespace

void lint_queries(const Node& document, Findings& findings) {
  QueryLinter(document, findings).run();
}

}  // namespace millrace
