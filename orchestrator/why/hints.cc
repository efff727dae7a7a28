#include "orchestrator/why/hints.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "orchestrator/why/typo.h"

namespace millrace {
namespace {

constexpr std::array<std::string_view, 7> kHintNames = {"case",     "space",     "zeros", "data",
                                                        "anchored", "attribute", "typo"};

/// The longest value, in bytes, for which a hint is searched: variants of a value are copies of it.
constexpr size_t kMostOfAValue = 4'096;

/// The most members of the data, and the most attributes, that a hint looks at.
constexpr size_t kMostLooked = 1'000;

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

std::string in_lower_case(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), lower);
  return lowered;
}

std::string in_upper_case(std::string_view text) {
  std::string raised(text);
  std::transform(raised.begin(), raised.end(), raised.begin(), upper);
  return raised;
}

constexpr std::string_view kSpaces = " \t\r\n\v\f";

std::string_view without_spaces(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A whole number without its leading zeros.
std::string_view without_zeros(std::string_view digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? digits.substr(digits.size() - 1) : digits.substr(first);
}

bool holds_for(const Predicate& predicate, std::string_view value, JudgedPatterns& patterns) {
  return patterns.compare(predicate, value) == Pattern::Answer::kYes;
}

bool is_equality(const Predicate& predicate) { return predicate.kind == Predicate::Kind::kEquals; }

/// The text that a value must contain at its begin, at its end or anywhere, if the predicate is
/// such a pattern; empty for other predicates.
std::string plain_text_of(const Predicate& predicate, JudgedPatterns& patterns) {
  if (is_equality(predicate)) return "";
  const Pattern* const pattern = patterns.find(predicate.text);
  return pattern == nullptr ? "" : pattern->literal();
}

/// A value of the data as the text of an attribute; nullopt: it is no text, whole number, true or
/// false, or is too long.
std::optional<std::string> attribute_text(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.size() <= kMostOfAValue ? std::optional(text) : std::nullopt;
  }
  if (value.is_boolean() || value.is_number_integer()) return dump_json(value);
  return std::nullopt;
}

bool fits_as_attribute(const Predicate& predicate, const Json& value, JudgedPatterns& patterns) {
  const std::optional<std::string> text = attribute_text(value);
  return text && holds_for(predicate, *text, patterns);
}

/// Whether the pattern ends with `$` that is not escaped.
bool ends_with_anchor(std::string_view pattern) {
  if (!pattern.ends_with('$')) return false;
  size_t slashes = 0;
  while (slashes + 1 < pattern.size() && pattern[pattern.size() - 2 - slashes] == '\\') ++slashes;
  return slashes % 2 == 0;
}

}  // namespace

std::string_view to_string(Hint::Kind kind) { return kHintNames.at(static_cast<size_t>(kind)); }

std::span<const std::string_view> hint_names() { return kHintNames; }

std::string sentence_of(const Hint& hint, std::string_view attribute, std::string_view value) {
  switch (hint.kind) {
    case Hint::Kind::kCase:
      return "the two differ in upper and lower case only";
    case Hint::Kind::kSpace:
      return "the two differ in white space at the ends only";
    case Hint::Kind::kZeros:
      return "the two differ in leading zeros only";
    case Hint::Kind::kInData:
      return fmt::format(
          "the data of the event has the member `{}` with {}, but a context compares context "
          "attributes only: send the value as the attribute `{}`",
          hint.name,
          value.empty() ? "a value that fits" : fmt::format("the value \"{}\"", excerpt(value)),
          attribute);
    case Hint::Kind::kAnchored:
      return "the pattern matches inside the value, but `^` or `$` ties it to the begin or the end";
    case Hint::Kind::kAttribute:
      return fmt::format("the attribute `{}` has a value that fits", hint.name);
    case Hint::Kind::kTypo:
      return "the two differ in one typo only: two neighbouring characters are transposed, or one "
             "character is missing or too many";
  }
  return "";
}

bool differs_in_case(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns) {
  const std::string lowered = in_lower_case(got);
  if (is_equality(predicate)) return in_lower_case(predicate.text) == lowered;
  if (holds_for(predicate, lowered, patterns)) return true;
  if (holds_for(predicate, in_upper_case(got), patterns)) return true;
  const std::string text = in_lower_case(plain_text_of(predicate, patterns));
  if (text.empty()) return false;
  switch (patterns.find(predicate.text)->kind()) {
    case Pattern::Kind::kEquals:
      return lowered == text;
    case Pattern::Kind::kPrefix:
      return lowered.starts_with(text);
    case Pattern::Kind::kSuffix:
      return lowered.ends_with(text);
    default:
      return lowered.find(text) != std::string::npos;
  }
}

