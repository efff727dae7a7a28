#include "matchers/pattern_results.h"

#include <optional>

namespace millrace {
namespace {

/// The number of steps that take about as long as compiling a pattern, for PCRE2 and for RE2.
constexpr uint32_t kStepsToCompile = 200;
constexpr uint32_t kStepsToCompileLinear = 1'000;

/// What is remembered at most. More results than one instance needs for one event, so that each
/// portion of the work can continue from the one before.
constexpr size_t kMostPatterns = 1'024;
constexpr size_t kMostResults = 65'536;

}  // namespace

Result<Decision> PatternResults::decide(const EventFilter& filter, uint64_t number,
                                        const Attributes& event, MatchBudget& budget,
                                        uint64_t& over_limit) {
  if (event.type() != filter.type) return Decision::kNo;
  // First the predicates that cost little: they may make the patterns unnecessary.
  for (const Predicate& predicate : filter.predicates) {
    const std::optional<std::string_view> value = event.find(predicate.attribute);
    if (!value) return Decision::kNo;
    const bool is_equality = predicate.kind == Predicate::Kind::kEquals;
    if (is_equality && *value != predicate.text) return Decision::kNo;
  }
  Decision all = Decision::kYes;
  for (const Predicate& predicate : filter.predicates) {
    if (predicate.kind == Predicate::Kind::kEquals) continue;
    const std::string_view value = *event.find(predicate.attribute);
    const Decision one = TRY(decide(predicate, number, value, budget, over_limit));
    if (one == Decision::kNo) return one;
    if (one == Decision::kUndecided) all = one;
  }
  return all;
}

Result<Decision> PatternResults::decide(const Predicate& predicate, uint64_t number,
                                        std::string_view value, MatchBudget& budget,
                                        uint64_t& over_limit) {
  const std::pair key{number, fingerprint({predicate.attribute, predicate.text})};
  if (const auto known = results_.find(key); known != results_.end()) {
    return known->second ? Decision::kYes : Decision::kNo;
  }
  auto compiled = patterns_.find(predicate.text);
  if (compiled == patterns_.end()) {
    if (!budget.take_steps(kStepsToCompile)) return Decision::kUndecided;
    auto pattern = Pattern::compile(predicate.text);
    if (!pattern) return fail_in("attribute " + predicate.attribute, pattern.error());
    const bool is_linear = (*pattern)->kind() == Pattern::Kind::kLinear;
    if (is_linear) budget.take_steps(kStepsToCompileLinear - kStepsToCompile);
    if (patterns_.size() >= kMostPatterns) patterns_.clear();
    compiled = patterns_.emplace(predicate.text, *std::move(pattern)).first;
  }
  const Pattern& pattern = *compiled->second;
  const Decision decision = millrace::decide(pattern, value, budget, over_limit);
  const bool is_costly =
      pattern.kind() == Pattern::Kind::kLinear || pattern.kind() == Pattern::Kind::kBacktracking;
  if (is_costly && decision != Decision::kUndecided) {
    if (results_.size() >= kMostResults) results_.clear();
    results_.emplace(key, decision == Decision::kYes);
  }
  return decision;
}

}  // namespace millrace
