#include "expressions/jq_syntax.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"

namespace millrace {
namespace {

char closer_of(char opener) {
  switch (opener) {
    case '(':
      return ')';
    case '[':
      return ']';
    case '"':
      return '"';
    default:
      return '}';
  }
}

/// Whether a path may continue after this character: `a.b`, `[0].b`.
bool ends_term(char c) { return is_in_name(c) || c == ']' || c == ')' || c == '"' || c == '?'; }

size_t end_of_name(std::string_view text, size_t begin) {
  while (begin < text.size() && is_in_name(text[begin])) ++begin;
  return begin;
}

/// The last character of the text that is not in `blanks`; a blank if all characters are in
/// `blanks`.
char last_sign(std::string_view text, std::string_view blanks) {
  const size_t at = text.find_last_not_of(blanks);
  return at == std::string_view::npos ? ' ' : text[at];
}

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The length of the assignment operator that begins at `at`; 0 if none does.
size_t assignment_at(std::string_view text, size_t at) {
  for (const std::string_view sign : {"//=", "|=", "+=", "-=", "*=", "/=", "%=", "="}) {
    if (!text.substr(at).starts_with(sign)) continue;
    const char before = at == 0 ? ' ' : text[at - 1];
    const char behind = at + sign.size() < text.size() ? text[at + sign.size()] : ' ';
    const bool compares = behind == '=' || (sign == "=" && std::string_view("=!<>").find(before) !=
                                                               std::string::npos);
    return compares ? 0 : sign.size();
  }
  return 0;
}

/// The place where the left side of the assignment at `at` begins, at most kMostOfTarget bytes
/// before it. Without this limit, nested targets would be read again and again.
size_t begin_of_target(std::string_view text, size_t at) {
  constexpr size_t kMostOfTarget = 256;
  size_t depth = 0;
  size_t begin = at;
  for (; begin > 0 && at - begin < kMostOfTarget; --begin) {
    const char c = text[begin - 1];
    if (c == ')' || c == ']' || c == '}') {
      ++depth;
    } else if (c == '(' || c == '[' || c == '{') {
      if (depth == 0) break;
      --depth;
    } else if (depth == 0 && std::string_view("|,;:=").find(c) != std::string_view::npos) {
      break;
    }
  }
  return begin;
}

/// The text without the pair of parentheses around all of it, if there is one.
std::string_view without_parentheses(std::string_view text) {
  if (!text.starts_with('(')) return text;
  const JqEnd end = scan_jq(text, 1);
  const bool is_pair = end.kind == JqEnd::Kind::kCloser && end.at + 1 == text.size();
  return is_pair ? text.substr(1, text.size() - 2) : text;
}

/// The operators that decide the result of a jq program: those outside of brackets and of `if …
/// end`.
struct Outermost {
  size_t begin = 0;                  ///< the place after the last `|` or `;`
  std::optional<size_t> assignment;  ///< the place of the last assignment after `begin`
  bool has_looser = false;  ///< after `begin`, an operator binds less tightly than an assignment
};

Outermost outermost_of(std::string_view text) {
  Outermost found;
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_name(c)) {
      const size_t end = end_of_name(text, i);
      const std::string_view word = text.substr(i, end - i);
      const char before = i == 0 ? ' ' : text[i - 1];
      const bool is_word = before != '.' && before != '$' && before != '@';
      if (is_word && word == "if") ++depth;
      if (is_word && word == "end" && depth > 0) --depth;
      i = end - 1;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth > 0) --depth;
    } else if (depth == 0) {
      if (const size_t size = assignment_at(text, i); size > 0) {
        found.assignment = i;
        i += size - 1;
      } else if (c == '|' || c == ';') {
        found = Outermost{.begin = i + 1};
      } else if (c == ',' || text.substr(i).starts_with("//")) {
        found.has_looser = true;
      }
    }
  }
  return found;
}

