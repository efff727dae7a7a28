#include "language/code_advice.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ids.h"
#include "language/error_codes.h"
#include "language/findings.h"
#include "matchers/glob.h"
#include "matchers/pattern.h"

namespace millrace {
namespace {

/// The correction if no code of millrace is similar to the code or pattern that the author wrote.
constexpr std::string_view kUnknownCodeMend =
    "write one of the codes under \"Errors\" in docs/language.md, or remove this entry";

/// The text of a pattern without `\`, `^` and `$`. Authors add these characters when they write an
/// error code as a pattern.
std::string without_signs(std::string_view pattern) {
  std::string spelt;
  for (const char c : pattern) {
    if (c != '\\' && c != '^' && c != '$') spelt += c;
  }
  return spelt;
}

/// Whether each alternative of the pattern spells a code of the closed set.
bool spells_reserved_codes(std::string_view pattern) {
  size_t groups = 0;
  bool in_class = false;
  size_t begin = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      ++groups;
    } else if (c == ')' && groups > 0) {
      --groups;
    } else if (c == '|' && groups == 0) {
      if (!is_reserved_code(without_signs(pattern.substr(begin, i - begin)))) return false;
      begin = i + 1;
    }
  }
  return is_reserved_code(without_signs(pattern.substr(begin)));
}

}  // namespace

std::optional<CodeAdvice> advice_on_code_glob(const std::string& glob) {
  if (!is_reserved_code(glob)) return std::nullopt;
  const std::vector<std::string_view> codes = error_code_names();
  const bool is_known = std::any_of(
      codes.begin(), codes.end(), [&](std::string_view code) { return glob_matches(glob, code); });
  if (is_known) return std::nullopt;
  return CodeAdvice{
      fmt::format("millrace does not raise an error with the code {}", in_quotes(glob)),
      mend_of_name(glob, codes, "this entry", kUnknownCodeMend)};
}

std::optional<CodeAdvice> advice_on_whole_code(const std::string& code) {
  if (is_identifier(code)) return advice_on_code_glob(code);
  return CodeAdvice{fmt::format("{} is not an error code", in_quotes(code)),
                    "write one whole code in each entry, without patterns"};
}

std::optional<CodeAdvice> advice_on_code_pattern(const std::string& pattern) {
  const auto compiled = Pattern::compile(pattern);
  if (!compiled || !spells_reserved_codes(pattern)) return std::nullopt;
  if (!codes_spelt_by(pattern).empty()) return std::nullopt;
  return CodeAdvice{
      fmt::format("millrace does not raise an error that {} matches", in_quotes(pattern)),
      mend_of_name(without_signs(pattern), error_code_names(), "this entry", kUnknownCodeMend)};
}

std::vector<std::string_view> codes_spelt_by(const std::string& pattern) {
  const auto compiled = Pattern::compile(pattern);
  if (!compiled || !spells_reserved_codes(pattern)) return {};
  std::vector<std::string_view> codes = error_code_names();
  std::erase_if(codes,
                [&](std::string_view code) { return !(*compiled)->matches(std::string(code)); });
  return codes;
}

}  // namespace millrace
