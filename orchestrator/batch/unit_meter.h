// UnitMeter: measures the units of work on the engine thread. A unit is the application of one
// input, of one instance message, of one target of a fan-out, or one portion of a longer work. The
// meter says when a unit must end and when a turn must end, so that no work delays other work for
// long, and it measures what each unit costs. The end of a batch writes the instances that its
// units have changed; the meter bounds that time as well, by what earlier batches needed for each.
//
// The time of a unit or a turn is the processor time of the engine thread. While the thread waits
// for a processor, nothing is done, so to end the unit or the turn would only add a commit. But the
// thread also waits for reads of the disk, so at least half of the elapsed time counts. A reading
// of the processor time is a system call. So it is read only at the begin of a turn, at the end of
// a unit if half of a millisecond has passed, and if the unit has used its time by the clock.
//
// If the clock stands still (tests, scenarios), only the bytes count. Before the first turn nothing
// is measured. Engine thread only.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/work_budget.h"
#include "orchestrator/batch/unit_kind.h"
#include "orchestrator/ports/clock.h"

namespace millrace {

using WorkTime = std::chrono::nanoseconds;

/// The bounds of one unit and of one turn. A unit or a turn ends at the first bound that it
/// reaches.
struct UnitLimits {
  /// A unit ends after this time. What it has started by then (a transition, a target of an event)
  /// and what its end takes should fit into the rest of 2 ms.
  WorkTime unit_time = std::chrono::microseconds(1'500);
  size_t unit_bytes = size_t{256} << 10;
  WorkTime turn_time = std::chrono::milliseconds(5);
  size_t turn_bytes = size_t{1} << 20;
};

/// What a unit has cost, or several units together.
struct UnitCost {
  WorkTime time{};      ///< processor time, at most
  WorkTime to_write{};  ///< what the end of the batch will probably take to write the changes
  size_t bytes = 0;     ///< bytes that the unit writes into the store

  WorkTime all_time() const { return time + to_write; }
  UnitCost& operator+=(const UnitCost& other) {
    time += other.time;
    to_write += other.to_write;
    bytes += other.bytes;
    return *this;
  }
};

/// How long units took.
struct UnitTime {
  WorkTime processor{};  ///< the processor time of the engine thread, at most
  WorkTime elapsed{};    ///< from the begin of the unit until its end
};

class UnitMeter final : public WorkBudget {
 public:
  explicit UnitMeter(const Clock& clock, UnitLimits limits = {}) : clock_(clock), limits_(limits) {}

  const UnitLimits& limits() const { return limits_; }

  /// Begins a turn, and its first unit.
  void begin_turn() {
    turn_began_ = clock_.precise();
    turn_processor_ = clock_.processor_time();
    read_ = {turn_began_, turn_processor_};
    turn_bytes_ = 0;
    turn_changes_ = 0;
    measures_ = true;
    begin_at(turn_began_);
  }

  /// Begins a unit. Units do not nest: the unit before has ended.
  void begin() { begin_at(clock_.precise()); }

  /// Sets what the current unit applies; kOther until then.
  void set_kind(UnitKind kind) { kind_ = kind; }

  /// Counts bytes that the unit writes.
  void add_bytes(size_t bytes) { bytes_ += bytes; }

  /// Counts an instance that the unit changes first in its batch, so that the end of the batch
  /// writes it.
  void add_change() {
    ++changes_;
    ++turn_changes_;
  }

  /// Ends the unit and returns its cost. The next unit begins at once, so that work between two
  /// units is measured, too. The time of a unit that took long is the processor time since it was
  /// last read, less than half of a millisecond before the begin of the unit.
  UnitCost end() {
    const WorkTime now = clock_.precise();
    const WorkTime elapsed = now - began_;
    UnitCost cost{.time = elapsed, .to_write = time_to_write(changes_), .bytes = bytes_};
    if (elapsed >= limits_.unit_time || now - read_.at >= kReadEvery) {
      const Reading read{now, clock_.processor_time()};
      cost.time = std::min(elapsed, read.processor - read_.processor);
      read_ = read;
    }
    UnitTime& longest = longest_[static_cast<size_t>(kind_)];
    longest.processor = std::max(longest.processor, cost.time);
    longest.elapsed = std::max(longest.elapsed, elapsed);
    turn_bytes_ += bytes_;
    begin_at(now);
    return cost;
  }

  /// Ends the turn with the unit in which the batch wrote what its units have changed.
  void end_turn() {
    const WorkTime time = end().time;
    if (turn_changes_ == 0) return;
    const WorkTime each = std::min(time / static_cast<int64_t>(turn_changes_), kLongestWrite);
    const bool is_first = per_change_ == WorkTime(0);
    per_change_ = is_first ? each : per_change_ + (each - per_change_) / kPartOfLastTurn;
  }