bool is_assignment_in(std::string_view text) {
  constexpr int kMostSteps = 16;  // deeper nesting is not examined
  for (int i = 0; i < kMostSteps; ++i) {
    text = without_blanks(text);
    if (const std::string_view inside = without_parentheses(text); inside.size() < text.size()) {
      text = inside;
      continue;
    }
    const Outermost found = outermost_of(text);
    if (found.has_looser) return false;
    if (found.assignment) {
      // `. = false` replaces the input as a whole.
      return without_blanks(text.substr(found.begin, *found.assignment - found.begin)) != ".";
    }
    if (found.begin == 0) return false;
    text = text.substr(found.begin);
  }
  return false;
}

/// The placeholder of another language that the jq program begins with, such as `${ … }`; empty if
/// it has none.
std::string_view foreign_placeholder(std::string_view program) {
  const size_t first = program.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  const std::string_view text = program.substr(first);
  if (text.starts_with("${")) return "${ … }";
  if (text.starts_with("{{")) return "{{ … }}";
  if (text.starts_with("$.")) return "$. …";
  if (text.starts_with("$(")) return "$( … )";
  if (text.starts_with("jq (")) return "jq ( … )";
  return "";
}

}  // namespace

JqEnd scan_jq(std::string_view text, size_t from) {
  // The open brackets and strings. If the last entry is a quote, the scan is inside a string.
  std::vector<std::pair<char, size_t>> open;
  for (size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (!open.empty() && open.back().first == '"') {
      if (c == '"') {
        open.pop_back();
      } else if (c == '\\') {
        ++i;
        if (i < text.size() && text[i] == '(') open.emplace_back('(', i);
      }
      continue;
    }
    switch (c) {
      case '#':
        while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
        break;
      case '"':
      case '(':
      case '[':
      case '{':
        open.emplace_back(c, i);
        break;
      case ')':
      case ']':
      case '}':
        if (open.empty()) return {JqEnd::Kind::kCloser, i};
        if (closer_of(open.back().first) != c) {
          return {JqEnd::Kind::kMismatch, i, open.back().second};
        }
        open.pop_back();
        break;
      default:
        break;
    }
  }
  if (!open.empty()) return {JqEnd::Kind::kOpen, open.back().second};
  return {JqEnd::Kind::kEnd, text.size()};
}

std::string describe_mismatch(std::string_view text, const JqEnd& end) {
  return fmt::format("the `{}` at {} is not closed; write `{}` before the `{}` at {}",
                     text[end.open], place_in(text, end.open), closer_of(text[end.open]),
                     text[end.at], place_in(text, end.at));
}

Status check_program_text(std::string_view program) {
  if (program.size() > kMaxProgramBytes) {
    return fail("jq.too_long", fmt::format("the jq program has {} bytes, the limit is {}",
                                           program.size(), kMaxProgramBytes));
  }
  if (program.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fail("jq.empty", "the jq program is empty; `.` stands for the whole input");
  }
  if (const size_t at = program.find('\0'); at != std::string_view::npos) {
    return fail("jq.malformed",
                fmt::format("the jq program has a NUL byte at {}", place_in(program, at)));
  }
  if (const std::string_view foreign = foreign_placeholder(program); !foreign.empty()) {
    return fail("jq.syntax", fmt::format("`{}` is not jq; write jq(…) around the query", foreign));
  }
  const JqEnd end = scan_jq(program);
  switch (end.kind) {
    case JqEnd::Kind::kEnd:
      return {};
    case JqEnd::Kind::kOpen:
      return fail(
          "jq.unbalanced",
          fmt::format("the `{}` at {} of the jq program is not closed; write the missing `{}`",
                      program[end.at], place_in(program, end.at), closer_of(program[end.at])));
    case JqEnd::Kind::kMismatch:
      return fail("jq.unbalanced", describe_mismatch(program, end));
    case JqEnd::Kind::kCloser:
      break;
  }
  return fail("jq.unbalanced",
              fmt::format("the `{}` at {} of the jq program has no matching opening bracket; "
                          "remove it, or write the opening bracket",
                          program[end.at], place_in(program, end.at)));
}

