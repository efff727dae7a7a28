// Finds the dead letters of a namespace that are older than its settings allow.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/ports/dead_letter_queue.h"
#include "policies/duration.h"

namespace millrace {

struct OldLetters {
  uint64_t before = 0;    ///< all dead letters with lower sequences are old
  bool has_more = false;  ///< the dead letters from `before` on may be old, too
};

/// Finds which of the oldest dead letters of a namespace are old at `now`: stored at least `age`
/// ago. Looks at `most` sequences of the queue from the first dead letter of the namespace on, so
/// at most that many dead letters are found. nullopt: none is old. An age with months is counted
/// from the end of the day (UTC) at which a dead letter was stored.
///
/// Makes at most 3 + log2(`most`) requests: times ascend with sequences, so the limit between old
/// and young dead letters is found by bisection. If the clock of the broker was set back, the times
/// do not ascend at that place, and a dead letter there may count as old too early or too late, by
/// at most as much as the clock was set back. Errors: those of the queue.
Result<std::optional<OldLetters>> find_old_letters(DeadLetterQueue& queue, std::string_view ns,
                                                   const Span& age, TimePoint now, uint64_t most);

}  // namespace millrace
