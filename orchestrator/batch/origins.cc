#include "orchestrator/batch/origins.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace {

Result<OriginRecord*> Origins::find(const OriginStream& origin) {
  if (const auto known = known_.find(origin); known != known_.end()) return &known->second;
  std::optional<OriginRecord> row = TRY(damages_.pass_over(read_origin(tx_, origin)));
  if (!row) return nullptr;
  return &known_.emplace(origin, *std::move(row)).first->second;
}

Result<Origins::Verdict> Origins::take(std::string_view ns, const OriginMark& mark) {
  if (!is_proved(tx_.seal().message_key(), ns, mark)) return Verdict::kForged;
  OriginRecord* const record = TRY(find(mark.origin));
  if (record == nullptr) return Verdict::kUnknown;
  const uint64_t highest = record->applied.highest();
  switch (record->applied.add(mark.previous, mark.sequence)) {
    case AppliedSequences::Added::kNew:
      break;
    case AppliedSequences::Added::kTooManyGaps:
      return Verdict::kTooManyGaps;
    case AppliedSequences::Added::kRepeated:
    case AppliedSequences::Added::kUnordered:  // this release makes no such mark
      ++record->repeated;
      change(mark.origin);
      return Verdict::kRepeated;
  }
  ++record->events;
  if (mark.sequence > highest) record->stamped = mark.stamped;
  change(mark.origin);
  return Verdict::kNew;
}

void Origins::put(const OriginStream& origin, const OriginRecord& record) {
  known_[origin] = record;
  change(origin);
}

void Origins::erase(const OriginStream& origin) {
  known_.erase(origin);
  unwritten_.erase(origin);
  erase_origin(tx_, origin);
}

void Origins::write() {
  for (const OriginStream& origin : std::exchange(unwritten_, {})) {
    write_origin(tx_, origin, known_.at(origin));
  }
}

void Origins::clear() {
  known_.clear();
  unwritten_.clear();
}

}  // namespace millrace
