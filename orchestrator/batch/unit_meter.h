// UnitMeter: measures the units of work on the engine thread. A unit is the application of one
// input, of one instance message, of one target of a fan-out, or one portion of a longer work. The
// meter says when a unit must end and when a turn must end, so that no work delays other work for
// long, and it measures what each unit costs. The end of a batch writes the instances that its
// units have changed; the meter bounds that time as well, by what earlier batches needed for each.
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
  WorkTime unit_time = std::chrono::milliseconds(2);
  size_t unit_bytes = size_t{256} << 10;
  WorkTime turn_time = std::chrono::milliseconds(5);
  size_t turn_bytes = size_t{1} << 20;
};

/// What a unit has cost.
struct UnitCost {
  WorkTime time{};
  size_t bytes = 0;  ///< bytes that the unit writes into the store
};

class UnitMeter final : public WorkBudget {
 public:
  explicit UnitMeter(const Clock& clock, UnitLimits limits = {}) : clock_(clock), limits_(limits) {}

  const UnitLimits& limits() const { return limits_; }

  /// Begins a turn, and its first unit.
  void begin_turn() {
    turn_began_ = clock_.precise();
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
  /// units is measured, too.
  UnitCost end() {
    const WorkTime now = clock_.precise();
    const UnitCost cost{now - began_, bytes_};
    WorkTime& longest = longest_[static_cast<size_t>(kind_)];
    longest = std::max(longest, cost.time);
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
    return measures_ &&
           (bytes_ + bytes >= limits_.unit_bytes || time_to_write(changes_) >= limits_.unit_time ||
            clock_.precise() - began_ >= limits_.unit_time);
  }

  /// Whether the turn has used the given share of its bounds, as it was at the end of its last
  /// unit.
  bool is_turn_spent(double share = 1) const {
    const WorkTime time = std::max(began_ - turn_began_, time_to_write(turn_changes_));
    return static_cast<double>(time.count()) >=
               share * static_cast<double>(limits_.turn_time.count()) ||
           static_cast<double>(turn_bytes_) >= share * static_cast<double>(limits_.turn_bytes);
  }

  /// The end of the last unit, as Clock::precise().
  WorkTime now() const { return began_; }

  /// The time of the longest unit of each kind since the last call; 0: there was none.
  std::array<WorkTime, kUnitKinds> take_longest() { return std::exchange(longest_, {}); }

 private:
  /// The most time that is expected for one instance, so that a single large one does not make the
  /// next turns small.
  static constexpr WorkTime kLongestWrite = std::chrono::microseconds(200);
  /// The last turn is this part of the average time for one instance: a fourth.
  static constexpr int kPartOfLastTurn = 4;

  /// How long the end of the batch needs to write so many instances.
  WorkTime time_to_write(size_t changes) const {
    return per_change_ * static_cast<int64_t>(changes);
  }

  void begin_at(WorkTime now) {
    began_ = now;
    bytes_ = 0;
    changes_ = 0;
    kind_ = UnitKind::kOther;
  }

  const Clock& clock_;
  const UnitLimits limits_;
  WorkTime turn_began_{};
  WorkTime began_{};
  std::array<WorkTime, kUnitKinds> longest_{};
  WorkTime per_change_{};  ///< the time that the end of a batch needed for each changed instance
  size_t turn_bytes_ = 0;
  size_t turn_changes_ = 0;
  size_t bytes_ = 0;
  size_t changes_ = 0;
  UnitKind kind_ = UnitKind::kOther;
  bool measures_ = false;
};

}  // namespace millrace
