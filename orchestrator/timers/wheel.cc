#include "orchestrator/timers/wheel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace millrace {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

uint64_t to_tick(TimePoint time) { return static_cast<uint64_t>(to_millis(time)) ^ kSign; }

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

void Wheel::advance(TimePoint now, std::vector<Due>& due) {
  const auto already = static_cast<std::ptrdiff_t>(due.size());
  const Tick target = std::max(time_, to_tick(now));
  const auto fire_or_link = [&](uint32_t index) {
    while (index != kNone) {
      const Entry& entry = at(index);
      const uint32_t next = entry.next;
      if (entry.deadline <= target) {
        due.push_back({to_time(entry.deadline), entry.key});
        release(index);
      } else {
        link(index);
      }
      index = next;
    }
  };

  fire_or_link(take(kOverdue));
  for (std::optional<Place> place = first(); place && place->start <= target; place = first()) {
    // Sets the time to the start of each list in turn; then the timers of that list that are not
    // due yet are linked again, at a lower level.
    time_ = place->start;
    fire_or_link(take(static_cast<uint16_t>(place->level * kSlots + place->digit)));
  }
  // The remaining lists start after `target`, so the deadlines of their timers still differ from
  // `target` in the digit that selects the list.
  time_ = target;
  std::sort(due.begin() + already, due.end());
}

std::optional<TimePoint> Wheel::next() const {
  if (heads_[kOverdue] != kNone) return to_time(earliest_overdue_);
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
  uint32_t& head = heads_[entry.list];
  if (entry.list != kOverdue) {
    occupied_[entry.list / 64] |= uint64_t{1} << entry.list % 64;
  } else if (head == kNone || entry.deadline < earliest_overdue_) {
    earliest_overdue_ = entry.deadline;
  }
  entry.previous = kNone;
  entry.next = head;
  if (head != kNone) at(head).previous = index;
  head = index;
}

void Wheel::unlink(uint32_t index) {
  const Entry& entry = at(index);
  if (entry.next != kNone) at(entry.next).previous = entry.previous;
  if (entry.previous != kNone) {
    at(entry.previous).next = entry.next;
  } else if (entry.next != kNone) {
    heads_[entry.list] = entry.next;
  } else {
    take(entry.list);
  }
}

/// Empties a list and returns its first entry.
uint32_t Wheel::take(uint16_t list) {
  if (list != kOverdue) occupied_[list / 64] &= ~(uint64_t{1} << list % 64);
  return std::exchange(heads_[list], kNone);
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
