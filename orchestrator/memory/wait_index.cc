#include "orchestrator/memory/wait_index.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {
namespace {

// The target of a listener in the index is one number of three parts: whether the owner is an
// instance, the owner (a workflow's number or a waiter's slot), and the entry. Sorted, targets are
// ordered by owner and then by entry.
constexpr uint64_t kInstanceBit = uint64_t{1} << 63;
constexpr uint32_t kEntryBits = 16;
constexpr uint64_t kEntryMask = (uint64_t{1} << kEntryBits) - 1;
constexpr uint64_t kOwnerMask = (kInstanceBit >> kEntryBits) - 1;

Result<uint64_t> target(uint32_t owner, size_t entry) {
  if (entry <= kEntryMask) return uint64_t{owner} << kEntryBits | entry;
  return fail("store.corrupt",
              fmt::format("event number {} is above the maximum of {}", entry, kEntryMask));
}

// The key of a timer in the wheel: the kind, then a number. For a timer of an instance, the kind is
// 16 plus the TimerKind, and the number is the index of the instance in `waiters_`.
constexpr uint64_t kDelayedTimer = 1;
constexpr uint64_t kGroupedTimer = 2;
constexpr uint64_t kScheduleTimer = 3;
constexpr uint64_t kStartsTimer = 4;
constexpr uint64_t kThrottleTimer = 5;
constexpr uint64_t kCallThrottleTimer = 6;
constexpr uint64_t kInstanceTimer = 16;
constexpr int kNumberBits = 56;

TimerKey key_of(uint64_t kind, uint64_t number) { return kind << kNumberBits | number; }
uint64_t kind_of(TimerKey key) { return key >> kNumberBits; }
uint64_t number_of(TimerKey key) { return key & ((uint64_t{1} << kNumberBits) - 1); }

/// How many due timers leave the wheel in one call: more than a call returns, so that the timers of
/// all workflows are soon in their queues.
constexpr size_t kQueuedAtOnce = 512;

TimerKey schedule(WorkflowNumber workflow) {
  return key_of(kScheduleTimer, static_cast<uint64_t>(workflow));
}

}  // namespace

void WaitIndex::clear() {
  changes_.take();
  index_ = std::make_unique<ListenerIndex>();
  wheel_ = Wheel();
  queues_ = DueQueues();
  queued_ = 0;
  slots_.clear();
  waiters_.clear();
  free_.clear();
  more_.clear();
  starts_.clear();
  numbered_.clear();
}

Status WaitIndex::set_start(std::string_view ns_name, WorkflowNumber workflow,
                            const std::vector<StartEvent>& events) {
  if (Changes* const changes = changes_.now()) changes->workflows.push_back(workflow);
  auto& handles = starts_[static_cast<uint32_t>(workflow)];
  for (const auto handle : handles) index_->remove(handle);
  handles.clear();
  for (size_t entry = 0; entry < events.size(); ++entry) {
    const auto whose = target(static_cast<uint32_t>(workflow), entry);
    auto handle =
        whose ? index_->add(ns_name, events[entry].filter, *whose) : tl::unexpected(whose.error());
    if (!handle) {
      for (const auto added : handles) index_->remove(added);
      handles.clear();
      return fail("store.corrupt",
                  fmt::format("the start of workflow {} cannot listen for its event {}: {}",
                              static_cast<uint32_t>(workflow), entry, handle.error().message));
    }
    handles.push_back(*handle);
  }
  return {};
}

uint32_t WaitIndex::slot_of(const Instance& head) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(waiters_.size()));
    waiters_.emplace_back();
  }
  const uint32_t slot = free_.back();
  waiters_[slot].id = head.id;
  const auto [place, is_new] = slots_.insert(slot);
  if (!is_new) return *place;
  free_.pop_back();
  waiters_[slot].ns = head.ns;
  waiters_[slot].revision = head.revision;
  return slot;
}

