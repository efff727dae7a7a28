#include "expressions/jq_syntax.h"

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
    default:
      return '}';
  }
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
    return fail("jq.malformed", fmt::format("the jq program has a NUL byte at byte {}", at));
  }
  const JqEnd end = scan_jq(program);
  switch (end.kind) {
    case JqEnd::Kind::kEnd:
      return {};
    case JqEnd::Kind::kOpen:
      return fail("jq.unbalanced",
                  fmt::format("the `{}` at byte {} of the jq program is not closed",
                              program[end.at], end.at));
    case JqEnd::Kind::kCloser:
    case JqEnd::Kind::kMismatch:
      break;
  }
  return fail("jq.unbalanced", fmt::format("the `{}` at byte {} of the jq program closes nothing",
                                           program[end.at], end.at));
}

}  // namespace millrace
