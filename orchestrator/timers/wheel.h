// Wheel: all timers of millrace in memory, in a hierarchical timing wheel with a resolution of 1
// ms. The cost of arming and cancelling does not depend on the number of timers; a timer takes 32
// bytes. Pure: its time is the latest time given to advance(), and never goes back. To be used by
// one thread only.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"

namespace millrace {

/// The owner of a timer. The wheel uses the key only to order timers with the same deadline.
using TimerKey = uint64_t;

/// A timer that fired.
struct Due {
  TimePoint deadline;
  TimerKey key = 0;

  auto operator<=>(const Due&) const = default;
};

class Wheel {
 public:
  /// Identifies an armed timer. A handle becomes stale when its timer fires or is cancelled. A
  /// stale handle refers to nothing, even if another timer uses the same place. A default handle
  /// refers to nothing.
  struct Handle {
    uint32_t index = 0;
    uint32_t generation = 0;

    bool operator==(const Handle&) const = default;
  };

  Wheel();

  /// The number of timers that one advance() returns if nothing bounds it.
  static constexpr size_t kAll = std::numeric_limits<size_t>::max();

  /// Arms a timer with any deadline. A timer whose deadline has passed fires in the next advance(),
  /// or in a later one, after those that were armed before it.
  Handle arm(TimePoint deadline, TimerKey key);

  /// Cancels the timer; does nothing if the handle is stale.
  void cancel(Handle handle);

  /// Moves the time towards `now`, unless it is later already, and appends the timers whose
  /// deadline is reached to `due`: at most `most`, in the order (deadline, key). The cost grows
  /// with `most`, and not with the number of timers that are due. If more timers are due, next() is
  /// not after `now`, and the next call continues; such a call may append no timer, because it
  /// moves timers within the wheel. Over several calls, timers come in the order of their
  /// deadlines; among timers with the same deadline, and among those that were armed after their
  /// deadline, the calls promise no order by key. Returns whether no due timer is left.
  bool advance(TimePoint now, std::vector<Due>& due, size_t most = kAll);

  /// When to call advance() next: never later than the earliest deadline, often a little earlier (a
  /// far deadline is approached in at most eight steps). nullopt: no timer is armed.
  std::optional<TimePoint> next() const;

  size_t size() const { return size_; }

  /// How far a walk() through the timers of one wheel has come. A new one begins with the timers
  /// that are due first.
  class Walk;

  /// Continues a walk, list by list in the order in which the lists are due, by at most `most`
  /// steps, and appends the timers that it passes to `seen`. A list of far timers has no order. The
  /// wheel may change between two calls: the walk shows each timer that is armed during all of it,
  /// maybe twice, up to Walk::seen_until(); of timers that are armed meanwhile it may show some.
  /// Returns how many steps were made.
  size_t walk(Walk& walk, size_t most, std::vector<Due>& seen) const;

 private:
  // A tick is a millisecond, counted from the smallest TimePoint so that ticks are unsigned. The
  // time and a deadline are numbers of eight digits in base 256. A timer is at the level of the
  // highest digit in which its deadline differs from the time, in the list for the deadline's digit
  // at that level. So all lists of a level are due before those of the levels above, in the order
  // of their digits.
  using Tick = uint64_t;
  static constexpr int kBits = 8;
  static constexpr uint16_t kSlots = 1 << kBits;
  static constexpr uint16_t kLevels = 8;
  static constexpr uint16_t kOverdue = kLevels * kSlots;  ///< the list of passed deadlines
  static constexpr uint16_t kFree = kOverdue + 1;         ///< marks unused entries
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kChunk = 4096;

  struct Entry {
    Tick deadline;
    TimerKey key;
    uint32_t next;
    uint32_t previous;
    uint32_t generation;
    uint16_t list;
  };
  static_assert(sizeof(Entry) == 32);

  struct Place {
    uint16_t level;
    uint16_t digit;
    Tick start;  ///< no deadline in the list is earlier
  };

  Entry& at(uint32_t index) { return chunks_[index / kChunk][index % kChunk]; }
  const Entry& at(uint32_t index) const { return chunks_[index / kChunk][index % kChunk]; }
  bool has_opened() const { return opened_ != kFree && heads_[opened_] != kNone; }
  bool open_next(Tick target);
  void fire(uint32_t index, std::vector<Due>& due);
  uint32_t allocate();
  void release(uint32_t index);
  void link(uint32_t index);
  void link_overdue(uint32_t index);
  void unlink(uint32_t index);
  void clear(uint16_t list);
  uint16_t list_for(Tick deadline) const;
  std::optional<Place> first() const;
  Place place_of(uint16_t list) const;
  Tick last_of(const Place& place) const;
  Handle handle_of(uint32_t index) const;
  bool can_continue(const Walk& walk) const;
  void begin_list(Walk& walk) const;
  uint16_t next_list(Walk& walk) const;
  void show(Walk& walk, std::vector<Due>& seen) const;
  void end_pass(Walk& walk) const;

  /// Stored in chunks, because a vector would hold every timer twice while it grows.
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  uint32_t free_ = kNone;
  size_t size_ = 0;
  Tick time_ = 0;
  /// The list whose timers fire or move to lower levels before the time goes on. Its first deadline
  /// is not before the time, so no timer is linked into it. kFree: none was opened.
  uint16_t opened_ = kFree;
  Tick earliest_overdue_ = 0;      ///< no deadline in the list kOverdue is earlier
  uint32_t last_overdue_ = kNone;  ///< the end of the list kOverdue
  std::array<uint32_t, kOverdue + 1> heads_;
  std::array<uint64_t, kOverdue / 64> occupied_{};  ///< one bit for each list except kOverdue
};

class Wheel::Walk {
 public:
  /// Each timer with an earlier deadline was shown, if it was armed during the whole walk.
  TimePoint seen_until() const;
  /// Whether all timers were shown.
  bool has_ended() const { return has_ended_; }

 private:
  friend class Wheel;

  Tick from_ = 0;  ///< seen_until()
  bool has_ended_ = false;
  bool has_overdue_ = false;     ///< the list kOverdue was shown
  uint16_t opened_ = kFree;      ///< the opened list that was shown last …
  Tick opened_at_ = 0;           ///< … and when it was opened
  uint16_t list_ = kFree;        ///< the list that is being shown; kFree: none
  bool is_of_opened_ = false;    ///< it was the opened list when its turn came
  Handle next_;                  ///< the timer that is shown next
  std::vector<Handle> shown_;    ///< of the list: each timer behind one of them was shown
  std::vector<Handle> in_pass_;  ///< the first timers that were shown since the head of the list
};

}  // namespace millrace
