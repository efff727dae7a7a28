// Waiting: memory's picture of who waits for what: the listeners of starts and of waiting
// instances, and every timer. A cache of the store and nothing more: it is built from the heads at
// start-up and kept in step with each instance that a batch changes. Engine thread only.
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
#include "base/time.h"
#include "matchers/listener_index.h"
#include "model/definition.h"
#include "model/instance.h"
#include "orchestrator/memory/due_timer.h"
#include "orchestrator/timers/wheel.h"

namespace millrace {

/// A start that an event matches, with the entries of it that do (ascending).
struct StartTarget {
  WorkflowNumber workflow{};
  std::vector<size_t> entries;
};
/// A waiting instance that an event matches.
struct InstanceTarget {
  NamespaceNumber space{};
  InstanceId instance;
  std::vector<size_t> entries;
};
/// All that one event concerns, in a fixed order: starts by number, then instances by id.
struct Targets {
  std::vector<StartTarget> starts;
  std::vector<InstanceTarget> instances;
};

class Waiting {
 public:
  explicit Waiting(const BatchCount& batches) : changes_(batches) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Forgets everything.
  void clear();

  /// Replaces what the workflow's start listens for; an empty list ends it. Error `store.corrupt`
  /// where one of the events can't be listened for: nothing is then.
  Status set_start(std::string_view space_name, WorkflowNumber workflow,
                   const std::vector<StartEvent>& events);

  /// Makes room for so many instances that wait, which is faster than growing.
  void reserve(size_t instances) { slots_.reserve(instances); }

  /// Brings listeners and timers of the instance in step with its head. Error `store.corrupt` where
  /// one of its listeners can't be: the instance then has neither.
  Status update(std::string_view space_name, const Instance& head);

  void arm_delayed(uint64_t number, TimePoint at);
  void arm_grouped(uint64_t number, TimePoint expires);
  /// In place of the one that is armed.
  void arm_schedule(WorkflowNumber workflow, TimePoint tick);
  /// For what is gone before its time; nothing happens if none is armed.
  void disarm_delayed(uint64_t number);
  void disarm_grouped(uint64_t number);
  void disarm_schedule(WorkflowNumber workflow);

  /// Whether the instance listens for events.
  bool listens(const InstanceId& instance) const;

  /// What the batch in hand has changed: instances whose listeners or timers changed or whose
  /// timers came due, and likewise all else that has a timer here.
  struct Changes {
    std::vector<std::pair<NamespaceNumber, InstanceId>> instances;
    std::vector<WorkflowNumber> workflows;
    std::vector<uint64_t> delayed;
    std::vector<uint64_t> grouped;
  };
  /// It is lost: each of these is to be brought in step with its rows.
  Changes undo() { return changes_.take(); }

  /// All that the event matches.
  Targets match(std::string_view space_name, const Attributes& event) const;

  /// Timers with a deadline <= now, in the order (deadline, owner).
  void advance(TimePoint now, std::vector<TimerInput>& due);
  /// When to advance next, or a little earlier.
  std::optional<TimePoint> next_deadline() const { return wheel_.next(); }

  size_t listeners() const { return index_->size(); }
  size_t timers() const { return wheel_.size(); }
  uint64_t patterns_over_limit() const { return index_->over_limit(); }

 private:
  static constexpr ListenerIndex::Handle kNoListener{UINT32_MAX};

  /// What is kept of an instance that waits. Most have one listener and one timer; what others have
  /// besides stands in more_.
  struct Waiter {
    InstanceId id;
    NamespaceNumber space{};
    ListenerIndex::Handle listener = kNoListener;
    Wheel::Handle timer;
  };
  static_assert(sizeof(Waiter) == 32);
  struct More {
    std::vector<ListenerIndex::Handle> listeners;
    std::vector<Wheel::Handle> timers;
  };

  /// Waiters by the id of their instance, as numbers of four bytes.
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

  uint32_t slot_of(const Instance& head);
  Status listen(std::string_view space_name, const Instance& head, uint32_t slot);
  void release(uint32_t slot);
  void forget(const InstanceId& instance);
  void note(TimerKey key);
  void arm_numbered(TimerKey key, TimePoint deadline);
  void disarm_numbered(TimerKey key);
  decltype(TimerInput::owner) owner_of(TimerKey key) const;

  BatchNotes<Changes> changes_;
  std::unique_ptr<ListenerIndex> index_ = std::make_unique<ListenerIndex>();
  Wheel wheel_;
  std::deque<Waiter> waiters_;  // a vector that grows would hold them twice
  std::vector<uint32_t> free_;
  boost::unordered_flat_map<uint32_t, More> more_;  // by slot
  boost::unordered_flat_set<uint32_t, HashSlot, SameSlot> slots_{0, HashSlot{{&waiters_}},
                                                                 SameSlot{{&waiters_}}};
  boost::unordered_flat_map<uint32_t, std::vector<ListenerIndex::Handle>> starts_;
  boost::unordered_flat_map<TimerKey, Wheel::Handle> numbered_;
  mutable std::vector<uint64_t> matched_;  // kept for its capacity
  std::vector<Due> due_;
};

}  // namespace millrace
