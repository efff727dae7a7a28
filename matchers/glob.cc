#include "matchers/glob.h"

namespace millrace {
namespace {

/// The size in bytes of the code point that begins at `at`. Precondition: `at` is within `text`.
size_t code_point_size(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (text[end] & 0xc0) == 0x80) ++end;
  return end - at;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  // Where to continue if a literal does not match: after the last `*` (`star`), which then covers
  // one more code point of the text (up to `given`).
  size_t star = std::string_view::npos;
  size_t given = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      given = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      t += code_point_size(text, t);
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star;
      t = given += code_point_size(text, given);
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace millrace
