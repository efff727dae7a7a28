// PatternResults: matches filters with kept events, within a budget. A pattern runs once for the
// value of an event, however many filters have the pattern, and what a portion of the work has
// decided is remembered for the next one. Only one thread at a time may use an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/result.h"
#include "matchers/event_filter.h"
#include "matchers/match_budget.h"
#include "matchers/pattern.h"

namespace millrace {

class PatternResults {
 public:
  /// Whether the filter matches the event. `number` identifies the event until clear(). Adds to
  /// `over_limit` how many runs of a pattern reached Pattern::kMatchLimit. Error
  /// `pattern.malformed` names the attribute.
  Result<Decision> decide(const EventFilter& filter, uint64_t number, const Attributes& event,
                          MatchBudget& budget, uint64_t& over_limit);

  /// Forgets all results: the numbers may then be those of other events.
  void clear() { results_.clear(); }

 private:
  Result<Decision> decide(const Predicate& predicate, uint64_t number, std::string_view value,
                          MatchBudget& budget, uint64_t& over_limit);

  std::unordered_map<std::string, std::shared_ptr<const Pattern>> patterns_;  // by text
  /// By the number of the event, and the fingerprint of attribute and pattern.
  std::map<std::pair<uint64_t, Fingerprint>, bool> results_;
};

}  // namespace millrace
