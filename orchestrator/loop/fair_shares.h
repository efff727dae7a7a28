// FairShares: whose work comes next, when work of several namespaces waits for the engine thread.
// Deficit round robin over the namespaces, and within a namespace over its workflows: each in turn
// gets a quantum of time, and what its work takes beyond the quantum is paid in later rounds. So a
// namespace with many or long units of work gets no more time than another one.
//
// A namespace or a workflow is sparse if it has used less than half of its share of what all have
// used. When work of it comes, it has one quantum before all that are not sparse, as new flows have
// in fq_codel. So a single unit of work does not wait for a round of the others, which is as long
// as they are many.
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
    /// What heavy lanes have written beyond the rate is paid in this time, however much it is.
    Time longest_debt = std::chrono::seconds(10);
  };

  FairShares() : FairShares(Limits()) {}
  explicit FairShares(Limits limits) : limits_(limits) {}

  /// Sets the rate of all heavy lanes together, in bytes per second; not 0. Without a rate, bytes
  /// cost nothing.
  void set_rate(uint64_t bytes_per_second) { rate_ = bytes_per_second; }
  /// Sets a lower rate at which heavy lanes write for the present; 0: there is none.
  void set_heavy_rate(uint64_t bytes_per_second) { heavy_rate_ = bytes_per_second; }

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

  /// Whether the lane that next() has just returned is one of a sparse namespace.
  bool is_next_sparse() const { return !ring_.sparse.empty(); }

  /// Charges the lane with a unit of its work, which has ended now.
  void charge(const WorkLane& lane, Time time, size_t bytes, Time now);

  /// When lanes that wait for the rate may write again.
  Time next_at() const {
    return std::min(writes_from_ - time_for(limits_.burst, rate_),
                    waited_until_ + limits_.longest_wait);
  }

 private:
  struct Account {
    Time balance{0};  ///< what is left of the quantum; negative: to be paid in later rounds
    Time used{0};     ///< beyond half of its share, when all had used used_at
    Time used_at{0};
    bool has_work = false;
    Time idle_since{0};         ///< while it has no work
    bool is_suspended = false;  ///< it has no work, and the time does not pay what it owes
  };
  struct LaneAccount : Account {
    size_t unit_bytes = 0;  ///< what a unit of the lane writes: an average of its last units
  };
  /// Those that have work.
  template <class Key>
  struct Ring {
    std::deque<Key> sparse;  ///< these come first, in their order
    std::deque<Key> others;  ///< the next one first

    bool empty() const { return sparse.empty() && others.empty(); }
    size_t size() const { return sparse.size() + others.size(); }
    const Key& front() const { return sparse.empty() ? others.front() : sparse.front(); }
    /// Among how many the time is shared: the largest size lately, because those whose work ends in
    /// each turn and begins again in the next one share it, too.
    size_t sharers = 1;
    uint32_t below = 0;  ///< units in a row at which the size was below `sharers`
    void note_size();
    /// Moves the first one behind all others.
    void rotate();
    void remove(const Key& one);
  };
  struct SpaceAccount : Account {
    Ring<WorkflowNumber> ring;
    Time used_by_all{0};    ///< by its workflows
    bool all_wait = false;  ///< all of them wait for the rate, unless it allows writes now
  };

  static Time time_for(size_t bytes, uint64_t rate);
  bool is_heavy(const LaneAccount& account) const {
    return account.unit_bytes >= limits_.heavy_unit;
  }
  void grant(Account& account) const;
  static void settle(Account& account, Time now);
  static Time used(const Account& account, Time by_all, size_t sharers);
  void take(Account& account, Time cost, Time by_all, size_t sharers, Time now) const;
  template <class Key>
  void put(Account& account, Time by_all, Ring<Key>& ring, const Key& key) const;
  void begin(Account& account, Time now) const;
  static void end(Account& account, Time now);
  std::optional<WorkflowNumber> next_of(NamespaceNumber ns, SpaceAccount& space, bool may_write);
  LaneAccount* take_out(const WorkLane& lane, Time now);
  void forget_idle(Time now);

  const Limits limits_;
  uint64_t rate_ = 0;  ///< 0: no limit
  uint64_t heavy_rate_ = 0;
  Time writes_from_{0};   ///< the bytes of heavy lanes so far use the rate up to this time
  Time waited_until_{0};  ///< when a lane that had to wait for the rate last ended a unit
  Time used_by_all_{0};   ///< by all namespaces
  Ring<NamespaceNumber> ring_;
  std::map<NamespaceNumber, SpaceAccount> spaces_;
  std::map<WorkLane, LaneAccount> lanes_;
  size_t forget_above_ = 0;  ///< with more accounts, those that may be forgotten are searched for
};

}  // namespace millrace
