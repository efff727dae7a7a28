#include "orchestrator/made_scenario/member_before.h"

#include <utility>
#include <vector>

#include "base/characters.h"

namespace millrace {
namespace {

/// The end of the string literal that begins at `at`.
size_t end_of_string(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

/// The parts of the text between the separators that are in no string and no bracket.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at) - 1;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth == 0) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// The name at the front of the text: letters, digits and `_`, or a string literal without escapes.
/// Removes it. nullopt: there is none.
std::optional<std::string> take_name(std::string_view& text) {
  size_t size = 0;
  if (!text.empty() && text[0] == '"') {
    const size_t end = end_of_string(text, 0);
    if (end > text.size()) return std::nullopt;
    const std::string_view inside = text.substr(1, end - 2);
    if (inside.find('\\') != std::string_view::npos) return std::nullopt;
    text.remove_prefix(end);
    return std::string(inside);
  }
  if (text.empty() || !begins_name(text[0])) return std::nullopt;
  while (size < text.size() && is_in_name(text[size])) ++size;
  std::string name(text.substr(0, size));
  text.remove_prefix(size);
  return name;
}

/// The members that a path such as `.a.b` or `.["a"].b` leads through; nullopt: it is no path.
std::optional<std::vector<std::string>> path_in(std::string_view program) {
  std::vector<std::string> path;
  while (!program.empty()) {
    const bool has_dot = program[0] == '.';
    if (has_dot) program.remove_prefix(1);
    const bool is_bracket = program.starts_with("[\"");
    if (!has_dot && (!is_bracket || path.empty())) return std::nullopt;
    if (is_bracket) program.remove_prefix(1);
    std::optional<std::string> name = take_name(program);
    if (!name) return std::nullopt;
    if (is_bracket) {
      if (!program.starts_with("]")) return std::nullopt;
      program.remove_prefix(1);
    }
    path.push_back(*std::move(name));
  }
  if (path.empty()) return std::nullopt;
  return path;
}

/// Whether the program may read the member: it has the name, or a `.` that stands for all data.
bool may_read(std::string_view program, std::string_view member) {
  if (program.find(member) != std::string_view::npos) return true;
  if (program.find("input") != std::string_view::npos) return true;
  for (size_t at = 0; at < program.size(); ++at) {
    if (program[at] != '.') continue;
    const char next = at + 1 < program.size() ? program[at + 1] : ' ';
    const char last = at > 0 ? program[at - 1] : ' ';
    const bool is_fraction = is_digit(last) && is_digit(next);
    const bool names_member =
        begins_name(next) || next == '"' || program.substr(at + 1).starts_with("[\"");
    if (!is_fraction && !names_member) return true;
  }
  return false;
}

/// Whether the program is one object construction: the bracket at its front is closed at its end.
bool is_object_construction(std::string_view program) {
  if (!program.starts_with("{")) return false;
  int depth = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const char c = program[at];
    if (c == '"') {
      at = end_of_string(program, at) - 1;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1 == program.size();
    }
  }
  return false;
}

class Inversion {
 public:
  explicit Inversion(const Transformed& transformed) : transformed_(transformed) {}

  /// Notes what `after`, the result of the program, shows. false: it does not say what the member
  /// was.
  bool read(std::string_view program, const Json& after) {
    program = trimmed(program);
    const std::string& member = transformed_.member;
    // A comment could hide a bracket.
    if (program.find('#') != std::string_view::npos) return !may_read(program, member);
    if (program == ".") {
      if (!after.is_object() || !after.contains(member) || is_outer_later(after, member)) {
        return false;
      }
      return note({}, after[member]);
    }
    if (const auto path = path_in(program)) {
      if (path->front() != member) return true;
      return note({path->begin() + 1, path->end()}, after);
    }
    if (is_object_construction(program)) {
      return read_object(program.substr(1, program.size() - 2), after);
    }
    return program == "del(." + member + ")" || !may_read(program, member);
  }

  /// The same for a value with `jq(…)` in its strings.
  bool read_value(const Json& value, const Json& after) {
    if (value.is_string()) return read_text(value.get_ref<const std::string&>(), after);
    if (value.is_object()) {
      for (const auto& [key, one] : value.items()) {
        if (!read_member(
                key, after, [this, &one = one](const Json& part) { return read_value(one, part); },
                dump_json(one))) {
          return false;
        }
      }
      return true;
    }
    if (!value.is_array()) return true;
    for (size_t i = 0; i < value.size(); ++i) {
      if (!after.is_array() || after.size() != value.size()) return false;
      if (!read_value(value[i], after[i])) return false;
    }
    return true;
  }

  Json found;  ///< what was noted

 private:
  /// A string of which only a part is a program shows the result as text.
  bool read_text(std::string_view text, const Json& after) {
    const std::string_view whole = trimmed(text);
    if (whole.find("jq(") == std::string_view::npos) return true;
    const bool is_one = whole.starts_with("jq(") && whole.ends_with(")") &&
                        whole.find("jq(", 1) == std::string_view::npos;
    if (is_one) return read(whole.substr(3, whole.size() - 4), after);
    return !may_read(whole, transformed_.member);
  }

  bool read_object(std::string_view members, const Json& after) {
    for (std::string_view entry : split(members, ',')) {
      entry = trimmed(entry);
      const std::optional<std::string> name = take_name(entry);
      entry = trimmed(entry);
      if (!name) return false;
      const std::string program =
          entry.empty() ? "." + *name : std::string(trimmed(entry.substr(1)));
      if (!entry.empty() && entry[0] != ':') return false;
      if (!read_member(
              *name, after, [&](const Json& part) { return read(program, part); }, program)) {
        return false;
      }
    }
    return true;
  }

  /// Reads one member of an object that the transform has made.
  template <class Read>
  bool read_member(const std::string& key, const Json& after, const Read& read_part,
                   std::string_view program) {
    if (!after.is_object() || !after.contains(key) || is_outer_later(after, key)) {
      return !may_read(program, transformed_.member);
    }
    return read_part(after[key]);
  }

  /// Whether it is a member of the whole result that may have changed since.
  bool is_outer_later(const Json& after, std::string_view key) const {
    return &after == &transformed_.after && transformed_.later.contains(key);
  }

  bool note(const std::vector<std::string>& path, const Json& value) {
    Json* place = &found;
    for (const std::string& step : path) {
      if (!place->is_null() && !place->is_object()) return false;
      place = &(*place)[step];
    }
    if (place->is_null() || value.is_structured()) *place = value;
    return true;
  }

  const Transformed& transformed_;
};

}  // namespace

std::optional<Json> member_by_program(std::string_view program, const Transformed& transformed) {
  Inversion inversion(transformed);
  if (!inversion.read(program, transformed.after)) return std::nullopt;
  return std::move(inversion.found);
}

std::optional<Json> member_by_value(const Json& transform, const Transformed& transformed) {
  Inversion inversion(transformed);
  if (!inversion.read_value(transform, transformed.after)) return std::nullopt;
  return std::move(inversion.found);
}

}  // namespace millrace