/// Removes all listeners and timers of the waiter.
void WaitIndex::release(uint32_t slot) {
  Waiter& waiter = waiters_[slot];
  if (waiter.listener != kNoListener) index_->remove(waiter.listener);
  wheel_.cancel(waiter.timer);
  waiter.listener = kNoListener;
  waiter.timer = {};
  const auto* const more = more_.find(slot);
  if (more == nullptr) return;
  for (const auto handle : more->second.listeners) index_->remove(handle);
  for (const auto handle : more->second.timers) wheel_.cancel(handle);
  more_.erase(slot);
}

/// The further listeners and timers of the waiter.
WaitIndex::More& WaitIndex::more_of(uint32_t slot) {
  if (auto* const known = more_.find(slot)) return known->second;
  return more_.set(slot, More()).first->second;
}

void WaitIndex::forget(const InstanceId& instance) {
  const uint32_t* const found = slots_.find(instance);
  if (found == nullptr) return;
  const uint32_t slot = *found;
  release(slot);
  slots_.erase(instance);
  waiters_[slot] = {};
  free_.push_back(slot);
}

Status WaitIndex::update(std::string_view ns_name, const Instance& head) {
  if (Changes* const changes = changes_.now()) changes->instances.emplace_back(head.ns, head.id);
  const bool listens = !head.listeners.empty() && !takes_early_events(head);
  if (!listens && head.timers.empty()) {
    forget(head.id);
    return {};
  }
  const uint32_t slot = slot_of(head);
  release(slot);
  if (const Status added = listens ? listen(ns_name, head, slot) : Status(); !added) {
    forget(head.id);
    return fail("store.corrupt", fmt::format("instance {} cannot listen: {}", to_string(head.id),
                                             added.error().message));
  }
  Waiter& waiter = waiters_[slot];
  for (const Timer& timer : head.timers) {
    const auto handle = wheel_.arm(
        timer.deadline, key_of(kInstanceTimer + static_cast<uint64_t>(timer.kind), slot));
    if (waiter.timer == Wheel::Handle{}) {
      waiter.timer = handle;
    } else {
      more_of(slot).timers.push_back(handle);
    }
  }
  return {};
}

Status WaitIndex::listen(std::string_view ns_name, const Instance& head, uint32_t slot) {
  Waiter& waiter = waiters_[slot];
  for (const Listener& listener : head.listeners) {
    const uint64_t whose = TRY(target(slot, listener.entry));
    const auto handle = TRY(index_->add(ns_name, listener.filter, kInstanceBit | whose));
    if (waiter.listener == kNoListener) {
      waiter.listener = handle;
    } else {
      more_of(slot).listeners.push_back(handle);
    }
  }
  return {};
}

void WaitIndex::note(const TimerOwner& owner) {
  Changes* const changes = changes_.now();
  if (changes == nullptr) return;
  if (const auto* const instance = std::get_if<TimerInput::OfInstance>(&owner)) {
    changes->instances.emplace_back(instance->ns, instance->instance);
  } else if (const auto* const delayed = std::get_if<TimerInput::OfDelayedEvent>(&owner)) {
    changes->delayed.push_back(delayed->number);
  } else if (const auto* const grouped = std::get_if<TimerInput::OfGroupedEvent>(&owner)) {
    changes->grouped.push_back(grouped->number);
  } else if (std::holds_alternative<TimerInput::OfPendingStarts>(owner)) {
    changes->has_starts = true;
  } else if (const auto* const tick = std::get_if<TimerInput::OfSchedule>(&owner)) {
    changes->workflows.push_back(tick->workflow);
  }
  // The StartQueues and the CallQueues arm those of the throttles again when they load().
}

void WaitIndex::arm_numbered(TimerKey key, TimePoint deadline) {
  disarm_numbered(key);
  note(owner_of(key));
  numbered_.set(key, wheel_.arm(deadline, key));
}

void WaitIndex::disarm_numbered(TimerKey key) {
  const auto* const found = numbered_.find(key);
  if (found == nullptr) return;
  note(owner_of(key));
  wheel_.cancel(found->second);
  numbered_.erase(key);
}

