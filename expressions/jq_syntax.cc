#include "expressions/jq_syntax.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

bool is_in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// How a query is written in another language, as the program is: `${ … }`; empty if it is none.
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
  std::vector<std::pair<char, size_t>> open;  // a quote on top: inside a string
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
        if (closer_of(open.back().first) != c) return {JqEnd::Kind::kMismatch, i};
        open.pop_back();
        break;
      default:
        break;
    }
  }
  if (!open.empty()) return {JqEnd::Kind::kOpen, open.back().second};
  return {JqEnd::Kind::kEnd, text.size()};
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
          fmt::format("the `{}` at {} of the jq program is not closed; write the `{}` that "
                      "is missing",
                      program[end.at], place_in(program, end.at), closer_of(program[end.at])));
    case JqEnd::Kind::kCloser:
    case JqEnd::Kind::kMismatch:
      break;
  }
  return fail("jq.unbalanced",
              fmt::format("the `{}` at {} of the jq program closes nothing; remove it, or write "
                          "what it closes",
                          program[end.at], place_in(program, end.at)));
}

std::string without_literals(std::string_view program) {
  std::string out(program);
  std::vector<char> open;  // a quote on top: inside a string
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

bool assigns(std::string_view program) {
  const std::string text = without_literals(program);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    if (i + 1 < text.size() && text[i + 1] == '=') {
      ++i;  // `==`
      continue;
    }
    const char before = i == 0 ? ' ' : text[i - 1];
    if (before != '!' && before != '<' && before != '>') return true;
  }
  return false;
}

size_t find_split_key(std::string_view program, std::string_view key) {
  const std::string text = without_literals(program);
  const std::string path = "." + std::string(key);
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const char behind = at + path.size() < text.size() ? text[at + path.size()] : ' ';
    const bool is_from_input =
        !is_in_name(before) && before != ']' && before != ')' && before != '"' && before != '?';
    if (is_from_input && !is_in_name(behind)) return at;
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
