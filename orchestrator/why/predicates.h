// Judges the filter of one listener against one event, predicate by predicate, with the meaning
// that matchers/naive_matcher.h defines. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "matchers/event_filter.h"
#include "orchestrator/why/hints.h"
#include "orchestrator/why/judged_event.h"

namespace millrace {

/// One predicate of a filter and the event.
struct PredicateResult {
  Predicate predicate;
  std::optional<std::string> got;  ///< the value of the attribute; nullopt: the event has none
  bool holds = false;
  bool over_limit = false;   ///< does not hold, because the pattern reached Pattern::kMatchLimit
  std::optional<Hint> hint;  ///< only if the predicate does not hold
  std::optional<std::string> fits;  ///< with a hint: a value for which it holds, if one is known
};

struct FilterResult {
  std::vector<PredicateResult> predicates;  ///< in the order of the filter

  /// How many predicates do not hold.
  size_t failing() const;
  /// How many of those have a hint.
  size_t hints() const;
  /// Whether the filter fails only because patterns reached their limit.
  bool is_over_limit() const;
};

/// Compares each predicate with the event. Does not compare the type, and adds no hints.
FilterResult judge(const EventFilter& filter, const JudgedEvent& event, JudgedPatterns& patterns);

/// Adds hints to the predicates that do not hold.
void add_hints(FilterResult& result, const JudgedEvent& event, JudgedPatterns& patterns);

/// What excludes the listener, without its values, so that listeners can be counted by it:
/// "`orderid` has another value", "`orderid` is missing", "`source` does not match". Names the
/// first predicate that does not hold. Precondition: there is one.
std::string excluded_by(const FilterResult& result);

}  // namespace millrace