void WaitIndex::arm_delayed(uint64_t number, TimePoint at) {
  arm_numbered(key_of(kDelayedTimer, number), at);
}
void WaitIndex::arm_grouped(uint64_t number, TimePoint expires) {
  arm_numbered(key_of(kGroupedTimer, number), expires);
}
void WaitIndex::arm_schedule(WorkflowNumber workflow, TimePoint tick) {
  arm_numbered(schedule(workflow), tick);
}
void WaitIndex::arm_starts(TimePoint at) { arm_numbered(key_of(kStartsTimer, 0), at); }
void WaitIndex::disarm_starts() { disarm_numbered(key_of(kStartsTimer, 0)); }
void WaitIndex::arm_throttle(TimePoint at) { arm_numbered(key_of(kThrottleTimer, 0), at); }
void WaitIndex::disarm_throttle() { disarm_numbered(key_of(kThrottleTimer, 0)); }
void WaitIndex::arm_call_throttle(TimePoint at) { arm_numbered(key_of(kCallThrottleTimer, 0), at); }
void WaitIndex::disarm_call_throttle() { disarm_numbered(key_of(kCallThrottleTimer, 0)); }
void WaitIndex::disarm_delayed(uint64_t number) { disarm_numbered(key_of(kDelayedTimer, number)); }
void WaitIndex::disarm_grouped(uint64_t number) { disarm_numbered(key_of(kGroupedTimer, number)); }

void WaitIndex::disarm_schedule(WorkflowNumber workflow) { disarm_numbered(schedule(workflow)); }

bool WaitIndex::listens(const InstanceId& instance) const {
  const uint32_t* const found = slots_.find(instance);
  return found != nullptr && waiters_[*found].listener != kNoListener;
}

Revision WaitIndex::revision_of(const InstanceId& instance) const {
  const uint32_t* const found = slots_.find(instance);
  return found == nullptr ? Revision() : waiters_[*found].revision;
}

Targets WaitIndex::match(std::string_view ns_name, const Attributes& event,
                         const MatchBudget& budget) const {
  index_->match_within(ns_name, event, budget, matched_, undecided_);
  Targets targets;
  for (uint64_t& one : undecided_) one >>= kEntryBits;  // the owners, which stay ascending
  undecided_.erase(std::unique(undecided_.begin(), undecided_.end()), undecided_.end());
  for (const uint64_t owner : undecided_) {
    if ((owner & (kInstanceBit >> kEntryBits)) == 0) {
      targets.undecided_starts.push_back(WorkflowNumber(owner));
    } else {
      targets.undecided_instances.push_back(waiters_[owner & kOwnerMask].id);
    }
  }
  uint64_t last_owner = 0;
  bool first = true;
  for (const uint64_t one : matched_) {
    const uint64_t owner = one >> kEntryBits;
    if (!undecided_.empty() && std::binary_search(undecided_.begin(), undecided_.end(), owner)) {
      continue;
    }
    const size_t entry = one & kEntryMask;
    const bool again = !first && owner == last_owner;
    first = false;
    last_owner = owner;
    if ((one & kInstanceBit) == 0) {
      if (!again) targets.starts.push_back({.workflow = WorkflowNumber(owner)});
      targets.starts.back().entries.push_back(entry);
    } else {
      if (!again) {
        const Waiter& waiter = waiters_[owner & kOwnerMask];
        targets.instances.push_back(
            {.ns = waiter.ns, .instance = waiter.id, .revision = waiter.revision});
      }
      targets.instances.back().entries.push_back(entry);
    }
  }
  std::sort(targets.instances.begin(), targets.instances.end(),
            [](const auto& a, const auto& b) { return a.instance < b.instance; });
  std::sort(targets.undecided_instances.begin(), targets.undecided_instances.end());
  return targets;
}

NearListeners WaitIndex::near(std::string_view ns_name, std::string_view type,
                              const std::vector<ListenerIndex::Probe>& probes, size_t steps) const {
  NearListeners near{.of = index_->count(ns_name, type)};
  std::vector<uint64_t> targets;
  for (const ListenerIndex::Probe& probe : probes) {
    if (steps > 0) --steps;
    index_->find_filed(ns_name, type, probe, steps, targets);
  }
  near.is_complete = steps > 0 || probes.empty();
  near.instances = instances_of(targets);
  return near;
}