  bool is_spent(size_t bytes = 0) const override {
    return measures_ && (bytes_ + bytes >= limits_.unit_bytes ||
                         time_to_write(changes_) >= limits_.unit_time || is_out_of_time());
  }

  /// Whether the turn has used the given share of its bounds, as it was at the end of its last
  /// unit.
  bool is_turn_spent(double share = 1) const {
    const WorkTime time = std::max(time_of_turn(), time_to_write(turn_changes_));
    return is_reached(time, turn_bytes_, share);
  }

  /// Whether units that have cost so much together have used the given share of a turn.
  bool is_used(const UnitCost& cost, double share) const {
    return is_reached(cost.all_time(), cost.bytes, share);
  }

  /// The end of the last unit, as Clock::precise().
  WorkTime now() const { return began_; }

  /// The processor time of the engine thread since the begin of the turn. A system call.
  WorkTime processor_time_of_turn() const { return clock_.processor_time() - turn_processor_; }

  /// The longest times of the units of each kind since the last call; 0: there was none.
  std::array<UnitTime, kUnitKinds> take_longest() { return std::exchange(longest_, {}); }

 private:
  struct Reading {
    WorkTime at{};         ///< Clock::precise()
    WorkTime processor{};  ///< Clock::processor_time()
  };

  /// After how much elapsed time the end of a unit reads the processor time again.
  static constexpr WorkTime kReadEvery = std::chrono::microseconds(500);
  /// A unit or a turn ends after so many times its bound in elapsed time, however little processor
  /// time it had.
  static constexpr int kMostElapsed = 2;
  /// The most time that is expected for one instance, so that a single large one does not make the
  /// next turns small.
  static constexpr WorkTime kLongestWrite = std::chrono::microseconds(200);
  /// The last turn is this part of the average time for one instance: a fourth.
  static constexpr int kPartOfLastTurn = 4;

  /// Whether the given share of one of the bounds of a turn is reached.
  bool is_reached(WorkTime time, size_t bytes, double share) const {
    return static_cast<double>(time.count()) >=
               share * static_cast<double>(limits_.turn_time.count()) ||
           static_cast<double>(bytes) >= share * static_cast<double>(limits_.turn_bytes);
  }

  /// How long the end of the batch needs to write so many instances.
  WorkTime time_to_write(size_t changes) const {
    return per_change_ * static_cast<int64_t>(changes);
  }

  /// Whether the unit has used its time. While the clock says that it has not, the processor time
  /// is not read; while the thread has waited, it is read again when the unit may have used its
  /// time.
  bool is_out_of_time() const {
    const WorkTime now = clock_.precise();
    if (now < look_at_) return false;
    const WorkTime latest = began_ + kMostElapsed * limits_.unit_time;
    if (now >= latest) return true;
    const WorkTime used = std::min(now - began_, clock_.processor_time() - read_.processor);
    if (used >= limits_.unit_time) return true;
    look_at_ = std::min(now + (limits_.unit_time - used), latest);
    return false;
  }

  /// The time of the turn until the end of its last unit. What the thread has waited since the
  /// processor time was read counts, too.
  WorkTime time_of_turn() const {
    const WorkTime elapsed = began_ - turn_began_;
    const WorkTime used = read_.processor - turn_processor_ + (began_ - read_.at);
    return std::clamp(used, elapsed / kMostElapsed, elapsed);
  }

  void begin_at(WorkTime now) {
    began_ = now;
    look_at_ = now + limits_.unit_time;
    bytes_ = 0;
    changes_ = 0;
    kind_ = UnitKind::kOther;
  }

  const Clock& clock_;
  const UnitLimits limits_;
  WorkTime turn_began_{};
  WorkTime turn_processor_{};  ///< Clock::processor_time() at the begin of the turn
  Reading read_;               ///< the latest reading, not after the begin of the unit
  WorkTime began_{};
  /// When is_spent() reads the processor time at the earliest.
  mutable WorkTime look_at_{};
  std::array<UnitTime, kUnitKinds> longest_{};
  WorkTime per_change_{};  ///< the time that the end of a batch needed for each changed instance
  size_t turn_bytes_ = 0;
  size_t turn_changes_ = 0;
  size_t bytes_ = 0;
  size_t changes_ = 0;
  UnitKind kind_ = UnitKind::kOther;
  bool measures_ = false;
};

}  // namespace millrace
