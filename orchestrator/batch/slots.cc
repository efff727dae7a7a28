#include "orchestrator/batch/slots.h"

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/quota.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

/// How many bytes a query may copy, compare and write: as much as a small input has.
constexpr size_t kQueryBytes = kLargeJson;

tl::unexpected<Error> wrong_key(std::string_view why) {
  return fail("millrace.concurrency.key", fmt::format("`concurrency.key`: {}", why));
}

tl::unexpected<Error> wrong_priority(std::string_view why) {
  return fail("millrace.concurrency.priority", fmt::format("`priority`: {}", why));
}

/// The value of a query over the input of a start. The loader has refused programs that the fast
/// lane cannot run.
Result<LazyJson> evaluated(const Template& query, const LazyJson& input) {
  std::vector<LazyJson> results;
  size_t left = kQueryBytes;
  for (const Program& program : query.programs()) {
    auto result = program.fast->run_within(input, left, true);
    if (!result) {
      return fail("", fmt::format("the input of the start, or a value made of it, has more than {} "
                                  "bytes; start the workflow with a smaller input",
                                  kQueryBytes));
    }
    if (!*result) return tl::unexpected(result->error());
    results.push_back(**std::move(result));
  }
  return query.assemble(results);
}

Result<std::string> evaluated_key(const Template& query, const LazyJson& input) {
  const Result<LazyJson> value = evaluated(query, input);
  if (!value) return wrong_key(value.error().message);
  if (value->is_null() || value->is_object() || value->is_array()) {
    return wrong_key(fmt::format(
        "the result is {}; expected a text, a number or a boolean, so send the value with each "
        "start, or give it a default with `//`",
        value->type_name()));
  }
  const std::string& text = value->text();
  if (text.size() > kMostSlotKeyBytes) {
    return wrong_key(fmt::format("the result has {} bytes as JSON, more than {}", text.size(),
                                 kMostSlotKeyBytes));
  }
  return text;
}

Result<int32_t> evaluated_priority(const Template& query, const LazyJson& input) {
  const Result<LazyJson> value = evaluated(query, input);
  if (!value) return wrong_priority(value.error().message);
  using Limits = std::numeric_limits<int32_t>;
  const auto wrong = [&] {
    return wrong_priority(fmt::format("the result is {}; expected an integer from {} to {}",
                                      value->is_large() ? value->type_name() : value->text(),
                                      Limits::min(), Limits::max()));
  };
  if (value->is_large() || !value->value().is_number_integer()) return wrong();
  const Json& number = value->value();
  if (number.is_number_unsigned() && number.get<uint64_t>() > uint64_t{Limits::max()}) {
    return wrong();
  }
  const auto priority = number.get<int64_t>();
  if (priority < Limits::min()) return wrong();
  return static_cast<int32_t>(priority);
}

}  // namespace

uint64_t slots_of(const Workflow& workflow) {
  return workflow.concurrency ? workflow.concurrency->limit : kUnlimited;
}

Result<std::optional<Slot>> evaluate_slot(const Workflow& workflow, const LazyJson& input) {
  Slot slot;
  const LazyJson data = as_input(input);
  if (workflow.concurrency && workflow.concurrency->key) {
    slot.key = TRY(evaluated_key(*workflow.concurrency->key, data));
  }
  if (workflow.priority) slot.priority = TRY(evaluated_priority(*workflow.priority, data));
  if (!workflow.concurrency) return std::optional<Slot>();
  return std::optional(std::move(slot));
}

Result<SlotCounts> counts_of(BatchState& batch, const SlotKey& key) {
  Result<SlotCounts> counts = read_slot_counts(batch.tx, key);
  if (counts || !is_damaged_row(counts.error())) return counts;
  batch.damages.note(counts.error());
  return recount(batch, key);
}

Result<SlotCounts> recount(BatchState& batch, const SlotKey& key) {
  const Result<SlotCounts> before = read_slot_counts(batch.tx, key);
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
  TRY(count(QueueRow::kHolder, counts.held));
  TRY(count(QueueRow::kWaiting, counts.queued));
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