std::string without_literals(std::string_view program) {
  std::string out(program);
  // The open brackets and strings. If the last entry is a quote, the scan is inside a string.
  std::vector<char> open;
  for (size_t i = 0; i < out.size(); ++i) {
    const char c = out[i];
    if (!open.empty() && open.back() == '"') {
      if (c == '"') {
        open.pop_back();
        continue;
      }
      out[i] = ' ';
      if (c != '\\' || i + 1 == out.size()) continue;
      ++i;
      if (out[i] == '(') {
        open.push_back('(');
      } else {
        out[i] = ' ';
      }
      continue;
    }
    if (c == '#') {
      while (i < out.size() && out[i] != '\n') out[i++] = ' ';
    } else if (c == '"' || c == '(') {
      open.push_back(c);
    } else if (c == ')' && !open.empty()) {
      open.pop_back();
    }
  }
  return out;
}

bool is_assignment(std::string_view program) { return is_assignment_in(without_literals(program)); }

std::vector<std::string> keys_constructed(std::string_view program) {
  const std::string text = without_literals(program);
  std::vector<std::string> keys;
  // Adds the text between any two successive quotes: strings, and also the code between two
  // strings, which is not a key and does no harm.
  for (size_t open = text.find('"'); open != std::string::npos;) {
    const size_t close = text.find('"', open + 1);
    if (close == std::string::npos) break;
    keys.emplace_back(program.substr(open + 1, close - open - 1));
    open = close;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_in_name(text[i])) continue;
    const size_t end = end_of_name(text, i);
    const char before = last_sign(std::string_view(text).substr(0, i), " \t\r\n$");
    const size_t next = text.find_first_not_of(" \t\r\n", end);
    const char behind = next == std::string::npos ? ' ' : text[next];
    const bool is_short = (before == '{' || before == ',') && (behind == ',' || behind == '}');
    if (behind == ':' || is_short) keys.push_back(text.substr(i, end - i));
    i = end - 1;
  }
  return keys;
}

std::vector<std::string> keys_assigned(std::string_view program) {
  const std::string text = without_literals(program);
  std::vector<std::string> keys;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t size = assignment_at(text, i);
    if (size == 0) continue;
    const size_t begin = begin_of_target(text, i);
    const std::string_view target = std::string_view(text).substr(begin, i - begin);
    for (size_t dot = target.find('.'); dot != std::string_view::npos;
         dot = target.find('.', dot + 1)) {
      const size_t end = end_of_name(target, dot + 1);
      const bool is_first = dot == 0 || !ends_term(target[dot - 1]);
      if (is_first && end > dot + 1) keys.emplace_back(target.substr(dot + 1, end - dot - 1));
    }
    // Keys in quotes: `.["order"]`, `."order"`.
    const std::vector<std::string> quoted = keys_constructed(program.substr(begin, i - begin));
    keys.insert(keys.end(), quoted.begin(), quoted.end());
    i += size - 1;
  }
  return keys;
}

size_t find_split_key(std::string_view program, std::string_view key) {
  const std::string text = without_literals(program);
  const std::string path = "." + std::string(key);
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const char behind = at + path.size() < text.size() ? text[at + path.size()] : ' ';
    if (!ends_term(before) && !is_in_name(behind)) return at;
  }
  return std::string::npos;
}

std::string find_unknown_format(std::string_view program) {
  const std::string text = without_literals(program);
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && is_in_name(text[end])) ++end;
    const std::string_view name = std::string_view(text).substr(at, end - at);
    const bool is_known =
        std::find(std::begin(kJqFormats), std::end(kJqFormats), name) != std::end(kJqFormats);
    if (name.size() > 1 && !is_known) return std::string(name);
  }
  return "";
}

std::string place_in(std::string_view program, size_t at) {
  const std::string_view before = program.substr(0, at);
  const size_t line_break = before.rfind('\n');
  const std::string_view line =
      line_break == std::string_view::npos ? before : before.substr(line_break + 1);
  const auto column =
      1 + std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
  if (program.find('\n') == std::string_view::npos) return fmt::format("column {}", column);
  return fmt::format("line {}, column {}", 1 + std::count(before.begin(), before.end(), '\n'),
                     column);
}

}  // namespace millrace
