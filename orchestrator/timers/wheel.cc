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

/// How many of the timers that a walk has shown are marks, by which it knows how far a list is new.
constexpr size_t kMarks = 16;

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
    return place_of(static_cast<uint16_t>(word * 64 + std::countr_zero(occupied_[word])));
  }
  return std::nullopt;
}

Wheel::Place Wheel::place_of(uint16_t list) const {
  const auto level = static_cast<uint16_t>(list / kSlots);
  const auto digit = static_cast<uint16_t>(list % kSlots);
  const int shift = level * kBits;
  // The start of the list: the digits of the time above this level, then this digit, then zeros.
  const Tick above = level + 1 < kLevels ? time_ >> (shift + kBits) << (shift + kBits) : 0;
  return {level, digit, above | Tick{digit} << shift};
}

/// No deadline in the list is later.
Wheel::Tick Wheel::last_of(const Place& place) const {
  return place.start | ((Tick{1} << place.level * kBits) - 1);
}

Wheel::Handle Wheel::handle_of(uint32_t index) const { return {index, at(index).generation}; }

TimePoint Wheel::Walk::seen_until() const { return to_time(from_); }

// A walk shows a list from its head to its end. New timers come to the head meanwhile, so it begins
// at the head again, in a further pass, until the head is a timer that it has shown. If the timer
// at which it must continue has left the list, it looks again which list comes next, and shows the
// timers of that list from the head on.
size_t Wheel::walk(Walk& walk, size_t most, std::vector<Due>& seen) const {
  size_t steps = 0;
  while (true) {
    if (walk.list_ == kFree && !walk.has_ended_) begin_list(walk);
    if (walk.has_ended_ || steps == most) return steps;
    ++steps;
    if (can_continue(walk)) {
      show(walk, seen);
    } else {
      walk.list_ = kFree;
    }
  }
}

/// Whether the timer that is next is still in the list, which was not opened meanwhile: timers of
/// an opened list may come to lists that the walk shows later.
bool Wheel::can_continue(const Walk& walk) const {
  if (walk.next_.index >= chunks_.size() * kChunk) return false;  // it is another wheel
  const Entry& entry = at(walk.next_.index);
  if (entry.list != walk.list_ || entry.generation != walk.next_.generation) return false;
  return walk.list_ != opened_ || walk.is_of_opened_;
}

void Wheel::begin_list(Walk& walk) const {
  walk.shown_.clear();
  walk.in_pass_.clear();
  walk.list_ = next_list(walk);
  walk.has_ended_ = walk.list_ == kFree;
  if (!walk.has_ended_) walk.next_ = handle_of(heads_[walk.list_]);
}

/// The list that a walk shows next, which has timers; kFree: none is left.
uint16_t Wheel::next_list(Walk& walk) const {
  walk.is_of_opened_ = false;
  walk.has_overdue_ = walk.has_overdue_ || heads_[kOverdue] == kNone;
  if (!walk.has_overdue_) return kOverdue;
  // The timers of the opened list go to the lists that come first, so it is shown before these.
  const bool is_shown = walk.opened_ == opened_ && walk.opened_at_ == time_;
  if (has_opened() && !is_shown) {
    walk.is_of_opened_ = true;
    return opened_;
  }
  for (size_t word = 0; word < occupied_.size(); ++word) {
    for (uint64_t left = occupied_[word]; left != 0; left &= left - 1) {
      const auto list = static_cast<uint16_t>(word * 64 + std::countr_zero(left));
      const Place place = place_of(list);
      if (list == opened_ || last_of(place) < walk.from_) continue;
      walk.from_ = std::max(walk.from_, place.start);
      return list;
    }
  }
  return kFree;
}

/// Shows the timer that is next, unless it was shown in an earlier pass.
void Wheel::show(Walk& walk, std::vector<Due>& seen) const {
  if (std::find(walk.shown_.begin(), walk.shown_.end(), walk.next_) != walk.shown_.end()) {
    return end_pass(walk);
  }
  const Entry& entry = at(walk.next_.index);
  seen.push_back({to_time(entry.deadline), entry.key});
  if (walk.in_pass_.size() < kMarks) walk.in_pass_.push_back(walk.next_);
  if (entry.next == kNone) return end_pass(walk);
  walk.next_ = handle_of(entry.next);
}

/// Begins another pass through the list if its head is new, and otherwise ends the list.
void Wheel::end_pass(Walk& walk) const {
  walk.in_pass_.insert(walk.in_pass_.end(), walk.shown_.begin(), walk.shown_.end());
  if (walk.in_pass_.size() > kMarks) walk.in_pass_.resize(kMarks);
  walk.shown_ = std::move(walk.in_pass_);
  walk.in_pass_.clear();
  walk.next_ = handle_of(heads_[walk.list_]);
  if (std::find(walk.shown_.begin(), walk.shown_.end(), walk.next_) == walk.shown_.end()) return;
  if (walk.list_ == kOverdue) {
    walk.has_overdue_ = true;
  } else if (walk.is_of_opened_) {
    walk.opened_ = opened_;
    walk.opened_at_ = time_;
  } else {
    const Tick last = last_of(place_of(walk.list_));
    walk.has_ended_ = last == std::numeric_limits<Tick>::max();
    if (!walk.has_ended_) walk.from_ = last + 1;
  }
  walk.list_ = kFree;
}

}  // namespace millrace
