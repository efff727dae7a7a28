#include "orchestrator/timers/wheel.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace millrace {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

uint64_t to_tick(TimePoint time) { return static_cast<uint64_t>(to_millis(time)) ^ kSign; }

/// A timer is moved at most seven times before it fires, once for each level below its first one,
/// so a call that may move this many timers for each timer that it returns keeps up.
constexpr size_t kMovesPerTimer = 8;

TimePoint to_time(uint64_t tick) { return from_millis(static_cast<int64_t>(tick ^ kSign)); }

}  // namespace

Wheel::Wheel() { heads_.fill(kNone); }

Wheel::Handle Wheel::arm(TimePoint deadline, TimerKey key) {
  const uint32_t index = allocate();
  Entry& entry = at(index);
  entry.deadline = to_tick(deadline);
  entry.key = key;
  link(index);
  ++size_;
  return {index, entry.generation};
}

void Wheel::cancel(Handle handle) {
  if (handle.index >= chunks_.size() * kChunk) return;
  const Entry& entry = at(handle.index);
  if (entry.list == kFree || entry.generation != handle.generation) return;
  unlink(handle.index);
  release(handle.index);
}

bool Wheel::advance(TimePoint now, std::vector<Due>& due, size_t most) {
  const size_t already = due.size();
  const Tick target = std::max(time_, to_tick(now));
  size_t moves = most > kAll / kMovesPerTimer ? kAll : most * kMovesPerTimer;
  bool is_done = false;
  while (!is_done && due.size() - already < most && moves > 0) {
    if (heads_[kOverdue] != kNone) {
      fire(heads_[kOverdue], due);
    } else if (has_opened()) {
      const uint32_t index = heads_[opened_];
      --moves;
      if (at(index).deadline == time_) {
        fire(index, due);
      } else {
        unlink(index);
        link(index);
      }
    } else {
      is_done = !open_next(target);
    }
  }
  std::sort(due.begin() + static_cast<std::ptrdiff_t>(already), due.end());
  return is_done;
}

/// Sets the time to the start of the list that is due first and opens that list. Returns false, and
/// sets the time to `target`, if no list starts by then: the deadlines of all timers then differ
/// from `target` in the digit that selects their list.
bool Wheel::open_next(Tick target) {
  const std::optional<Place> place = first();
  const bool is_due = place && place->start <= target;
  time_ = is_due ? place->start : target;
  opened_ = is_due ? static_cast<uint16_t>(place->level * kSlots + place->digit) : kFree;
  return is_due;
}

void Wheel::fire(uint32_t index, std::vector<Due>& due) {
  const Entry& entry = at(index);
  due.push_back({to_time(entry.deadline), entry.key});
  unlink(index);
  release(index);
}

std::optional<TimePoint> Wheel::next() const {
  if (heads_[kOverdue] != kNone) return to_time(earliest_overdue_);
  if (has_opened()) return to_time(time_);
  const std::optional<Place> place = first();
  if (!place) return std::nullopt;
  return to_time(place->start);
}

uint32_t Wheel::allocate() {
  if (free_ == kNone) {
    const auto begin = static_cast<uint32_t>(chunks_.size() * kChunk);
    CHECK(begin < kNone - kChunk, "{} timers", begin);
    chunks_.push_back(std::make_unique<Entry[]>(kChunk));
    for (uint32_t i = 0; i < kChunk; ++i) {
      Entry& entry = chunks_.back()[i];
      entry.generation = 1;
      entry.list = kFree;
      entry.next = i + 1 < kChunk ? begin + i + 1 : kNone;
    }
    free_ = begin;
  }
  return std::exchange(free_, at(free_).next);
}

void Wheel::release(uint32_t index) {
  Entry& entry = at(index);
  entry.list = kFree;
  if (++entry.generation == 0) entry.generation = 1;
  entry.next = free_;
  free_ = index;
  --size_;
}

uint16_t Wheel::list_for(Tick deadline) const {
  if (deadline <= time_) return kOverdue;
  const auto level = static_cast<uint16_t>((std::bit_width(deadline ^ time_) - 1) / kBits);
  const auto digit = static_cast<uint16_t>(deadline >> level * kBits & (kSlots - 1));
  return static_cast<uint16_t>(level * kSlots + digit);
}

void Wheel::link(uint32_t index) {
  Entry& entry = at(index);
  entry.list = list_for(entry.deadline);
  if (entry.list == kOverdue) return link_overdue(index);
  uint32_t& head = heads_[entry.list];
  occupied_[entry.list / 64] |= uint64_t{1} << entry.list % 64;
  entry.previous = kNone;
  entry.next = head;
  if (head != kNone) at(head).previous = index;
  head = index;
}

/// Appends the timer to the list kOverdue, so that no timer waits for ever behind later ones.
void Wheel::link_overdue(uint32_t index) {
  Entry& entry = at(index);
  const bool is_first = heads_[kOverdue] == kNone;
  if (is_first || entry.deadline < earliest_overdue_) earliest_overdue_ = entry.deadline;
  entry.next = kNone;
  entry.previous = is_first ? kNone : last_overdue_;
  (is_first ? heads_[kOverdue] : at(last_overdue_).next) = index;
  last_overdue_ = index;
}

void Wheel::unlink(uint32_t index) {
  const Entry& entry = at(index);
  if (entry.list == kOverdue && last_overdue_ == index) last_overdue_ = entry.previous;
  if (entry.next != kNone) at(entry.next).previous = entry.previous;
  if (entry.previous != kNone) {
    at(entry.previous).next = entry.next;
  } else if (entry.next != kNone) {
    heads_[entry.list] = entry.next;
  } else {
    clear(entry.list);
  }
}

/// Marks a list as empty.
void Wheel::clear(uint16_t list) {
  if (list != kOverdue) occupied_[list / 64] &= ~(uint64_t{1} << list % 64);
  heads_[list] = kNone;
}

/// The list with the timers that are due first.
std::optional<Wheel::Place> Wheel::first() const {
  for (size_t word = 0; word < occupied_.size(); ++word) {
    if (occupied_[word] == 0) continue;
    const auto list = static_cast<uint16_t>(word * 64 + std::countr_zero(occupied_[word]));
    const auto level = static_cast<uint16_t>(list / kSlots);
    const auto digit = static_cast<uint16_t>(list % kSlots);
    const int shift = level * kBits;
    // The start of the list: the digits of the time above this level, then this digit, then zeros.
    const Tick above = level + 1 < kLevels ? time_ >> (shift + kBits) << (shift + kBits) : 0;
    return Place{level, digit, above | Tick{digit} << shift};
  }
  return std::nullopt;
}

}  // namespace millrace
