// FairShares: whose work comes next, when work of several namespaces waits for the engine thread.
// Deficit round robin over the namespaces, and within a namespace over its workflows: each in turn
// gets a quantum of time, and what its work takes beyond the quantum is paid in later rounds. So a
// namespace with many or long units of work gets no more time than another one.
//
// The bytes that work writes are charged as the time in which the store can take them. Lanes whose
// units write much share a rate: while they have exceeded it, these lanes wait, but not for ever.
// Pure: the time is an argument. For one thread only.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "model/work_lane.h"

namespace millrace {

class FairShares {
 public:
  using Time = std::chrono::nanoseconds;

  struct Limits {
    Time quantum = std::chrono::milliseconds(1);  ///< of a namespace or a workflow in one round
    size_t burst = size_t{1} << 20;        ///< bytes that may be written at once beyond the rate
    size_t heavy_unit = size_t{16} << 10;  ///< a lane is heavy, and waits for the rate, if its last
                                           ///< units wrote so many bytes on average
    /// One unit of a heavy lane may go on after this time, however far the rate is exceeded.
    Time longest_wait = std::chrono::seconds(1);
  };

  FairShares() : FairShares(Limits()) {}
  explicit FairShares(Limits limits) : limits_(limits) {}

  /// Sets the rate of all heavy lanes together, in bytes per second; not 0. Without a rate, bytes
  /// cost nothing.
  void set_rate(uint64_t bytes_per_second) { rate_ = bytes_per_second; }

  /// The lane has work from now on. No effect if it has work already.
  void add(const WorkLane& lane, Time now);
  /// The lane has no more work. No effect if it has none.
  void remove(const WorkLane& lane, Time now);
  /// The lane has no work for the moment, and add() will be called again soon: it keeps what it
  /// owes until then. No effect if it has none.
  void suspend(const WorkLane& lane, Time now);

  /// The lane whose work comes next. nullopt: no lane has work, or each lane that has work must
  /// wait until next_at().
  std::optional<WorkLane> next(Time now);

  /// Charges the lane with a unit of its work, which has ended now.
  void charge(const WorkLane& lane, Time time, size_t bytes, Time now);

  /// When lanes that wait for the rate may write again.
  Time next_at() const {
    return std::min(writes_from_ - time_for(limits_.burst), waited_until_ + limits_.longest_wait);
  }

 private:
  struct Account {
    Time balance{0};  ///< what is left of the quantum; negative: to be paid in later rounds
    bool has_work = false;
    Time idle_since{0};         ///< while it has no work
    bool is_suspended = false;  ///< it has no work, and the time does not pay what it owes
  };
  struct LaneAccount : Account {
    size_t unit_bytes = 0;  ///< what a unit of the lane writes: an average of its last units
  };
  struct SpaceAccount : Account {
    std::deque<WorkflowNumber> ring;  ///< the workflows with work, the next one first
    bool all_wait = false;  ///< all of them wait for the rate, unless it allows writes now
  };

  Time time_for(size_t bytes) const;
  bool is_heavy(const LaneAccount& account) const {
    return account.unit_bytes >= limits_.heavy_unit;
  }
  void grant(Account& account) const;
  static void settle(Account& account, Time now);
  void begin(Account& account, Time now) const;
  static void end(Account& account, Time now);
  std::optional<WorkflowNumber> next_of(NamespaceNumber ns, SpaceAccount& space, bool may_write);
  LaneAccount* take_out(const WorkLane& lane, Time now);
  void forget_idle(Time now);

  const Limits limits_;
  uint64_t rate_ = 0;     ///< 0: no limit
  Time writes_from_{0};   ///< the bytes of heavy lanes so far use the rate up to this time
  Time waited_until_{0};  ///< when a lane that had to wait for the rate last ended a unit
  std::deque<NamespaceNumber> ring_;  ///< the namespaces with work, the next one first
  std::map<NamespaceNumber, SpaceAccount> spaces_;
  std::map<WorkLane, LaneAccount> lanes_;
  size_t forget_above_ = 0;  ///< with more accounts, those that may be forgotten are searched for
};

}  // namespace millrace
