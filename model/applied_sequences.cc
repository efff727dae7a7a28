#include "model/applied_sequences.h"

#include <algorithm>

namespace millrace {

bool AppliedSequences::has(uint64_t sequence) const {
  if (sequence <= floor_) return true;
  const auto range =
      std::lower_bound(above_.begin(), above_.end(), sequence,
                       [](const SequenceRange& one, uint64_t at) { return one.last < at; });
  return range != above_.end() && range->first <= sequence;
}

AppliedSequences::Added AppliedSequences::add(uint64_t previous, uint64_t sequence) {
  if (previous >= sequence) return Added::kUnordered;
  if (has(sequence)) return Added::kRepeated;
  SequenceRange added{.first = previous + 1, .last = sequence};
  // The ranges that overlap the new one or adjoin it become one range with it.
  const auto first = std::find_if(above_.begin(), above_.end(), [&](const SequenceRange& one) {
    return one.last >= added.first - 1;
  });
  auto behind = first;
  while (behind != above_.end() && behind->first - 1 <= added.last) ++behind;
  const bool is_joined = first != behind;
  const bool reaches_floor = added.first - 1 <= floor_;
  if (!is_joined && !reaches_floor && above_.size() >= kMostGaps) return Added::kTooManyGaps;
  if (is_joined) {
    added.first = std::min(added.first, first->first);
    added.last = std::max(added.last, (behind - 1)->last);
  }
  const auto at = above_.erase(first, behind);
  if (reaches_floor) {
    floor_ = added.last;
  } else {
    above_.insert(at, added);
  }
  return Added::kNew;
}

}  // namespace millrace
