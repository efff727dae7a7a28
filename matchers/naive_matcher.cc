#include "matchers/naive_matcher.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace millrace {

Result<Matcher::Handle> NaiveMatcher::add(std::string_view ns, const EventFilter& filter,
                                          uint64_t target) {
  Listener listener{std::string(ns), filter, {}, target};
  for (const Predicate& predicate : filter.predicates) {
    if (predicate.kind == Predicate::Kind::kEquals) {
      listener.patterns.push_back(nullptr);
      continue;
    }
    Result<std::shared_ptr<const Pattern>> pattern = Pattern::compile(predicate.text);
    if (!pattern) return fail_in("attribute " + predicate.attribute, pattern.error());
    listener.patterns.push_back(*std::move(pattern));
  }
  listeners_.emplace(next_slot_, std::move(listener));
  return Handle{next_slot_++};
}

void NaiveMatcher::remove(Handle handle) {
  CHECK(listeners_.erase(handle.slot) == 1, "there is no listener {}; expected one that was added",
        handle.slot);
}

void NaiveMatcher::match(std::string_view ns, const Attributes& event,
                         std::vector<uint64_t>& targets) {
  targets.clear();
  for (const auto& [slot, listener] : listeners_) {
    if (listener.ns == ns && concerns(event, listener)) targets.push_back(listener.target);
  }
  std::sort(targets.begin(), targets.end());
}

bool NaiveMatcher::concerns(const Attributes& event, const Listener& listener) {
  if (event.type() != listener.filter.type) return false;
  for (size_t i = 0; i < listener.filter.predicates.size(); ++i) {
    const Predicate& predicate = listener.filter.predicates[i];
    const std::optional<std::string_view> value = event.find(predicate.attribute);
    if (!value) return false;
    if (predicate.kind == Predicate::Kind::kEquals) {
      if (*value != predicate.text) return false;
      continue;
    }
    const Pattern::Answer answer = listener.patterns[i]->match(*value);
    if (answer == Pattern::Answer::kOverLimit) ++over_limit_;
    if (answer != Pattern::Answer::kYes) return false;
  }
  return true;
}

}  // namespace millrace
