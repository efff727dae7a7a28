#include "orchestrator/batch/slots.h"

#include <array>
#include <utility>

#include "model/quota.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/damage.h"
#include "states/slot_values.h"
#include "states/start_key.h"

namespace millrace {
namespace {

constexpr std::array<std::string_view, 7> kLimitNames = {
    "singular", "quota", "rateLimit", "debounce", "batch", "concurrency", "throttle"};

/// The value of the key as JSON text. It is stored with each start, so it is bounded.
Result<std::string> stored_key(const Template& key, std::string_view what, const LazyJson& input,
                               TimePoint now) {
  std::string text = TRY(start_key(key, what, input, now));
  if (text.size() <= kMostSlotKeyBytes) return text;
  return fail(std::string(kStartKeyError),
              fmt::format("{}: the value has {} bytes as JSON, more than {}; read a shorter value, "
                          "such as an id",
                          what, text.size(), kMostSlotKeyBytes));
}

}  // namespace

std::string_view to_string(LimitKind limit) { return kLimitNames.at(static_cast<size_t>(limit)); }

std::span<const std::string_view> limit_names() { return kLimitNames; }

uint64_t slots_of(const Workflow& workflow) {
  return workflow.concurrency ? workflow.concurrency->limit : kUnlimited;
}

Result<std::optional<Slot>> evaluate_slot(const Workflow& workflow, const LazyJson& input,
                                          TimePoint now) {
  Slot slot;
  const LazyJson data = as_input(input);
  if (workflow.concurrency && workflow.concurrency->key) {
    slot.key = TRY(stored_key(*workflow.concurrency->key, "concurrency.key", data, now));
  }
  if (workflow.priority) slot.priority = TRY(evaluated_priority(*workflow.priority, data, "start"));
  if (!workflow.concurrency) return std::optional<Slot>();
  return std::optional(std::move(slot));
}

Result<std::optional<Throttled>> evaluate_throttled(const Workflow& workflow, const LazyJson& input,
                                                    TimePoint now) {
  if (!workflow.throttle) return std::optional<Throttled>();
  Throttled throttled;
  const LazyJson data = as_input(input);
  if (const auto& key = workflow.throttle->rate.key) {
    throttled.key = TRY(stored_key(*key, "throttle.key", data, now));
  }
  if (workflow.priority)
    throttled.priority = TRY(evaluated_priority(*workflow.priority, data, "start"));
  return std::optional(std::move(throttled));
}

Result<SlotCounts> counts_of(BatchState& batch, const SlotKey& key) {
  Result<SlotCounts> counts = read_slot_counts(batch.tx, key);
  if (counts || !is_damaged_row(counts.error())) return counts;
  batch.damages.note(counts.error());
  return recount(batch, key);
}

Result<SlotCounts> recount(BatchState& batch, const SlotKey& key) {
  Result<SlotCounts> before = read_slot_counts(batch.tx, key);
  if (!before && !is_damaged_row(before.error())) return before;
  SlotCounts counts = before.value_or(SlotCounts());
  counts.held = 0;
  counts.queued = 0;
  const OnDamage damaged = batch.damages.noting();
  const auto count = [&](QueueRow kind, uint64_t& sum) {
    return each_slot_place(
        batch.tx, kind, key,
        [&](const SlotPlace&) {
          ++sum;
          return true;
        },
        damaged);
  };
  if (!key.is_throttle) TRY(count(QueueRow::kHolder, counts.held));
  TRY(count(waiting_kind(key), counts.queued));
  write_slot_counts(batch.tx, key, counts);
  return counts;
}

Result<Slot> take_slot(BatchState& batch, const Instance& instance, Slot slot, uint64_t most,
                       TimePoint now) {
  const SlotKey key = slot_key_of(instance.revision.workflow, slot.key);
  SlotCounts counts = TRY(counts_of(batch, key));
  counts.key = slot.key;
  counts.sealed |= instance.sealed;
  slot.number = TRY(batch.next(Counter::kSlots));
  slot.is_queued = counts.queued > 0 || counts.held >= most;
  ++(slot.is_queued ? counts.queued : counts.held);
  write_slot_place(batch.tx, key, slot, {.instance = instance.id, .since = now});
  write_slot_counts(batch.tx, key, counts);
  if (!slot.is_queued) return slot;
  ++batch.outcome.counts.starts_queued;
  batch.live.queued(instance.ns);
  if (counts.held < most) batch.woken.push_back(key);  // behind starts that have not got theirs yet
  return slot;
}

Status add_throttled(BatchState& batch, const Instance& instance, const Throttled& throttled,
                     TimePoint now) {
  const SlotKey key = throttle_key_of(instance.revision.workflow, throttled.key);
  const Slot place = waiting_slot(throttled);
  if (has_slot_place(batch.tx, key, place)) return {};
  SlotCounts counts = TRY(counts_of(batch, key));
  counts.key = throttled.key;
  counts.sealed |= instance.sealed;
  ++counts.queued;
  write_slot_place(batch.tx, key, place, {.instance = instance.id, .since = now});
  write_slot_counts(batch.tx, key, counts);
  batch.woken.push_back(key);
  return {};
}

Status remove_throttled(BatchState& batch, const Instance& instance) {
  const Throttled& throttled = *instance.throttled;
  const SlotKey key = throttle_key_of(instance.revision.workflow, throttled.key);
  const Slot place = waiting_slot(throttled);
  if (!has_slot_place(batch.tx, key, place)) return {};
  SlotCounts counts = TRY(counts_of(batch, key));
  erase_slot_place(batch.tx, key, place);
  counts.queued -= counts.queued > 0 ? 1 : 0;
  write_slot_counts(batch.tx, key, counts);
  return {};
}

Status leave_slot(BatchState& batch, const Instance& instance, bool wakes) {
  const Slot& slot = *instance.slot;
  const SlotKey key = slot_key_of(instance.revision.workflow, slot.key);
  SlotCounts counts = TRY(counts_of(batch, key));
  erase_slot_place(batch.tx, key, slot);
  uint64_t& count = slot.is_queued ? counts.queued : counts.held;
  count -= count > 0 ? 1 : 0;
  if (slot.is_queued) batch.live.unqueued(instance.ns);
  write_slot_counts(batch.tx, key, counts);
  if (wakes && !slot.is_queued && counts.queued > 0) batch.woken.push_back(key);
  return {};
}

}  // namespace millrace