AskingInstances WaitIndex::asking(std::string_view ns_name, std::string_view type,
                                  const ListenerIndex::Probe& probe, size_t steps) const {
  std::vector<uint64_t> targets;
  const bool is_complete = index_->find_asking(ns_name, type, probe, steps, targets);
  return {.ids = instances_of(targets), .is_complete = is_complete};
}

/// The instances among the targets, ascending, each once.
std::vector<InstanceId> WaitIndex::instances_of(const std::vector<uint64_t>& targets) const {
  std::vector<InstanceId> ids;
  for (const uint64_t one : targets) {
    if ((one & kInstanceBit) == 0) continue;
    ids.push_back(waiters_[one >> kEntryBits & kOwnerMask].id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

WaitIndex::TimerOwner WaitIndex::owner_of(TimerKey key) const {
  const uint64_t number = number_of(key);
  switch (kind_of(key)) {
    case kDelayedTimer:
      return TimerInput::OfDelayedEvent{number};
    case kGroupedTimer:
      return TimerInput::OfGroupedEvent{number};
    case kScheduleTimer:
      return TimerInput::OfSchedule{WorkflowNumber(number)};
    case kStartsTimer:
      return TimerInput::OfPendingStarts{};
    case kThrottleTimer:
      return TimerInput::OfThrottledStarts{};
    case kCallThrottleTimer:
      return TimerInput::OfThrottledCalls{};
    default:
      return TimerInput::OfInstance{.ns = waiters_[number].ns,
                                    .instance = waiters_[number].id,
                                    .kind = TimerKind(kind_of(key) - kInstanceTimer),
                                    .workflow = waiters_[number].revision.workflow};
  }
}

bool WaitIndex::advance(TimePoint now, std::vector<TimerInput>& due, size_t most) {
  due_.clear();
  const bool is_done = wheel_.advance(now, due_, std::max(most, kQueuedAtOnce));
  // Due timers must come in a reproducible order. Each waiter is looked up once and not in each
  // comparison: hundreds of timers may have one deadline.
  placed_.clear();
  for (const auto& [deadline, key] : due_) {
    Placed& one = placed_.emplace_back();
    one = {.deadline = deadline, .kind = kind_of(key), .ns = {}, .id = {}, .key = key};
    if (one.kind < kInstanceTimer) continue;
    one.ns = waiters_[number_of(key)].ns;
    one.id = waiters_[number_of(key)].id;
  }
  std::sort(placed_.begin(), placed_.end());
  const bool waits = queued_ > 0 || due_.size() > most;
  const size_t already = due.size();
  for (const Placed& one : placed_) {
    if (one.kind < kInstanceTimer) numbered_.erase(one.key);
    const TimerInput timer{one.deadline, owner_of(one.key)};
    if (waits) {
      queues_.put(timer);
    } else {
      due.push_back(timer);
    }
  }
  if (waits) {
    queues_.take(now, due, most);
    queued_ += due_.size();
    queued_ -= due.size() - already;
  }
  for (size_t i = already; i < due.size(); ++i) note(due[i].owner);
  return is_done && queued_ == 0;
}

std::optional<TimePoint> WaitIndex::next_deadline() const {
  const std::optional<TimePoint> armed = wheel_.next();
  if (queued_ == 0) return armed;
  const std::optional<TimePoint> queued = queues_.next();
  if (!armed || !queued) return armed ? armed : queued;
  return std::min(*armed, *queued);
}

size_t WaitIndex::walk_timers(NamespaceNumber ns, Wheel::Walk& walk, size_t most,
                              std::vector<TimerInput>& seen) const {
  std::vector<Due> passed;
  passed.reserve(most);
  const size_t steps = wheel_.walk(walk, most, passed);
  for (const auto& [deadline, key] : passed) {
    const uint64_t kind = kind_of(key);
    const bool is_of_instance = kind >= kInstanceTimer;
    const bool is_of_workflows = kind == kScheduleTimer || kind == kStartsTimer ||
                                 kind == kThrottleTimer || kind == kCallThrottleTimer;
    if (is_of_instance ? waiters_[number_of(key)].ns != ns : is_of_workflows) continue;
    seen.push_back({deadline, owner_of(key)});
  }
  return steps;
}

}  // namespace millrace
