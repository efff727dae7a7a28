// WaitIndex: the listeners of starts and of waiting instances, and all timers, in memory. The index
// is a cache of the store: it is built from the heads at startup, and updated with each instance
// that a batch changes. Engine thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/attributes.h"
#include "base/batch_notes.h"
#include "base/result.h"
#include "base/sharded_table.h"
#include "base/time.h"
#include "matchers/listener_index.h"
#include "matchers/match_budget.h"
#include "model/definition.h"
#include "model/instance.h"
#include "orchestrator/memory/due_queues.h"
#include "orchestrator/memory/due_timer.h"
#include "orchestrator/timers/wheel.h"

namespace millrace {

/// A start that an event matches, with the entries of the start that match (ascending).
struct StartTarget {
  WorkflowNumber workflow{};
  std::vector<size_t> entries;
};
/// A waiting instance that an event matches.
struct InstanceTarget {
  NamespaceNumber ns{};
  InstanceId instance;
  Revision revision;
  std::vector<size_t> entries;
};
/// All targets of one event, in a fixed order: starts by number, then instances by id.
struct Targets {
  std::vector<StartTarget> starts;
  std::vector<InstanceTarget> instances;
  /// The starts and the instances for which the match of some entry is undecided
  /// (matchers/match_budget.h). They are not in the lists above, whatever their other entries are.
  std::vector<WorkflowNumber> undecided_starts;
  std::vector<InstanceId> undecided_instances;

  bool empty() const {
    return starts.empty() && instances.empty() && undecided_starts.empty() &&
           undecided_instances.empty();
  }
};

/// The listeners that an event of some type may nearly match.
struct NearListeners {
  size_t of = 0;                      ///< the listeners of the type in the namespace
  std::vector<InstanceId> instances;  ///< waiting instances that the probes found, each once
  bool is_complete = true;            ///< the steps were enough for all probes
};

/// The waiting instances that ask for a value of an attribute.
struct AskingInstances {
  std::vector<InstanceId> ids;  ///< ascending, each once
  bool is_complete = true;      ///< these are all of them
};

class WaitIndex {
 public:
  explicit WaitIndex(const BatchCount& batches) : changes_(batches) {}
  WaitIndex(const WaitIndex&) = delete;
  WaitIndex& operator=(const WaitIndex&) = delete;

  /// Forgets everything.
  void clear();

  /// Replaces the listeners of the workflow's start; an empty list removes them. Error
  /// `store.corrupt` if a listener cannot be added: then the start has no listeners.
  Status set_start(std::string_view ns_name, WorkflowNumber workflow,
                   const std::vector<StartEvent>& events);

  /// Reserves memory for that many waiting instances, which is faster than growing.
  void reserve(size_t instances) { slots_.reserve(instances); }

  /// Updates the listeners and timers of the instance from its head. An instance that
  /// takes_early_events() does not listen for others yet. Error `store.corrupt` if a listener
  /// cannot be added: then the instance has no listeners and no timers.
  Status update(std::string_view ns_name, const Instance& head);

  void arm_delayed(uint64_t number, TimePoint at);
  void arm_grouped(uint64_t number, TimePoint expires);
  /// Arms the timer of a schedule for `tick`, in place of its earlier timer.
  void arm_schedule(WorkflowNumber workflow, TimePoint tick);
  /// Arms the one timer of all pending starts, in place of its earlier deadline.
  void arm_starts(TimePoint at);
  /// Arms the one timer of all throttles for which starts wait, in place of its earlier deadline.
  void arm_throttle(TimePoint at);
  /// Likewise the one timer of all calls that wait for a throttle.
  void arm_call_throttle(TimePoint at);
  /// Each disarm function removes a timer before it fires, and does nothing if the timer is not
  /// armed.
  void disarm_delayed(uint64_t number);
  void disarm_grouped(uint64_t number);
  void disarm_schedule(WorkflowNumber workflow);
  void disarm_starts();
  void disarm_throttle();
  void disarm_call_throttle();

  /// Whether the instance listens for events.
  bool listens(const InstanceId& instance) const;
  /// The revision of a waiting instance; one with the number 0: it does not wait.
  Revision revision_of(const InstanceId& instance) const;

  /// The changes of the current batch: instances whose listeners or timers changed or whose timers
  /// fired, and the workflows, delayed events and grouped events whose timers changed or fired.
  struct Changes {
    std::vector<std::pair<NamespaceNumber, InstanceId>> instances;
    std::vector<WorkflowNumber> workflows;
    std::vector<uint64_t> delayed;
    std::vector<uint64_t> grouped;
    bool has_starts = false;  ///< the timer of the pending starts has changed or fired
  };
  /// Returns the changes of a batch that was lost; the caller must restore each of them from its
  /// rows.
  Changes undo() { return changes_.take(); }

  /// The starts and instances that the event matches, as far as `budget` suffices to decide it.
  Targets match(std::string_view ns_name, const Attributes& event,
                const MatchBudget& budget = {}) const;

  /// The waiting instances that listen for the type and are filed under one of these values
  /// (ListenerIndex::find_filed), with at most `steps` steps.
  NearListeners near(std::string_view ns_name, std::string_view type,
                     const std::vector<ListenerIndex::Probe>& probes, size_t steps) const;

