#include "orchestrator/runtime/waiting.h"

#include <algorithm>

#include "base/check.h"

namespace millrace {
namespace {

// A listener's target in the index is one number: what it belongs to (a workflow's number or a
// waiter's slot), whether that is an instance, and which entry of it. Sorted, they come out by
// owner and then by entry.
constexpr uint64_t kInstanceBit = uint64_t{1} << 63;
constexpr uint32_t kEntryBits = 16;
constexpr uint64_t kEntryMask = (uint64_t{1} << kEntryBits) - 1;
constexpr uint64_t kOwnerMask = (kInstanceBit >> kEntryBits) - 1;

uint64_t target(uint32_t owner, size_t entry) {
  CHECK(entry <= kEntryMask);
  return uint64_t{owner} << kEntryBits | entry;
}

// The kinds of timers in the wheel; those of instances are 16 and the TimerKind.
constexpr uint8_t kDelayedTimer = 1;
constexpr uint8_t kGroupedTimer = 2;
constexpr uint8_t kScheduleTimer = 3;
constexpr uint8_t kInstanceTimer = 16;

TimerKey numbered(uint8_t kind, uint64_t number) {
  TimerKey key{.kind = kind};
  for (size_t i = 0; i < 8; ++i) key.id[i] = static_cast<uint8_t>(number >> (56 - 8 * i));
  return key;
}

uint64_t number_of(const TimerKey& key) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i) number = number << 8 | key.id[i];
  return number;
}

TimerKey schedule(WorkflowNumber workflow) {
  return numbered(kScheduleTimer, static_cast<uint64_t>(workflow));
}

/// Numbers of all three kinds in one map.
uint64_t map_key(const TimerKey& key) { return number_of(key) << 2 | key.kind; }

decltype(TimerInput::owner) owner_of(const TimerKey& key) {
  if (key.kind == kDelayedTimer) return TimerInput::OfDelayedEvent{number_of(key)};
  if (key.kind == kGroupedTimer) return TimerInput::OfGroupedEvent{number_of(key)};
  if (key.kind == kScheduleTimer) return TimerInput::OfSchedule{WorkflowNumber(number_of(key))};
  return TimerInput::OfInstance{.space = NamespaceNumber(key.space),
                                .instance = {key.id},
                                .kind = TimerKind(key.kind - kInstanceTimer)};
}

}  // namespace

void Waiting::clear() {
  index_ = std::make_unique<ListenerIndex>();
  wheel_ = Wheel();
  slots_.clear();
  waiters_.clear();
  free_.clear();
  more_.clear();
  starts_.clear();
  numbered_.clear();
}

void Waiting::set_start(std::string_view space_name, WorkflowNumber workflow,
                        const std::vector<StartEvent>& events) {
  auto& handles = starts_[static_cast<uint32_t>(workflow)];
  for (const auto handle : handles) index_->remove(handle);
  handles.clear();
  for (size_t entry = 0; entry < events.size(); ++entry) {
    auto handle = index_->add(space_name, events[entry].filter,
                              target(static_cast<uint32_t>(workflow), entry));
    CHECK(handle.has_value(), "a start's pattern was checked at load: {}", handle.error().message);
    handles.push_back(*handle);
  }
}

uint32_t Waiting::slot_of(const Instance& head) {
  if (const auto found = slots_.find(head.id); found != slots_.end()) return *found;
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(waiters_.size()));
    waiters_.emplace_back();
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  waiters_[slot].id = head.id;
  waiters_[slot].space = head.space;
  slots_.insert(slot);
  return slot;
}

/// Ends all that it listens and waits for.
void Waiting::release(uint32_t slot) {
  Waiter& waiter = waiters_[slot];
  if (waiter.listener != kNoListener) index_->remove(waiter.listener);
  wheel_.cancel(waiter.timer);
  waiter.listener = kNoListener;
  waiter.timer = {};
  const auto more = more_.find(slot);
  if (more == more_.end()) return;
  for (const auto handle : more->second.listeners) index_->remove(handle);
  for (const auto handle : more->second.timers) wheel_.cancel(handle);
  more_.erase(more);
}

void Waiting::update(std::string_view space_name, const Instance& head) {
  if (head.listeners.empty() && head.timers.empty()) {
    const auto found = slots_.find(head.id);
    if (found == slots_.end()) return;
    const uint32_t slot = *found;
    release(slot);
    slots_.erase(found);
    waiters_[slot] = {};
    free_.push_back(slot);
    return;
  }
  const uint32_t slot = slot_of(head);
  release(slot);
  Waiter& waiter = waiters_[slot];
  for (const Listener& listener : head.listeners) {
    const auto handle =
        index_->add(space_name, listener.filter, kInstanceBit | target(slot, listener.entry));
    CHECK(handle.has_value(), "a listener's pattern was checked before it was written: {}",
          handle.error().message);
    if (waiter.listener == kNoListener) {
      waiter.listener = *handle;
    } else {
      more_[slot].listeners.push_back(*handle);
    }
  }
  for (const Timer& timer : head.timers) {
    const auto handle =
        wheel_.arm(timer.deadline,
                   {.kind = static_cast<uint8_t>(kInstanceTimer + static_cast<uint8_t>(timer.kind)),
                    .space = static_cast<uint32_t>(head.space),
                    .id = head.id.bytes});
    if (waiter.timer == Wheel::Handle{}) {
      waiter.timer = handle;
    } else {
      more_[slot].timers.push_back(handle);
    }
  }
}

void Waiting::arm_numbered(const TimerKey& key, TimePoint deadline) {
  disarm_numbered(key);
  numbered_.emplace(map_key(key), wheel_.arm(deadline, key));
}

void Waiting::disarm_numbered(const TimerKey& key) {
  const auto found = numbered_.find(map_key(key));
  if (found == numbered_.end()) return;
  wheel_.cancel(found->second);
  numbered_.erase(found);
}

void Waiting::arm_delayed(uint64_t number, TimePoint at) {
  arm_numbered(numbered(kDelayedTimer, number), at);
}
void Waiting::arm_grouped(uint64_t number, TimePoint expires) {
  arm_numbered(numbered(kGroupedTimer, number), expires);
}
void Waiting::arm_schedule(WorkflowNumber workflow, TimePoint tick) {
  arm_numbered(schedule(workflow), tick);
}
void Waiting::disarm_delayed(uint64_t number) { disarm_numbered(numbered(kDelayedTimer, number)); }
void Waiting::disarm_grouped(uint64_t number) { disarm_numbered(numbered(kGroupedTimer, number)); }

void Waiting::disarm_schedule(WorkflowNumber workflow) { disarm_numbered(schedule(workflow)); }

Targets Waiting::match(std::string_view space_name, const Attributes& event) {
  index_->match(space_name, event, matched_);
  Targets targets;
  uint64_t last_owner = 0;
  bool first = true;
  for (const uint64_t one : matched_) {
    const uint64_t owner = one >> kEntryBits;
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
        targets.instances.push_back({.space = waiter.space, .instance = waiter.id});
      }
      targets.instances.back().entries.push_back(entry);
    }
  }
  std::sort(targets.instances.begin(), targets.instances.end(),
            [](const auto& a, const auto& b) { return a.instance < b.instance; });
  return targets;
}

void Waiting::advance(TimePoint now, std::vector<TimerInput>& due) {
  due_.clear();
  wheel_.advance(now, due_);
  for (const auto& [deadline, key] : due_) {
    if (key.kind < kInstanceTimer) numbered_.erase(map_key(key));
    due.push_back({deadline, owner_of(key)});
  }
}

}  // namespace millrace
