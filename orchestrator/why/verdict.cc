#include "orchestrator/why/verdict.h"

#include <array>
#include <tuple>

namespace millrace {
namespace {

constexpr std::array<std::string_view, 18> kVerdictNames = {
    "woke",     "started", "filled",    "grouped",   "predicate", "before",
    "after",    "unread",  "duplicate", "paused",    "skipped",   "correlation",
    "lifespan", "limit",   "dead",      "rateLimit", "debounced", "batched"};

/// What the event does, or would do, with a listener for which nothing else decides.
Verdict doing_of(const Circumstances& about) {
  if (about.is_start) {
    if (about.lacks_correlation) return Verdict::kCorrelation;
    if (about.needs_others) return Verdict::kGrouped;
    return about.limited.value_or(Verdict::kStarted);
  }
  if (about.is_paused) return Verdict::kPaused;
  return about.needs_others ? Verdict::kFilled : Verdict::kWoke;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return kVerdictNames.at(static_cast<size_t>(verdict));
}

std::span<const std::string_view> verdict_names() { return kVerdictNames; }

bool is_effect(Verdict verdict) {
  return verdict <= Verdict::kGrouped || verdict == Verdict::kPaused ||
         verdict == Verdict::kDebounced || verdict == Verdict::kBatched;
}

Verdict decide_verdict(const FilterResult& result, const Circumstances& about) {
  if (about.effect) return *about.effect;
  if (about.is_for_others) return Verdict::kPredicate;
  if (result.is_over_limit()) return Verdict::kLimit;
  if (result.failing() > 0) return Verdict::kPredicate;
  if (!about.event) return about.is_duplicate ? Verdict::kDuplicate : doing_of(about);
  if (*about.event > about.applied) return Verdict::kUnread;
  if (about.is_newer) return Verdict::kBefore;
  if (about.listens_from && *about.event <= *about.listens_from) {
    // A state that looks back was offered the event, unless it is known from another one.
    return about.is_early && about.is_duplicate ? Verdict::kDuplicate : Verdict::kBefore;
  }
  if (about.is_duplicate) return Verdict::kDuplicate;
  if (about.is_start && about.lacks_correlation) return Verdict::kCorrelation;
  // The listener matches an applied event, and no effect is stored: its turn has not come yet.
  return Verdict::kUnread;
}

bool is_nearer(Verdict a, const FilterResult& a_result, Verdict b, const FilterResult& b_result) {
  const auto rank = [](Verdict verdict, const FilterResult& result) {
    const size_t failing = is_effect(verdict) ? 0 : result.failing();
    return std::tuple(!is_effect(verdict), failing, result.failing() - result.hints());
  };
  return rank(a, a_result) < rank(b, b_result);
}

}  // namespace millrace
