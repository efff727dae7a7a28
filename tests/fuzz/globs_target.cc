// Globs: the first line is the pattern, the rest the text. The result must be that of a matcher
// that fills a table, in which each cell follows from the definition of `*` and `?`.
//
// Covers: matchers/glob.cc matchers/code_points.cc
#include <vector>

#include "matchers/code_points.h"
#include "matchers/glob.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// Whether the pattern matches the text. The time is the product of both lengths.
bool table_matches(const std::u32string& pattern, const std::u32string& text) {
  std::vector<bool> before(text.size() + 1, false);
  before[0] = true;
  for (const char32_t c : pattern) {
    std::vector<bool> now(text.size() + 1, false);
    now[0] = c == '*' && before[0];
    for (size_t t = 1; t <= text.size(); ++t) {
      if (c == '*') {
        now[t] = before[t] || now[t - 1];
      } else {
        now[t] = before[t - 1] && (c == '?' || c == text[t - 1]);
      }
    }
    before = std::move(now);
  }
  return before.back();
}

}  // namespace

FUZZ_TARGET(globs) {
  const auto [pattern, text] = first_line_and_rest(bytes);
  if (pattern.size() > 256 || text.size() > 1024) return;
  const bool matches = glob_matches(pattern, text);
  CHECK(glob_matches("*", text), "* does not match {}", excerpt(text));
  // Only texts in UTF-8 reach the matcher in millrace; for other bytes it must end.
  if (!is_utf8(pattern) || !is_utf8(text)) return;
  const bool expected = table_matches(decode_utf8(pattern), decode_utf8(text));
  CHECK(matches == expected, "{} on {}: {}, but {} by the definition", excerpt(pattern),
        excerpt(text), matches, expected);
}

}  // namespace millrace::fuzz
