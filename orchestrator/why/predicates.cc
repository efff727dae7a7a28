#include "orchestrator/why/predicates.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"

namespace millrace {

size_t FilterResult::failing() const {
  return static_cast<size_t>(std::count_if(predicates.begin(), predicates.end(),
                                           [](const PredicateResult& one) { return !one.holds; }));
}

size_t FilterResult::hints() const {
  return static_cast<size_t>(
      std::count_if(predicates.begin(), predicates.end(),
                    [](const PredicateResult& one) { return one.hint.has_value(); }));
}

bool FilterResult::is_over_limit() const {
  return failing() > 0 &&
         std::all_of(predicates.begin(), predicates.end(),
                     [](const PredicateResult& one) { return one.holds || one.over_limit; });
}

FilterResult judge(const EventFilter& filter, const JudgedEvent& event, JudgedPatterns& patterns) {
  FilterResult result;
  for (const Predicate& predicate : filter.predicates) {
    PredicateResult& one = result.predicates.emplace_back(PredicateResult{.predicate = predicate});
    const auto got = event.attributes.find(predicate.attribute);
    if (!got) continue;
    one.got = std::string(*got);
    const Pattern::Answer answer = patterns.compare(predicate, *got);
    one.holds = answer == Pattern::Answer::kYes;
    one.over_limit = answer == Pattern::Answer::kOverLimit;
  }
  return result;
}

void add_hints(FilterResult& result, const JudgedEvent& event, JudgedPatterns& patterns) {
  for (PredicateResult& one : result.predicates) {
    if (one.holds || one.over_limit) continue;
    one.hint = find_hint(one.predicate, event, patterns);
    if (one.hint) one.fits = fitting_value(one.predicate, *one.hint, event, patterns);
  }
}

std::string excluded_by(const FilterResult& result) {
  const auto first = std::find_if(result.predicates.begin(), result.predicates.end(),
                                  [](const PredicateResult& one) { return !one.holds; });
  CHECK(first != result.predicates.end(), "{} predicates hold; expected one that does not",
        result.predicates.size());
  const std::string& name = first->predicate.attribute;
  if (!first->got) return fmt::format("`{}` is missing", name);
  if (first->over_limit) return fmt::format("the pattern for `{}` reached its limit", name);
  const bool is_equality = first->predicate.kind == Predicate::Kind::kEquals;
  return fmt::format("`{}` {}", name, is_equality ? "has another value" : "does not match");
}

}  // namespace millrace
