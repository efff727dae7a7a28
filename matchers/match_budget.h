// MatchBudget: how much work the matching of events may do at once. A match that the budget does
// not allow is undecided and is decided later. The budget counts steps, runs and bytes and reads no
// clock, so the same events with the same listeners are always decided in the same way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "matchers/pattern.h"

namespace millrace {

/// Whether a filter, or a predicate of it, matches an event.
enum class Decision : uint8_t { kNo, kYes, kUndecided };

/// The default values are the budget of one event when it is applied.
struct MatchBudget {
  /// The most steps of a short run of a pattern that backtracks. Nearly all patterns that are
  /// written with care are decided by a short run, most of them by its first kFirstRun steps.
  uint32_t short_run = 500;
  /// Whether a pattern that a short run does not decide is run again, with Pattern::kMatchLimit
  /// steps. Such a run always decides.
  bool has_long_runs = false;
  /// The steps that are left. A run takes all steps that it may make, because PCRE2 does not report
  /// how many it made. So a pattern is run with few steps first, and again with more if these do
  /// not suffice. The last run may take more than are left.
  uint32_t steps = 32 * 500;
  /// The bytes that are left for linear patterns to read. With `has_long_runs` the last pattern may
  /// read more than are left, so that a long value is decided, too.
  size_t bytes = size_t{4} << 20;

  /// The most steps of the first run of a pattern.
  static constexpr uint32_t kFirstRun = 64;

  /// The budget that leaves no match undecided.
  static MatchBudget unlimited() {
    return {.has_long_runs = true,
            .steps = std::numeric_limits<uint32_t>::max(),
            .bytes = std::numeric_limits<size_t>::max()};
  }

  /// Takes steps or bytes. Returns false if they are not left; then nothing is taken.
  bool take_steps(uint32_t number) {
    if (steps == 0) return false;
    if (steps != std::numeric_limits<uint32_t>::max()) steps -= std::min(steps, number);
    return true;
  }
  bool take_bytes(size_t number) {
    if (bytes == 0 || (!has_long_runs && number > bytes)) return false;
    if (bytes != std::numeric_limits<size_t>::max()) bytes -= std::min(bytes, number);
    return true;
  }
};

/// What one run of a linear pattern takes from `MatchBudget::bytes` besides the size of the value:
/// about the bytes that RE2 reads in the time in which it begins a run.
inline constexpr size_t kBytesOfARun = 64;

/// Searches for the pattern in the value, within the budget. Adds 1 to `over_limit` if the pattern
/// reached Pattern::kMatchLimit, which counts as no match.
Decision decide(const Pattern& pattern, std::string_view value, MatchBudget& budget,
                uint64_t& over_limit);

}  // namespace millrace
