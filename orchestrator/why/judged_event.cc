#include "orchestrator/why/judged_event.h"

namespace millrace {

Pattern::Answer JudgedPatterns::compare(const Predicate& predicate, std::string_view value) {
  if (predicate.kind == Predicate::Kind::kEquals) {
    return value == predicate.text ? Pattern::Answer::kYes : Pattern::Answer::kNo;
  }
  const Pattern* const pattern = find(predicate.text);
  return pattern == nullptr ? Pattern::Answer::kNo : pattern->match(value);
}

const Pattern* JudgedPatterns::find(const std::string& text) {
  const auto known = patterns_.find(text);
  if (known != patterns_.end()) return known->second.get();
  const Result<std::shared_ptr<const Pattern>> compiled = Pattern::compile(text);
  return patterns_.emplace(text, compiled ? *compiled : nullptr).first->second.get();
}

}  // namespace millrace
