// Which messages the origin stream has removed before its source has read them: seen when reading
// begins, and during reading, when the broker passes over sequences.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/service/source_origin.h"
#include "orchestrator/service/source_run.h"

namespace millrace {

/// Notes the sequences between the message that was read last and the one of `sequence`. A consumed
/// stream lacks those that were acknowledged.
void SourceRun::note_gap(uint64_t sequence) {
  if (settings_.consume || sequence <= position_ + 1) return;
  gaps_.push_back({.first = position_ + 1, .last = sequence - 1});
}

/// Asks the origin stream about the noted gaps, at most as often as kBetweenGapChecks says.
Status SourceRun::check_gaps() {
  if (gaps_.empty()) return {};
  const TimePoint now = parts_.clock.now();
  const bool is_early =
      gaps_checked_ && now >= *gaps_checked_ && now - *gaps_checked_ < kBetweenGapChecks;
  if (is_early && gaps_.size() < kMostGapsNoted) return {};
  gaps_checked_ = now;
  count_gaps(TRY(find_origin(parts_.origins, ns_, place_.name, settings_)));
  return {};
}

/// Counts what is gone in the noted gaps: the sequences before the oldest message of the stream. If
/// the stream was created again, it is not known.
void SourceRun::count_gaps(const OriginState& state) {
  const std::vector<Gap> gaps = std::exchange(gaps_, {});
  if (state.created != origin_.created) return;
  uint64_t gone = 0;
  uint64_t first = 0;
  uint64_t last = 0;
  for (const Gap& gap : gaps) {
    const uint64_t added = add_gone(gap.first, std::min(gap.last + 1, state.first));
    if (added == 0) continue;
    if (gone == 0) first = gone_to_ - added;
    last = gone_to_ - 1;
    gone += added;
  }
  if (gone == 0) return;
  notice({"source.gone",
          fmt::format("stream {} has removed {} of the messages {} to {} before they were read",
                      stream_, gone, first, last)});
}

/// Counts the messages that the origin stream has removed before reading begins. Of a consumed
/// stream with other subjects, these may be messages that the source does not want; and where a
/// consumed stream begins is not known before a message is applied.
void SourceRun::count_gone(const Rows& rows, const OriginState& state) {
  const uint64_t floor = rows.origin.applied.floor();
  if (settings_.consume && (floor == 0 || !settings_.subjects.empty())) return;
  // The floor does not move before a message is applied: what is gone is counted once.
  const uint64_t gone = add_gone(floor + 1, state.first);
  if (gone == 0) return;
  notice({"source.gone", fmt::format("stream {} does not have the messages {} to {} any more",
                                     stream_, state.first - gone, state.first - 1)});
}

/// Counts the sequences from `first` up to before `end` as gone. Returns how many of them were not
/// counted before.
uint64_t SourceRun::add_gone(uint64_t first, uint64_t end) {
  const uint64_t known = std::max(first, gone_to_);
  if (end <= known) return 0;
  gone_to_ = end;
  count(&SourceFigures::gone, &SourceTotals::gone, end - known);
  return end - known;
}

}  // namespace millrace
