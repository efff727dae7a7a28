// Hints: the probable mistake behind a predicate that does not hold. Each hint is a pure function
// of the predicate and the event. A hint names attributes and members of the data, and no value;
// fitting_value() is a value of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "matchers/event_filter.h"
#include "orchestrator/why/judged_event.h"

namespace millrace {

struct Hint {
  enum class Kind : uint8_t {
    kCase,       ///< the value would fit, but for upper and lower case (of ASCII letters)
    kSpace,      ///< the value would fit, but for white space at the ends
    kZeros,      ///< the value would fit, but for leading zeros
    kInData,     ///< a member of the data fits; a context compares attributes only
    kAnchored,   ///< the pattern matches inside the value, but is anchored by `^` or `$`
    kAttribute,  ///< another attribute fits
    kTypo,       ///< the value would fit, but for one typo (typo.h)
  };
  Kind kind{};
  std::string name;  ///< of kInData: the member; of kAttribute: the attribute

  bool operator==(const Hint&) const = default;
};

/// The name of the kind in the API: "case", "space", "zeros", "data", "anchored", "attribute",
/// "typo".
std::string_view to_string(Hint::Kind kind);

/// The names of all kinds, in the order of the enumeration.
std::span<const std::string_view> hint_names();

/// The hint as a sentence without a full stop. `attribute`: that of the predicate. `value`: of
/// kInData, the value of the member as it may be shown; empty: it is not shown.
std::string sentence_of(const Hint& hint, std::string_view attribute, std::string_view value = "");

// The hints. `got`: the value of the attribute, for which the predicate does not hold.

bool differs_in_case(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns);
bool differs_in_space(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns);
bool differs_in_zeros(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns);
/// Whether the value, and the text that an equality or a pattern of plain text asks for, differ in
/// a typo.
bool differs_in_typo(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns);
/// Whether the pattern would match the value if it were not anchored.
bool matches_inside(const Predicate& predicate, std::string_view got, JudgedPatterns& patterns);
/// The member of the data whose name is that of the attribute, apart from upper and lower case, and
/// for whose value, as the text of an attribute, the predicate holds; nullopt: the data is no
/// object, or has no such member.
std::optional<std::string> member_in_data(const Predicate& predicate, const Json& data,
                                          JudgedPatterns& patterns);
/// Another attribute than that of the predicate for whose value the predicate holds: `id`,
/// `source`, `subject` or an extension attribute; nullopt: there is none, or the pattern fits any
/// value.
std::optional<std::string> fitting_attribute(const Predicate& predicate, const Event& event,
                                             JudgedPatterns& patterns);

/// The most helpful hint for a predicate that does not hold for the event; nullopt: there is none.
std::optional<Hint> find_hint(const Predicate& predicate, const JudgedEvent& event,
                              JudgedPatterns& patterns);

/// A value of the attribute for which the predicate holds, if the hint shows one: the value that is
/// asked for, the value of the event without the mistake, or the value of the member or of the
/// other attribute. nullopt: none is known.
std::optional<std::string> fitting_value(const Predicate& predicate, const Hint& hint,
                                         const JudgedEvent& event, JudgedPatterns& patterns);

}  // namespace millrace
