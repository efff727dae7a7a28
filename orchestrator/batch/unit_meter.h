// UnitMeter: measures the units of work on the engine thread. A unit is the application of one
// input, of one instance message, of one target of a fan-out, or one portion of a longer work. The
// meter says when a unit must end and when a turn must end, so that no work delays other work for
// long, and it measures what each unit costs. The end of a batch writes the instances that its
// units have changed. It is the last unit of the turn, which nothing can end early; so the meter
// bounds what the units of a turn change, by the time that earlier batches needed for each.
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
  /// What the end of the batch will probably take to write what a turn changes. It is the last unit
  /// of the turn, which nothing ends early, and may take longer than expected.
  WorkTime write_time = std::chrono::microseconds(1'200);
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
    turn_to_write_ = {};
    for (KindChanges& one : changes_) one.in_turn = 0;
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
    KindChanges& of_kind = changes_[static_cast<size_t>(kind_)];
    const bool is_over = ++of_kind.in_turn > of_kind.most && has_written_;
    const WorkTime time = is_over ? limits_.write_time : of_kind.each;
    ++turn_changes_;
    turn_to_write_ += time;
    to_write_ += time;
  }

  /// Ends the unit and returns its cost. The next unit begins at once, so that work between two
  /// units is measured, too. The time of a unit that took long is the processor time since it was
  /// last read, less than half of a millisecond before the begin of the unit.
  UnitCost end() {
    const WorkTime now = clock_.precise();
    const WorkTime elapsed = now - began_;
    UnitCost cost{.time = elapsed, .to_write = to_write_, .bytes = bytes_};
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
    has_written_ = has_written_ || time > WorkTime(0);
    const WorkTime average = time / static_cast<int64_t>(turn_changes_);
    // The time of each kind is not measured apart: all of them were as much slower or faster.
    WorkTime expected{};
    for (const KindChanges& one : changes_) {
      expected += one.each_or(average) * static_cast<int64_t>(one.in_turn);
    }
    const double factor = expected == WorkTime(0) ? 0
                                                  : static_cast<double>(time.count()) /
                                                        static_cast<double>(expected.count());
    for (KindChanges& one : changes_) {
      if (one.in_turn == 0) continue;
      const auto each = static_cast<double>(one.each_or(average).count()) * factor;
      one.learn(std::min(WorkTime(static_cast<int64_t>(each)), kLongestWrite));
    }
  }

  /// Ends the commit of a turn that end_turn() has ended. The time that it takes is the processor
  /// time: while the disk syncs, the thread waits, which the times of the turn show.
  void end_commit() {
    set_kind(UnitKind::kCommit);
    const WorkTime elapsed_before = longest_[static_cast<size_t>(kind_)].elapsed;
    const WorkTime time = end().time;
    longest_[static_cast<size_t>(UnitKind::kCommit)].elapsed = std::max(elapsed_before, time);
  }

  bool is_spent(size_t bytes = 0) const override {
    return measures_ && (bytes_ + bytes >= limits_.unit_bytes || to_write_ >= limits_.write_time ||
                         is_out_of_time());
  }

  /// Whether the turn has used the given share of its bounds, as it was at the end of its last
  /// unit.
  bool is_turn_spent(double share = 1) const {
    return is_reached({.time = time_of_turn(), .to_write = turn_to_write_, .bytes = turn_bytes_},
                      share);
  }

  /// Whether units that have cost so much together have used the given share of a turn.
  bool is_used(const UnitCost& cost, double share) const {
    return is_reached({.time = cost.all_time(), .to_write = cost.to_write, .bytes = cost.bytes},
                      share);
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

  /// How many instances the units of one kind may change in the first turn that has such units.
  /// Their writes may take much longer than those of other kinds, and no turn has measured that
  /// yet. A later turn may change twice as many as the one before, or nearly as many as it might.
  static constexpr size_t kFirstChanges = 64;
  /// The part by which a turn that changes few instances makes that number smaller.
  static constexpr size_t kPartOfMost = 16;

  /// What is known of the instances that the units of one kind change.
  struct KindChanges {
    WorkTime each{};              ///< the time to write one of them; 0: not known
    size_t in_turn = 0;           ///< how many the current turn has changed so far
    size_t most = kFirstChanges;  ///< how many it may change before each counts as a whole unit

    WorkTime each_or(WorkTime time) const { return each == WorkTime(0) ? time : each; }
    /// Takes over the time that a turn needed for each. More time counts sooner than less.
    void learn(WorkTime time) {
      const int64_t part = time > each ? kPartOfSlowerTurn : kPartOfFasterTurn;
      each = each == WorkTime(0) ? time : each + (time - each) / part;
      most = std::max({kFirstChanges, 2 * in_turn, most - most / kPartOfMost});
    }
  };

  /// After how much elapsed time the end of a unit reads the processor time again.
  static constexpr WorkTime kReadEvery = std::chrono::microseconds(500);
  /// A unit or a turn ends after so many times its bound in elapsed time, however little processor
  /// time it had.
  static constexpr int kMostElapsed = 2;
  /// The most time that is expected for one instance, so that a single large one does not make the
  /// next turns small.
  static constexpr WorkTime kLongestWrite = std::chrono::microseconds(200);
  /// The last turn is this part of the expected time for one instance: all of it if it needed more
  /// time, else a sixteenth. So what is expected is the time of the slower turns.
  static constexpr int64_t kPartOfSlowerTurn = 1;
  static constexpr int64_t kPartOfFasterTurn = 16;

  /// Whether the given share of one of the bounds of a turn is reached. The end of the batch is a
  /// unit, so what it writes has the bound of a unit.
  bool is_reached(const UnitCost& cost, double share) const {
    const auto is_over = [share](auto used, auto bound) {
      return static_cast<double>(used) >= share * static_cast<double>(bound);
    };
    return is_over(cost.time.count(), limits_.turn_time.count()) ||
           is_over(cost.to_write.count(), limits_.write_time.count()) ||
           is_over(cost.bytes, limits_.turn_bytes);
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
    to_write_ = {};
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
  std::array<KindChanges, kUnitKinds> changes_{};
  bool has_written_ = false;  ///< the clock has shown that the end of a batch takes time
  size_t turn_bytes_ = 0;
  size_t turn_changes_ = 0;
  WorkTime turn_to_write_{};
  size_t bytes_ = 0;
  WorkTime to_write_{};
  UnitKind kind_ = UnitKind::kOther;
  bool measures_ = false;
};

}  // namespace millrace
