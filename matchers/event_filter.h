// EventFilter: what an event must have to match a listener: a type, and predicates on its context
// attributes. Plain values; naive_matcher.h defines their meaning.
#pragma once

#include <string>
#include <vector>

namespace millrace {

/// A condition on one attribute: it must be present, and its canonical string (base/attributes.h)
/// must meet the condition.
struct Predicate {
  // Stored on disk: never renumber.
  enum class Kind {
    kEquals = 0,   ///< the string equals `text`, byte for byte
    kPattern = 1,  ///< the string contains a match of the ECMAScript regular expression `text`
  };

  std::string attribute;  ///< lower-case
  Kind kind = Kind::kEquals;
  std::string text;

  bool operator==(const Predicate&) const = default;
};

/// Matches an event whose type equals `type`, byte for byte, and for which every predicate holds.
struct EventFilter {
  std::string type;
  std::vector<Predicate> predicates;

  bool operator==(const EventFilter&) const = default;
};

}  // namespace millrace