  /// The waiting instances with a predicate that holds for the value (ListenerIndex::find_asking),
  /// with at most `steps` steps. An empty type: of all types.
  AskingInstances asking(std::string_view ns_name, std::string_view type,
                         const ListenerIndex::Probe& probe, size_t steps) const;

  /// Appends timers with a deadline <= now to `due`: at most `most`, in the order (deadline,
  /// owner). If more are due, they wait in queues, and those of different namespaces and workflows
  /// come in turns (due_queues.h); those of one workflow come in the order that Wheel::advance()
  /// promises.
  /// A timer in a queue stays there if it is disarmed, and is returned. Returns whether no due
  /// timer is left.
  bool advance(TimePoint now, std::vector<TimerInput>& due, size_t most = Wheel::kAll);
  /// When advance() must be called next, or a little earlier; nullopt: no timer is armed. Not after
  /// `now` if the last advance(now) left timers that are due.
  std::optional<TimePoint> next_deadline() const;

  /// Continues a walk through the timers of the wheel by at most `most` steps (Wheel::walk), and
  /// appends to `seen` those of the instances of the namespace, and those of delayed and grouped
  /// events, whose namespace is not known here. Due timers that wait in queues are not in the
  /// wheel. Returns how many steps were made.
  size_t walk_timers(NamespaceNumber ns, Wheel::Walk& walk, size_t most,
                     std::vector<TimerInput>& seen) const;

  size_t listeners() const { return index_->size(); }
  size_t timers() const { return wheel_.size() + queued_; }
  uint64_t patterns_over_limit() const { return index_->over_limit(); }

 private:
  static constexpr ListenerIndex::Handle kNoListener{UINT32_MAX};
  using TimerOwner = decltype(TimerInput::owner);

  /// A waiting instance. Most waiters have one listener and one timer; any further listeners and
  /// timers are in more_.
  struct Waiter {
    InstanceId id;
    NamespaceNumber ns{};
    Revision revision;
    ListenerIndex::Handle listener = kNoListener;
    Wheel::Handle timer;
  };
  static_assert(sizeof(Waiter) == 40);
  struct More {
    std::vector<ListenerIndex::Handle> listeners;
    std::vector<Wheel::Handle> timers;
  };

  /// Lets slots_ look up a waiter by the id of its instance while it stores only slot numbers of
  /// four bytes.
  struct IdOfSlot {
    using is_transparent = void;
    const std::deque<Waiter>* waiters;

    const InstanceId& id(uint32_t slot) const { return (*waiters)[slot].id; }
    const InstanceId& id(const InstanceId& one) const { return one; }
  };
  struct HashSlot : IdOfSlot {
    size_t operator()(const auto& one) const { return std::hash<InstanceId>{}(id(one)); }
  };
  struct SameSlot : IdOfSlot {
    bool operator()(const auto& a, const auto& b) const { return id(a) == id(b); }
  };
  using SlotSet = boost::unordered_flat_set<uint32_t, HashSlot, SameSlot>;

  /// A due timer that has left the wheel, and what its place among others depends on. Slot numbers
  /// depend on which instances waited before, so timers of instances are in the order of their ids.
  struct Placed {
    TimePoint deadline;
    uint64_t kind = 0;     ///< of the key
    NamespaceNumber ns{};  ///< of an instance
    InstanceId id;         ///< of an instance
    TimerKey key = 0;

    auto operator<=>(const Placed&) const = default;
  };

  uint32_t slot_of(const Instance& head);
  Status listen(std::string_view ns_name, const Instance& head, uint32_t slot);
  void release(uint32_t slot);
  More& more_of(uint32_t slot);
  void forget(const InstanceId& instance);
  void note(const TimerOwner& owner);
  void arm_numbered(TimerKey key, TimePoint deadline);
  void disarm_numbered(TimerKey key);
  TimerOwner owner_of(TimerKey key) const;
  std::vector<InstanceId> instances_of(const std::vector<uint64_t>& targets) const;

  BatchNotes<Changes> changes_;
  std::unique_ptr<ListenerIndex> index_ = std::make_unique<ListenerIndex>();
  Wheel wheel_;
  DueQueues queues_;            ///< due timers that have left the wheel
  size_t queued_ = 0;           ///< their number
  std::deque<Waiter> waiters_;  // a vector would hold all waiters twice while it grows
  std::vector<uint32_t> free_;
  ShardedTable<boost::unordered_flat_map<uint32_t, More>> more_;  // by slot
  ShardedTable<SlotSet> slots_{SlotSet(0, HashSlot{{&waiters_}}, SameSlot{{&waiters_}})};
  boost::unordered_flat_map<uint32_t, std::vector<ListenerIndex::Handle>> starts_;
  ShardedTable<boost::unordered_flat_map<TimerKey, Wheel::Handle>> numbered_;
  // Members to reuse their capacity.
  mutable std::vector<uint64_t> matched_;
  mutable std::vector<uint64_t> undecided_;
  std::vector<Due> due_;
  std::vector<Placed> placed_;
};

}  // namespace millrace
