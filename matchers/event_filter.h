// What a listener asks of an event: its type, and predicates over its context attributes. Plain
// values; naive_matcher.h defines what they mean.
#pragma once

#include <string>
#include <vector>

namespace millrace {

/// One attribute must be present and its canonical string (base/attributes.h) must pass.
struct Predicate {
  // On disk: never renumber.
  enum class Kind {
    kEquals = 0,   ///< is `text`, byte for byte
    kPattern = 1,  ///< contains a match of the ECMAScript regular expression `text`
  };

  std::string attribute;  ///< lower-case
  Kind kind = Kind::kEquals;
  std::string text;

  bool operator==(const Predicate&) const = default;
};

/// The event's type is `type`, byte for byte, and every predicate holds.
struct EventFilter {
  std::string type;
  std::vector<Predicate> predicates;

  bool operator==(const EventFilter&) const = default;
};

}  // namespace millrace