bool differs_in_space(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns) {
  const std::string_view bare = without_spaces(got);
  if (is_equality(predicate)) return without_spaces(predicate.text) == bare;
  return bare != got && holds_for(predicate, bare, patterns);
}

bool differs_in_zeros(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns) {
  if (!is_whole_number(got)) return false;
  const std::string text =
      is_equality(predicate) ? predicate.text : plain_text_of(predicate, patterns);
  if (is_whole_number(text)) return without_zeros(text) == without_zeros(got);
  const std::string_view bare = without_zeros(got);
  return bare != got && holds_for(predicate, bare, patterns);
}

bool differs_in_typo(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns) {
  const std::string text =
      is_equality(predicate) ? predicate.text : plain_text_of(predicate, patterns);
  return is_typo(text, got);
}

bool matches_inside(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns) {
  if (is_equality(predicate)) return false;
  std::string_view inner = predicate.text;
  if (inner.starts_with('^')) inner.remove_prefix(1);
  if (ends_with_anchor(inner)) inner.remove_suffix(1);
  if (inner.size() == predicate.text.size() || inner.empty()) return false;
  const Predicate loose{predicate.attribute, Predicate::Kind::kPattern, std::string(inner)};
  return holds_for(loose, got, patterns);
}

std::optional<std::string> member_in_data(const Predicate& predicate, const Json& data,
                                          JudgedPatterns& patterns) {
  if (!data.is_object()) return std::nullopt;
  const auto same = data.find(predicate.attribute);
  if (same != data.end() && fits_as_attribute(predicate, *same, patterns)) {
    return predicate.attribute;
  }
  size_t looked = 0;
  for (const auto& [name, value] : data.items()) {
    if (++looked > kMostLooked) break;
    if (name.size() == predicate.attribute.size() && in_lower_case(name) == predicate.attribute &&
        fits_as_attribute(predicate, value, patterns)) {
      return name;
    }
  }
  return std::nullopt;
}

std::optional<std::string> fitting_attribute(const Predicate& predicate, const Event& event,
                                             JudgedPatterns& patterns) {
  if (holds_for(predicate, "", patterns)) return std::nullopt;
  std::vector<std::string> names = {"id", "source", "subject"};
  for (const auto& [name, value] : event.extensions) {
    if (names.size() == kMostLooked) break;
    names.push_back(name);
  }
  for (const std::string& name : names) {
    if (name == predicate.attribute) continue;
    const std::optional<std::string> value = attribute(event, name);
    if (!value || value->size() > kMostOfAValue) continue;
    if (holds_for(predicate, *value, patterns)) return name;
  }
  return std::nullopt;
}

std::optional<Hint> find_hint(const Predicate& predicate, const JudgedEvent& event,
                              JudgedPatterns& patterns) {
  const std::optional<std::string_view> got = event.attributes.find(predicate.attribute);
  if (got && got->size() <= kMostOfAValue) {
    if (differs_in_case(predicate, *got, patterns)) return Hint{Hint::Kind::kCase, ""};
    if (differs_in_space(predicate, *got, patterns)) return Hint{Hint::Kind::kSpace, ""};
    if (differs_in_zeros(predicate, *got, patterns)) return Hint{Hint::Kind::kZeros, ""};
    if (matches_inside(predicate, *got, patterns)) return Hint{Hint::Kind::kAnchored, ""};
    if (differs_in_typo(predicate, *got, patterns)) return Hint{Hint::Kind::kTypo, ""};
  }
  if (!got) {
    if (auto member = member_in_data(predicate, event.data, patterns)) {
      return Hint{Hint::Kind::kInData, *std::move(member)};
    }
  }
  if (auto other = fitting_attribute(predicate, event.event, patterns)) {
    return Hint{Hint::Kind::kAttribute, *std::move(other)};
  }
  return std::nullopt;
}

std::optional<std::string> fitting_value(const Predicate& predicate, const Hint& hint,
                                         const JudgedEvent& event, JudgedPatterns& patterns) {
  if (is_equality(predicate)) return predicate.text;
  if (hint.kind == Hint::Kind::kInData) return attribute_text(event.data[hint.name]);
  if (hint.kind == Hint::Kind::kAttribute) return attribute(event.event, hint.name);
  const std::optional<std::string_view> got = event.attributes.find(predicate.attribute);
  if (!got) return std::nullopt;
  for (std::string candidate :
       {in_lower_case(*got), in_upper_case(*got), std::string(without_spaces(*got)),
        std::string(is_whole_number(*got) ? without_zeros(*got) : "")}) {
    if (!candidate.empty() && holds_for(predicate, candidate, patterns)) return candidate;
  }
  return std::nullopt;
}

}  // namespace millrace
