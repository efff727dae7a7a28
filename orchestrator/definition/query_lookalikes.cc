#include "orchestrator/definition/query_lookalikes.h"

#include <fmt/format.h>

#include "base/characters.h"
#include "base/json.h"
#include "expressions/instance_name.h"
#include "expressions/jq_syntax.h"
#include "language/grammar.h"
#include "orchestrator/definition/lint_nodes.h"

namespace millrace {
namespace {

/// The maximum length of a text that a correction repeats, in bytes.
constexpr size_t kMostOfText = 40;

bool is_shown(const Lookalike& one) {
  return !one.query.empty() && one.query.size() <= kMostOfText;
}

/// The first place of `what` from `from` on that has no backslash before it: after a backslash,
/// `what` is part of a pattern.
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

/// The placeholder whose opening bracket is at `at`.
std::optional<Lookalike> placeholder_at(std::string_view text, size_t at, const Brackets& brackets,
                                        bool bare) {
  const size_t begin = at + brackets.open.size();
  const size_t end = text.find(brackets.close, begin);
  const std::string_view inside = trimmed(text.substr(begin, end - begin));
  const bool is_bare = bare && brackets.open != "$(" && !inside.empty() && begins_name(inside[0]);
  if (!is_path_begin(inside) && !is_bare) return std::nullopt;
  // If there is another bracket inside, the closing bracket found may not be the end of the
  // placeholder.
  const bool is_whole =
      end != std::string_view::npos && inside.find_first_of("{}()") == std::string_view::npos;
  const size_t size = is_whole ? end + brackets.close.size() - at : std::string_view::npos;
  return Lookalike{.text = std::string(text.substr(at, size)),
                   .query = is_whole ? fmt::format("{}{}", is_bare ? "." : "", inside) : ""};
}

/// The first placeholder of another language: `${ .order }`, `{{ .order }}`, `$(.order)`. With
/// `bare` also a placeholder whose name has no dot, such as `${order}`.
std::optional<Lookalike> find_placeholder(std::string_view text, bool bare) {
  for (const Brackets& brackets : {Brackets{"{{", "}}"}, {"${", "}"}, {"$(", ")"}}) {
    for (size_t at = find_unescaped(text, brackets.open); at != std::string_view::npos;
         at = find_unescaped(text, brackets.open, at + 1)) {
      if (auto found = placeholder_at(text, at, brackets, bare)) return found;
    }
  }
  return std::nullopt;
}

/// Whether the text begins with the variable `$instance`.
bool is_instance_begin(std::string_view text) {
  if (!text.starts_with('$') || !text.substr(1).starts_with(kInstanceVariable)) return false;
  const std::string_view behind = text.substr(1 + kInstanceVariable.size());
  return behind.empty() || behind[0] == '.' || behind[0] == '[';
}

/// A text that consists of a query without `jq(…)`, or in another notation: `$instance.id`,
/// `jq (.order)`, `$.order`.
std::optional<Lookalike> find_other_query(std::string_view text) {
  if (is_instance_begin(text)) {
    return Lookalike{.text = std::string(text), .query = std::string(text)};
  }
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

/// The length of the jq path at the beginning of a text: `.order`, `.order[0].id`, `.["a b"]`.
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

}  // namespace

std::string query_of(const Lookalike& one) {
  return is_shown(one) ? fmt::format("jq({})", one.query) : "jq(…)";
}

std::string mend_of(const Lookalike& one) {
  return fmt::format("write {}{}", query_of(one), is_shown(one) ? "" : " around the query");
}

std::string text_as_query(const std::string& text) {
  return text.size() > kMostOfText ? "jq(\"…\")" : fmt::format("jq({})", dump_json(Json(text)));
}

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

std::optional<Lookalike> query_in_text(std::string_view text) {
  if (is_path_begin(text) || text.starts_with(".[") || text.starts_with(".\"")) {
    return Lookalike{.text = std::string(text), .query = std::string(text)};
  }
  if (auto other = find_other_query(text)) return other;
  return find_placeholder(text, false);
}

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

}  // namespace millrace
