// Checks of the table `queues`: each row of an instance with the head of that instance, and the
// counts of each key with its rows.
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/check/call_slot_sums.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/store/rows/queue_rows.h"

namespace millrace {
namespace {

/// The inconsistency between a row of one that waits for the throttle and its instance; nullptr:
/// there is none.
const char* wrong_throttled(const QueueRowKey& row, const Instance& head) {
  if (!is_throttled(head)) return "its instance does not wait for the throttle";
  if (head.paused) return "its instance is paused, so it does not take its turn";
  const Throttled& throttled = *head.throttled;
  if (throttle_key_of(head.revision.workflow, throttled.key) != row.key) {
    return "its instance waits for another key of the throttle";
  }
  if (throttled.number != row.number) return "its instance has another row";
  if (throttled.priority != row.priority) return "its instance has another priority";
  return nullptr;
}

/// The inconsistency between a row and the slot of its instance; nullptr: there is none.
const char* wrong_slot(const QueueRowKey& row, const Instance& head) {
  if (!head.slot) return "its instance has no slot";
  const Slot& slot = *head.slot;
  if (slot.is_queued != (row.kind == QueueRow::kWaiting)) {
    return slot.is_queued ? "its instance waits for a slot, but does not hold one"
                          : "its instance holds a slot, but does not wait for one";
  }
  if (slot_key_of(head.revision.workflow, slot.key) != row.key) {
    return "its instance has a slot of another key";
  }
  if (slot.number != row.number) return "its instance has another row";
  if (slot.is_queued && slot.priority != row.priority) return "its instance has another priority";
  return nullptr;
}

}  // namespace

/// The counts of the keys, and how many rows of their instances were found less.
struct Checker::SlotSums {
  struct Sum {
    uint64_t held = 0;
    uint64_t queued = 0;
  };
  std::map<SlotKey, Sum> counted;
  std::map<SlotKey, Sum> found;
  std::set<SlotKey> unreadable;  ///< the keys whose row of counts has a finding
};

void Checker::check_queues() {
  SlotSums sums;
  CallSlotSums calls;
  each_row(Table::kQueues, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kQueues, key};
    if (is_call_row(key)) return check_call_row(place, value, calls);
    note_minor(kMinorOfQueues, "rows of queues");
    const auto row = parse_queue_key(key);
    if (!row) {
      add(StoreFault::kRowKey, place,
          "the key is not that of counts, a slot or a start that waits");
      return;
    }
    const WorkflowNumber number = row->key.workflow;
    if (purged_workflows_.contains(number)) return;
    const auto workflow = workflows_.find(number);
    if (workflow == workflows_.end()) {
      add(StoreFault::kWorkflowMissing, place,
          fmt::format("no workflow has the number {}", static_cast<uint32_t>(number)));
      return;
    }
    const bool has_counts =
        row->kind == QueueRow::kCounts || row->kind == QueueRow::kThrottleCounts;
    if (has_counts) return check_slot_counts(place, value, *row, sums);
    check_slot_place(place, value, *row, workflow->second.ns, sums);
  });
  if (is_over()) return;
  check_call_sums(calls);
  for (const auto& [key, counted] : sums.counted) {
    const auto rows_of_key = sums.found.find(key);
    const auto found = rows_of_key == sums.found.end() ? SlotSums::Sum() : rows_of_key->second;
    if (found.held == counted.held && found.queued == counted.queued) continue;
    const std::string at = slot_counts_key(key);
    add(StoreFault::kQueueCounts, {Table::kQueues, at},
        fmt::format("the row counts {} instances with a slot and {} that wait, but {} and {} rows "
                    "exist",
                    counted.held, counted.queued, found.held, found.queued));
  }
  for (const auto& [key, found] : sums.found) {
    if (sums.counted.contains(key) || sums.unreadable.contains(key)) continue;
    const std::string at = slot_counts_key(key);
    add(StoreFault::kQueueCounts, {Table::kQueues, at},
        fmt::format("the row is missing, but {} instances have a slot of the key and {} wait for "
                    "one",
                    found.held, found.queued));
  }
}

void Checker::check_slot_counts(const Place& place, std::string_view value, const QueueRowKey& row,
                                SlotSums& sums) {
  const auto counts = open_and_decode(place, value, decode_slot_counts);
  if (!counts) {
    sums.unreadable.insert(row.key);
    return;
  }
  const SlotKey right = row.key.is_throttle ? throttle_key_of(row.key.workflow, counts->key)
                                            : slot_key_of(row.key.workflow, counts->key);
  if (right != row.key) {
    add(StoreFault::kQueueCounts, place, "the row has the value of another key");
  }
  sums.counted[row.key] = {.held = counts->held, .queued = counts->queued};
}

void Checker::check_slot_place(const Place& place, std::string_view value, const QueueRowKey& row,
                               NamespaceNumber ns, SlotSums& sums) {
  SlotSums::Sum& sum = sums.found[row.key];
  ++(row.kind == QueueRow::kHolder ? sum.held : sum.queued);
  note_given(Counter::kSlots, row.number, place);
  const auto found = decode(place, value, decode_slot_place);
  if (!found) return;
  check_time(found->since, place, "the time since which the instance waits or holds the slot");
  const Known known = find(Table::kLive, ns, found->instance);
  if (!known.exists) {
    add(StoreFault::kQueueEntry, place,
        fmt::format("instance {} is not live", to_string(found->instance)));
  } else if (known.head) {
    const char* const wrong = row.kind == QueueRow::kThrottled ? wrong_throttled(row, *known.head)
                                                               : wrong_slot(row, *known.head);
    if (wrong != nullptr) add(StoreFault::kQueueEntry, place, wrong);
  }
}

/// Checks that the row of the instance's slot exists, and that of its wait for the throttle.
void Checker::check_slot(const Walked& one) {
  const Instance& head = *one.head;
  check_throttled(one);
  if (!head.slot) return;
  note_minor(kMinorOfQueues, "heads with a slot");
  const std::string at = place_key(slot_key_of(head.revision.workflow, head.slot->key), *head.slot);
  if (view_.get(Table::kQueues, at)) return;
  const std::string key = one.key(Part::kHead);
  add(StoreFault::kQueueEntry, {one.table, key},
      head.slot->is_queued ? "the instance waits for a slot, but no row of `queues` has it"
                           : "the instance holds a slot, but no row of `queues` has it");
}

void Checker::check_throttled(const Walked& one) {
  const Instance& head = *one.head;
  if (!head.throttled) return;
  note_minor(kMinorOfQueues, "heads of throttled starts");
  if (!is_throttled(head) || head.paused) return;
  const SlotKey queue = throttle_key_of(head.revision.workflow, head.throttled->key);
  if (has_slot_place(view_, queue, waiting_slot(*head.throttled))) return;
  const std::string key = one.key(Part::kHead);
  add(StoreFault::kQueueEntry, {one.table, key},
      "the instance waits for the throttle, but no row of `queues` has it");
}

}  // namespace millrace
