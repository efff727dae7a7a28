#include "orchestrator/batch/start_queues.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "orchestrator/batch/slots.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

/// How many keys of a review one unit of work reads.
constexpr size_t kReviewedAtOnce = 64;

}  // namespace

Status StartQueues::load() {
  lanes_.clear();
  for (const WorkflowNumber workflow : TRY(workflows_with_slots(batch_.tx))) {
    if (const auto lane = lane_of_workflow(workflow)) lanes_[*lane].is_reviewed = true;
  }
  return {};
}

std::optional<WorkLane> StartQueues::lane_of_workflow(WorkflowNumber workflow) const {
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(workflow);
  if (entry == nullptr) return std::nullopt;
  return WorkLane{entry->ns, workflow};
}

Status StartQueues::run(TimePoint now) {
  std::set<WorkLane> fresh;
  const auto lane_for = [&](WorkflowNumber workflow) -> Lane* {
    const auto place = lane_of_workflow(workflow);
    if (!place) return nullptr;
    const auto [lane, is_new] = lanes_.try_emplace(*place);
    if (is_new) fresh.insert(*place);
    return &lane->second;
  };
  for (const SlotKey& key : std::exchange(batch_.woken, {})) {
    if (Lane* const lane = lane_for(key.workflow)) lane->add(key);
  }
  for (const WorkflowNumber workflow : std::exchange(batch_.reviewed, {})) {
    Lane* const lane = lane_for(workflow);
    if (lane == nullptr) continue;
    lane->is_reviewed = true;
    lane->behind.reset();
  }
  for (const WorkLane& lane : fresh) {
    while (may_go_on(lane) && !batch_.meter.is_spent()) TRY(go_on(now, lane));
  }
  return {};
}

std::vector<WorkLane> StartQueues::lanes() const {
  std::vector<WorkLane> lanes;
  for (const auto& [place, lane] : lanes_) lanes.push_back(place);
  return lanes;
}

Status StartQueues::go_on(TimePoint now, const WorkLane& lane) {
  const auto found = lanes_.find(lane);
  CHECK(found != lanes_.end(), "a lane without keys went on");
  Lane& one = found->second;
  if (one.keys.empty() && one.is_reviewed) TRY(review(lane.workflow, one));
  if (!one.keys.empty()) {
    const SlotKey key = one.keys.front();
    const bool has_more = TRY(admit_next(now, key));
    // The keys of a workflow take turns.
    one.keys.pop_front();
    one.known.erase(key);
    if (has_more) one.add(key);
  }
  if (one.empty()) lanes_.erase(found);
  return {};
}

/// Adds the next keys of the workflow that have a start that waits.
Status StartQueues::review(WorkflowNumber workflow, Lane& lane) {
  size_t seen = 0;
  lane.is_reviewed = false;
  return each_slot_counts(
      batch_.tx, workflow, lane.behind,
      [&](const SlotKey& key, const SlotCounts& counts) {
        if (counts.queued > 0) lane.add(key);
        lane.behind = key.key;
        lane.is_reviewed = ++seen >= kReviewedAtOnce;
        return !lane.is_reviewed;
      },
      batch_.damages.noting());
}

Result<std::optional<uint64_t>> StartQueues::slots_now(const WorkflowEntry& entry) {
  // The command that resumes the workflow reviews its keys.
  if (entry.paused) return std::optional<uint64_t>();
  const auto workflow = batch_.catalog.definition(batch_.tx, {entry.number, entry.latest});
  if (!workflow && !is_damaged_row(workflow.error())) return tl::unexpected(workflow.error());
  if (!workflow) {
    batch_.damages.note(workflow.error());
    return std::optional<uint64_t>();
  }
  return std::optional(slots_of(**workflow));
}

/// Admits the start that is next, if the key has a free slot. Returns whether another one may
/// follow.
Result<bool> StartQueues::admit_next(TimePoint now, const SlotKey& key) {
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(key.workflow);
  if (entry == nullptr) return false;
  const auto most = TRY(slots_now(*entry));
  if (!most) return false;
  const SlotCounts counts = TRY(counts_of(batch_, key));
  if (counts.queued == 0 || counts.held >= *most) return false;
  const auto first =
      TRY(read_first_place(batch_.tx, QueueRow::kWaiting, key, batch_.damages.noting()));
  if (!first) {
    TRY(recount(batch_, key));
    return false;
  }
  return admit(now, entry->ns, key, counts, *first);
}

Result<bool> StartQueues::admit(TimePoint now, NamespaceNumber ns, const SlotKey& key,
                                SlotCounts counts, const SlotPlace& first) {
  --left_;
  const Slot waited{.priority = first.priority, .number = first.number, .is_queued = true};
  erase_slot_place(batch_.tx, key, waited);
  --counts.queued;
  batch_.live.unqueued(ns);
  LoadedInstance* const loaded = TRY(instances_.load(now, ns, first.instance));
  const auto is_it = [&](const Instance& one) {
    return is_queued(one) && one.slot->number == first.number &&
           slot_key_of(one.revision.workflow, one.slot->key) == key;
  };
  if (loaded == nullptr || !is_it(loaded->instance)) {
    batch_.damages.note(
        damaged_row(Table::kQueues, place_key(key, waited),
                    fmt::format("instance {}, which it names, does not wait for this slot",
                                to_string(first.instance))));
    write_slot_counts(batch_.tx, key, counts);
    return counts.queued > 0;
  }
  Slot held = *loaded->instance.slot;
  held.is_queued = false;
  held.number = TRY(batch_.next(Counter::kSlots));
  write_slot_place(batch_.tx, key, held, {.instance = first.instance, .since = now});
  ++counts.held;
  write_slot_counts(batch_.tx, key, counts);
  ++batch_.outcome.counts.starts_admitted;
  // The instance has waited for no event before.
  loaded->instance.listen_from = batch_.listen_from_now();
  TRY(instances_.step(now, *loaded, Admitted{held.number}));
  const Instance& instance = loaded->instance;
  batch_.after_commit(ContinueInput{instance.ns, instance.id, instance.revision.workflow});
  return counts.queued > 0;
}

}  // namespace millrace
