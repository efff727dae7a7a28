#include "orchestrator/service/old_letters.h"

#include <chrono>

namespace millrace {
namespace {

/// Of two dead letters, the one that was stored first is old first. With months this would not hold
/// for the times themselves: 30 January 12:00 and 31 January 11:00 both become 28 February.
bool is_old_letter(const LetterPlace& letter, const Span& age, TimePoint now) {
  if (age.months == 0) return age.after(letter.stored_at) <= now;
  const TimePoint day = std::chrono::floor<std::chrono::days>(letter.stored_at);
  return age.after(day) + std::chrono::days(1) <= now;
}

}  // namespace

Result<std::optional<OldLetters>> find_old_letters(DeadLetterQueue& queue, std::string_view ns,
                                                   const Span& age, TimePoint now, uint64_t most) {
  const auto first = TRY(queue.next(ns, 1));
  if (!first || !is_old_letter(*first, age, now)) return std::nullopt;
  uint64_t begin = first->sequence + 1;  // all before it are old
  uint64_t end = first->sequence + most;
  const auto last = TRY(queue.next(ns, end));
  if (last && is_old_letter(*last, age, now)) return OldLetters{.before = end, .has_more = true};
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    const auto found = TRY(queue.next(ns, middle));
    if (found && is_old_letter(*found, age, now)) {
      begin = found->sequence + 1;
    } else {
      end = middle;
    }
  }
  return OldLetters{.before = begin};
}

}  // namespace millrace
